"""What races need of rows, compiled by numba: buckets of tokens in one pass, residuals in another.

See `nodebudget.lp.selection.race_entries` for the buckets. Every token has an id: that of its bucket, one behind these
for a token that races by itself, or `NEVER`.
"""

from __future__ import annotations

import numpy as np

from .arrays import Array
from .kernels import kernel

NEVER = 255
"""The id of tokens that are never drawn."""


LANES = 4
"""Sums that are kept apart, so that no addition waits for the one before it."""


@kernel
def bucketed(
    target: Array, draft: Array, factor: float, bits: int, lowest: int, ids: Array, sums: Array, counts: Array
) -> int:
    """Put the tokens of one node into buckets by the leading bits of target / draft.

    Args:
        target, draft: (V,) rows.
        factor: what their ratios are multiplied by.
        bits: how many bits of the 64 are dropped.
        lowest: the first bucket, as what is left of the bits.
        ids: uint8 (V,), filled with the bucket of each token.
        sums, counts: (2, buckets) and (buckets,), filled with the sums of target and draft and with numbers of tokens.

    Returns how many tokens can be drawn.
    """
    buckets = counts.size
    of_target, of_draft = np.zeros((LANES, buckets)), np.zeros((LANES, buckets))
    number = np.zeros((LANES, buckets), np.int64)
    # Apart from what is added up, so that several ratios are taken at once.
    ratio = np.empty(target.size)
    for y in range(target.size):
        ratio[y] = np.float64(target[y]) / np.float64(draft[y]) * factor
    as_bits = ratio.view(np.int64)
    for y in range(target.size):
        q = np.float64(draft[y])
        if not q > 0:
            ids[y] = NEVER
            continue
        bucket, lane = min(max((as_bits[y] >> bits) - lowest, 0), buckets - 1), y % LANES
        ids[y] = bucket
        of_target[lane, bucket] += np.float64(target[y])
        of_draft[lane, bucket] += q
        number[lane, bucket] += 1
    sums[0], sums[1], counts[:] = of_target.sum(axis=0), of_draft.sum(axis=0), number.sum(axis=0)
    return counts.sum()


@kernel
def moments(draft: Array, of_draft: float, ids: Array, sums: Array) -> None:
    """sums (2, 256): by id the sums of q / (1 - q) and of q^2 / (1 - q), q the draft's law of a row (V,)."""
    sums[:] = 0.0
    for y in range(draft.size):
        q = np.float64(draft[y]) / of_draft
        if 0 < q < 1:
            odds = q / (1 - q)
            sums[0, ids[y]] += odds
            sums[1, ids[y]] += odds * q


@kernel
def left(
    target: Array,
    draft: Array,
    of_target: float,
    of_draft: float,
    ids: Array,
    of_mass: Array,
    of_odds: Array,
    out: Array,
) -> float:
    """The sum over tokens of max(0, p - taken), taken = of_mass[id] q + of_odds[id] q / (1 - q).

    What is summed goes into `out` where that has room for it (V,).
    """
    total, kept = 0.0, out.size == target.size
    for y in range(target.size):
        p, q = np.float64(target[y]) / of_target, np.float64(draft[y]) / of_draft
        rest = p - of_mass[ids[y]] * q
        if of_odds[ids[y]] != 0:
            rest -= of_odds[ids[y]] * (q / (1 - q))
        rest = max(rest, 0.0)
        total += rest
        if kept:
            out[y] = rest
    return total
