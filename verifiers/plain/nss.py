"""Naive speculative sampling: emit the target's token, keep the draft while it agrees.

Source: the naive sampling of arXiv:2305.09781; statement 10.1. The fast twin is `algorithms/nss.py`.
"""

from __future__ import annotations

from .shared import Context, Laws, Outcomes, Row, walk


def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
    """Pr[Z, Y], given the drafted paths. See `nodebudget.verifiers.plain` for the arguments."""
    return walk(paths, target, draft, emit)


def emit(p: Row, q: Row, tokens: list[int]) -> Row:
    """A token from the target, whatever was drafted."""
    return p
