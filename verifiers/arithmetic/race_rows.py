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


@kernel
def bucketed(
    target: Array,
    draft: Array,
    of_target: float,
    of_draft: float,
    shift: float,
    bits: int,
    lowest: int,
    highest: int,
    ids: Array,
    sums: Array,
) -> int:
    """Put the tokens of one node into buckets by the leading bits of target / draft.

    Args:
        target, draft: (V,) rows, with what they sum to.
        shift: what ratios are multiplied by.
        bits: how many bits of the 64 are dropped.
        lowest, highest: the first and the last bucket, as what is left of the bits.
        ids: uint8 (V,), filled with the bucket of each token.
        sums: (4, buckets), filled with the sums of target, draft, q / (1 - q) and q^2 / (1 - q), q the draft's.

    Returns how many tokens can be drawn.
    """
    sums[:] = 0.0
    live = 0
    ratio = np.empty(1)
    as_bits = ratio.view(np.int64)
    for y in range(target.size):
        q = np.float64(draft[y]) / of_draft
        if not q > 0:
            ids[y] = NEVER
            continue
        live += 1
        p = np.float64(target[y]) / of_target
        ratio[0] = p / q * shift
        bucket = min(max(as_bits[0] >> bits, lowest), highest) - lowest
        ids[y] = bucket
        sums[0, bucket] += p
        sums[1, bucket] += q
        odds = q / (1 - q) if q < 1 else 0.0
        sums[2, bucket] += odds
        sums[3, bucket] += odds * q
    return live


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
