"""Bootstrap intervals of ratios of sums, the units drawn anew with replacement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RESAMPLES, LEVEL = 2000, 0.95


def ratio_interval(numerators: Sequence[float], denominators: Sequence[float]) -> tuple[float, float] | None:
    """The 95% interval of the sum of the numerators over the sum of the denominators; None without one.

    Args:
        numerators, denominators: one of each for every unit (a prompt, a context); the denominators not negative. A
            resample whose denominators are all 0 has no ratio and is left out.

    >>> ratio_interval([1.0, 1.0], [2.0, 2.0])
    (0.5, 0.5)
    """
    if len(numerators) < 2:
        return None
    above, below = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    drawn = np.random.default_rng(0).integers(len(above), size=(RESAMPLES, len(above)))
    totals = below[drawn].sum(axis=1)
    ratios = above[drawn].sum(axis=1)[totals > 0] / totals[totals > 0]
    if not len(ratios):
        return None
    low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def difference_interval(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float] | None:
    """The 95% interval of the mean difference of paired values; None for fewer than two pairs.

    Args:
        ours, theirs: one of each for every unit (a context), in the same order: a unit is drawn with both.

    >>> difference_interval([2.0, 3.0], [1.0, 2.0])
    (1.0, 1.0)
    """
    if len(ours) < 2:
        return None
    apart = np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float)
    drawn = np.random.default_rng(0).integers(len(apart), size=(RESAMPLES, len(apart)))
    low, high = np.quantile(apart[drawn].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
