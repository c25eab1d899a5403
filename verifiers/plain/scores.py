"""Scores of drafted paths (section 12): which of them has the largest, and what is known of it at a node.

At a node a path's score is uniform in [0, 1]. Below token y it is c + B u, with u the score at the next node, B the
draft mass of the class of y and c that of the lower classes. So the paths that pass a node have a score at the root
that is uniform in an interval, (low, length).
"""

from __future__ import annotations

import itertools
import math

from .shared import Number, Row

Interval = tuple[Number, Number]


def classes(ranks: list[int], q: Row) -> list[Interval]:
    """(c, B) of each token, the draft mass of the lower classes and of its own; rank 0 is the highest class."""
    total = [sum(q[t] for t, other in enumerate(ranks) if other == rank) for rank in ranks]
    lower = [sum(q[t] for t, other in enumerate(ranks) if other > rank) for rank in ranks]
    return list(zip(lower, total, strict=True))


def child_state(G: Row, c: Number, B: Number) -> Row:
    """The coefficients of t .. t^K in (G(c + B t) - G(c)) / B, from those of G."""
    powers = range(1, len(G) + 1)
    return [
        sum(math.comb(n, m) * G[n - 1] * c ** (n - m) * B ** (m - 1) for n in powers if n >= m)
        for m in powers
    ]


def win_chances(scores: list[Interval]) -> Row:
    """The chance of each of several independent scores, uniform in their intervals, to be the largest."""
    ends = sorted({end for low, length in scores for end in (low, low + length)})
    chances = [0] * len(scores)
    for a, b in itertools.pairwise(ends):
        rising = [k for k, (low, length) in enumerate(scores) if low <= a and b <= low + length]
        # Between a and b score k is the largest with density 1 / length, where all others are below: none still above.
        if all(low < b for low, _ in scores):
            for k in rising:
                chances[k] += integral([scores[j] for j in rising if j != k], a, b) / scores[k][1]
    return chances


def integral(uniforms: list[Interval], a: Number, b: Number) -> Number:
    """The integral from a to b of the product of (t - low) / length."""
    product = [1]
    for low, length in uniforms:
        product = [(up - low * here) / length for up, here in zip([0, *product], [*product, 0], strict=True)]
    return sum(g * (b**n - a**n) / n for n, g in enumerate(product, 1))
