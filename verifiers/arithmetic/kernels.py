"""Sums over rows in one pass, compiled by numba: what numpy does in four or five passes through memory.

Only for floats in this machine's memory; see `nodebudget.verifiers.drafts.row_pairs` for what is computed. Sums are in
double precision, and may be added in any order; NaN stays NaN.
"""

from __future__ import annotations

import numpy as np
from nodebudget.lp.numbers.compiled import kernel

from .arrays import Array


@kernel
def look(rows: Array, index: Array, unseen: Array, totals: Array) -> tuple[int, float]:
    """What rows (n, V) at an index array sum to, into totals (n,), where they were not seen yet.

    Returns how many these were, and how far at most they are from one; infinite for a negative entry.
    """
    count, off = 0, 0.0
    for node in index:
        if not unseen[node]:
            continue
        count += 1
        row = rows[node]
        total, negative = 0.0, 0
        for y in range(row.size):
            total += np.float64(row[y])
            negative += row[y] < 0
        totals[node] = total
        unseen[node] = False  # not before: another thread may look at the same tree
        if negative:
            off = np.inf
        elif off == off and not abs(total - 1) <= off:  # NaN stays NaN
            off = abs(total - 1)
    return count, off


@kernel
def _left(target: Array, draft: Array, scale: float, taken: float, share: float, bounded: bool) -> float:
    total = 0.0
    if bounded:
        for y in range(target.size):
            enough = np.float64(target[y])
            left = enough - taken * min(scale * np.float64(draft[y]), share * enough)
            total += 0.0 if left <= 0 else left
    else:
        factor = taken * scale
        for y in range(target.size):
            left = np.float64(target[y]) - factor * np.float64(draft[y])
            total += 0.0 if left <= 0 else left
    return total


@kernel
def left_sums(
    target: Array,
    draft: Array,
    index: Array,
    scale: Array,
    taken: Array,
    share: Array,
    bounded: bool,
    without: Array,
    sums: Array,
) -> None:
    """sums (m,) = sum over tokens of max(0, target - taken min(scale draft, share target)), but those of without.

    Rows (n, V) and (n', V) at an index array (m,); scale, taken, share (m,); without (m, k). If not `bounded`, as for
    an infinite share.
    """
    for i in range(index.size):
        wanted, offered = target[index[i]], draft[index[i]]
        start, total = 0, 0.0
        for token in np.sort(without[i]):
            if token > start:
                total += _left(
                    wanted[start:token], offered[start:token], scale[i], taken[i], share[i], bounded
                )
            start = max(start, token + 1)
        sums[i] = total + _left(wanted[start:], offered[start:], scale[i], taken[i], share[i], bounded)


@kernel
def left_rows(
    target: Array,
    draft: Array,
    index: Array,
    scale: Array,
    taken: Array,
    share: Array,
    bounded: bool,
    out: Array,
) -> None:
    """out (m, V) = max(0, target - taken min(scale draft, share target)); as in `left_sums`."""
    for i in range(index.size):
        wanted, offered, row = target[index[i]], draft[index[i]], out[i]
        if bounded:
            for y in range(row.size):
                enough = np.float64(wanted[y])
                left = enough - taken[i] * min(scale[i] * np.float64(offered[y]), share[i] * enough)
                row[y] = 0.0 if left <= 0 else left
        else:
            factor = taken[i] * scale[i]
            for y in range(row.size):
                left = np.float64(wanted[y]) - factor * np.float64(offered[y])
                row[y] = 0.0 if left <= 0 else left


@kernel
def served(target: Array, draft: Array, index: Array, scale: Array, share: Array, sums: Array) -> None:
    """sums (m,) = sum over tokens of min(scale draft, share target), for rows at an index array (m,)."""
    for i in range(index.size):
        wanted, offered, total = target[index[i]], draft[index[i]], 0.0
        for y in range(wanted.size):
            total += min(scale[i] * np.float64(offered[y]), share[i] * np.float64(wanted[y]))
        sums[i] = total
