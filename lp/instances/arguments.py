"""What is said to a caller who passes something of another kind than was expected."""

from __future__ import annotations

import numpy as np

from ..numbers.rationals import shortened

Kinds = type | tuple[type, ...]


def check_kind(name: str, value: object, kinds: Kinds, expected: str) -> None:
    """Raise ValueError unless a value is an instance of one of the kinds; the message says what was `expected`.

    >>> check_kind("tree", "x", dict, "a PrefixTree")
    Traceback (most recent call last):
    ValueError: tree: got the str 'x'; expected a PrefixTree
    """
    if not isinstance(value, kinds):
        raise ValueError(f"{name}: got {described(value)}; expected {expected}")


def check_array(name: str, value: object) -> None:
    """Raise ValueError for anything but an array; its length is the business of the tree that it is used with."""
    check_kind(name, value, np.ndarray, "a numpy array with one entry per node")


def check_integer(name: str, value: object, least: int) -> None:
    """Raise ValueError unless a value is an integer (no bool) of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}: got {shortened(value)}; expected an integer of at least {least}")


def described(value: object) -> str:
    """A value of the wrong kind, in a message: its type and, on one line, how it is written."""
    if value is None:
        return "None"
    kind, text = type(value).__name__, " ".join(shortened(value).split())
    return text if text.startswith(kind) else f"the {kind} {text}"
