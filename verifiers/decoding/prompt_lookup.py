"""Continuations that the text so far suggests, without any model."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_MATCH = 3
"""Most of the last tokens that are looked for: as in the prompt lookup of serving engines."""


def continuations(tokens: Sequence[int], count: int, length: int) -> list[tuple[int, ...]]:
    """What followed the last tokens where they stood before: at most `count` different strings of `length` tokens.

    The last three tokens are looked for, then the last two, then the last one; later places come first. Strings with
    which an earlier one begins are left out, and those at the end of the text are shorter.

    >>> continuations([5, 1, 2, 7, 5, 1, 2, 8, 5, 1, 2], 2, 3)
    [(8, 5, 1), (7, 5, 1)]
    """
    found: list[tuple[int, ...]] = []
    for size in range(min(LONGEST_MATCH, len(tokens) - 1), 0, -1):
        wanted = list(tokens[-size:])
        for start in range(len(tokens) - size - 1, -1, -1):
            if list(tokens[start : start + size]) != wanted:
                continue
            follows = tuple(tokens[start + size : start + size + length])
            if not any(other[: len(follows)] == follows for other in found):
                found.append(follows)
            if len(found) == count:
                return found
    return found
