"""What several plain verifiers share: rows of probabilities, and the walk down from the root."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Context = tuple[int, ...]
Number = Any
"""A Fraction; 0 and 1 may be integers."""

Row = list[Number]
Laws = Callable[[Context], Row]
"""From a context to the law of the next token."""

Outcomes = dict[tuple[Context, int], Number]
"""Pr[Z = context, Y = token]."""

Emit = Callable[[Row, Row, list[int]], Row]
"""From p, q and the drafted continuations t_1 .. t_m of a node to the law of the token that is emitted there."""


def excess(w: Number, p: Row, q: Row) -> Row:
    """max(0, w p - q), token by token."""
    return [max(0, w * a - b) for a, b in zip(p, q, strict=True)]


def normalised(row: Row) -> Row:
    """The row over its sum; a row without mass as it is."""
    total = sum(row)
    return [mass / total for mass in row] if total else row


def accept(a: Number, t: int, otherwise: Row) -> Row:
    """Token t with probability a, else a token drawn from another law."""
    return [(y == t) * a + (1 - a) * mass for y, mass in enumerate(otherwise)]


def walk(paths: tuple[Context, ...], target: Laws, draft: Laws, emit: Emit, z: Context = ()) -> Outcomes:
    """The walk down from node z with the paths that pass it (section 10), one emitted token a node.

    Where some path goes on with the emitted token y the walk moves to zy with these paths, however y came about; else
    it stops, Z = z and Y = y. At a leaf Y is drawn from the target.
    """
    if len(z) == len(paths[0]):
        return {(z, y): mass for y, mass in enumerate(target(z))}
    out: Outcomes = {}
    tokens = [x[len(z)] for x in paths]
    for y, mass in enumerate(emit(target(z), draft(z), tokens)):
        survivors = tuple(x for x in paths if x[len(z)] == y)
        below = walk(survivors, target, draft, emit, (*z, y)) if survivors and mass else {(z, y): 1}
        out |= {outcome: mass * chance for outcome, chance in below.items()}
    return out
