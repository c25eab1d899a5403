"""Which of the drafted paths has the largest score: the chances, averaged over the scores (section 12)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq, fmpq_poly
from nodebudget.lp.numbers.rationals import fill

from ..arithmetic.arrays import Array, Arrays

NARROWEST = 2.0**-46
"""Shortest interval of scores that floats tell apart. Two of K paths come that near with probability K^2 2^-46."""


def win_chances(arrays: Arrays, low: Array, length: Array, standing: Array, counts: Any) -> Array:
    """(R, N): for each family, the chance of each of N leaves to have the path with the largest score.

    Args:
        arrays: the kind of number.
        low, length: (R, N), the scores of the paths to a leaf are uniform in [low, low + length].
        standing: bool (R, N), False for leaves that are out already.
        counts: host integers (N,), how many paths end at each leaf.
    """
    if arrays.exact:
        rows = [
            _exact_chances(list(low[r]), list(length[r]), list(standing[r]), counts) for r in range(len(low))
        ]
        return fill([value for row in rows for value in row]).reshape(low.shape)
    return _float_chances(arrays, low, length, standing, counts)


def _float_chances(arrays: Arrays, low: Array, length: Array, standing: Array, counts: Any) -> Array:
    """Gauss-Legendre between neighbouring ends of intervals, where the integrands are polynomials: exact."""
    xp = arrays.xp
    points, shares = np.polynomial.legendre.leggauss(int(counts.sum() + 1) // 2)
    points, shares, repeats = (
        arrays.double(values) for values in ((points + 1) / 2, shares / 2, counts.astype(np.float64))
    )
    low, length = (xp.astype(part, xp.float64) for part in (low, length))
    length = xp.where(length < NARROWEST, NARROWEST, length)
    ends = xp.sort(xp.concat([low, low + length], axis=1), axis=1)
    left, width = ends[:, :-1], ends[:, 1:] - ends[:, :-1]
    score = (left[:, :, None] + width[:, :, None] * points)[:, None]
    above = score - low[:, :, None, None]
    share = xp.clip(above / length[:, :, None, None], 0.0, 1.0)
    out = ~standing[:, :, None, None]
    # Density of leaf l's largest score times the chance that all others are below: k / (t - low) prod F^k.
    below = xp.prod(xp.where(out, 1.0, share ** repeats[:, None, None]), axis=1)[:, None]
    inside = (share > 0) & (share < 1) & ~out
    density = xp.where(inside, repeats[:, None, None] / xp.where(inside, above, 1.0), 0.0) * below
    chances = xp.sum(xp.sum(density * shares, axis=3) * width[:, None, :], axis=2)
    return xp.astype(chances / xp.sum(chances, axis=1)[:, None], arrays.dtype)


def _exact_chances(
    low: list[fmpq], length: list[fmpq], standing: list[bool], counts: Sequence[int]
) -> list[fmpq]:
    chances = [fmpq(0)] * len(low)
    rivals = [leaf for leaf, stands in enumerate(standing) if stands]
    if len(rivals) == 1:
        chances[rivals[0]] = fmpq(1)
        return chances
    high = [a + x for a, x in zip(low, length, strict=True)]
    start = max(low[leaf] for leaf in rivals)
    ends = sorted({start, *(high[leaf] for leaf in rivals if high[leaf] > start)})
    for left, right in itertools.pairwise(ends):
        moving = [leaf for leaf in rivals if high[leaf] > left]
        below = fmpq_poly([1])
        for leaf in moving:
            below *= fmpq_poly([-low[leaf] / length[leaf], 1 / length[leaf]]) ** int(counts[leaf])
        for leaf in moving:
            density = below * int(counts[leaf]) // fmpq_poly([-low[leaf], 1])
            total = density.integral()
            chances[leaf] += total(right) - total(left)
    return chances
