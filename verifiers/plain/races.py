"""A race at one node: the scores that its pairs give, and the mass of each on the picked path (statement 16.2).

A pair is (y, i), a token and the level of its child's score, one of M. Pairs are in an order, highest first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from .shared import Context, Number, Row

Pair = tuple[int, int]
Every = list[tuple[list[int], Number]]
"""Everything that can be drawn at a node, the tokens with their probability."""

Intervals = dict[Pair, tuple[Number, Number]]
"""Between which numbers the score of a node is uniform, given that a pair is its best one."""


class Rules(NamedTuple):
    """What a race needs: the number of levels M, what is drawn at (z, q), and the order of pairs at (z, q, w p, g)."""

    levels: int
    draws: Callable[[Context, Row], Every]
    order: Callable[[Context, Row, Row, Row], list[Pair]]


def intervals(pairs: list[Pair], every: Every, M: int) -> Intervals:
    """For each pair (a, b): the best drawn pair is lower with probability a, and lower or this one with b."""
    taken = dict.fromkeys({y for y, _ in pairs}, Fraction(0))
    found, b = {}, Fraction(1)
    for y, i in pairs:
        taken[y] += Fraction(1, M)
        a = sum(chance * math.prod(1 - taken[t] for t in tokens) for tokens, chance in every)
        found[y, i] = (a, b)
        b = a
    return found


def overlaps(a: Number, b: Number, M: int) -> Row:
    """How much of [a, b) is in each level, [j / M, (j + 1) / M)."""
    return [max(0, min(b, Fraction(j + 1, M)) - max(a, Fraction(j, M))) for j in range(M)]


def masses_below(scores: Intervals, g: Row, vocab: int) -> list[Row]:
    """For each token the masses g of its child: it is on the picked path and its score has level i."""
    M = len(g)
    below = [[0] * M for _ in range(vocab)]
    for (y, i), (a, b) in scores.items():
        below[y][i] = sum(share * M * mass for share, mass in zip(overlaps(a, b, M), g, strict=True))
    return below
