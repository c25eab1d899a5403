"""SpecTr (K-SEQ): the target divided by a factor g, and offered to each drafted continuation of a node in turn.

Source: arXiv:2310.15141; statement 10.1. The fast twin is `algorithms/spectr.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

from .shared import Context, Laws, Number, Outcomes, Row, accept, normalised, walk

STEPS = 4096
"""Division factors are looked for in so many steps from 1 to m, as in the fast twin."""


def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
    """Pr[Z, Y], given the drafted paths. See `nodebudget.verifiers.plain` for the arguments."""
    return walk(paths, target, draft, emit)


def emit(p: Row, q: Row, tokens: list[int]) -> Row:
    """t_j with probability min(1, p/(g q)) in turn; at last from p - min(q, p/g) (1 - (1 - b)^m)/b over its sum."""
    m = len(tokens)
    g = division_factor(p, q, m)
    kept = [min(qy, py / g) for py, qy in zip(p, q, strict=True)]
    b = sum(kept)
    tries = (1 - (1 - b) ** m) / b if b else m
    emitted = normalised([py - k * tries for py, k in zip(p, kept, strict=True)])
    for t in reversed(tokens):
        emitted = accept(min(1, p[t] / (g * q[t])), t, emitted)
    return emitted


def division_factor(p: Row, q: Row, m: int) -> Number:
    """The least g with 1 - (1 - b)^m <= g b, b = sum of min(q, p/g), among the steps from 1 to m.

    The left side does not rise with g and the right side does not fall, so all factors above a valid one are valid.
    """

    def factor(i: int) -> Number:
        return 1 + Fraction(i * (m - 1), STEPS)

    def valid(i: int) -> bool:
        g = factor(i)
        b = sum(min(qy, py / g) for py, qy in zip(p, q, strict=True))
        return 1 - (1 - b) ** m <= g * b

    return factor(bisect_left(range(STEPS + 1), True, key=valid))
