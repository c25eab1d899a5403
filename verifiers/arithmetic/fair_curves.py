"""The cells of fair transport for independent draws, compiled by numba: one pass up an order and one down.

See `nodebudget.verifiers.algorithms.fair_draws` for what is computed.
"""

from __future__ import annotations

from nodebudget.lp.drafting.power_sums import power_sum as any_power_sum

from .arrays import Array
from .kernels import kernel

COMPILED_IN = "a56286e77deef1a6"
"""Digest of power_sums.py, as in `skewed_sums.py`."""

power_sum = kernel(any_power_sum)
"""`nodebudget.lp.drafting.power_sums.power_sum` of floats, compiled."""


@kernel
def curve(
    order: Array,
    target: Array,
    draft: Array,
    unwanted: float,
    count: int,
    drafted: Array,
    density: Array,
    over: Array,
    starts: Array,
    slopes: Array,
    nu: Array,
    place: Array,
) -> int:
    """Fill in what `fair_draws.Curve` has, with the cells' starts and slopes in arrays (n,) as well.

    Returns how many cells there are. `order` (n,) are the tokens that both laws give mass, `unwanted` is the mass of
    the draft where the target has none.
    """
    tokens = order.size
    after = unwanted
    for i in range(tokens - 1, -1, -1):
        drafted[i] = draft[order[i]]
        missed = after + drafted[i]
        density[i] = power_sum(count, missed, after)
        after = missed
    # What a cell spans upwards and across, while it may still grow.
    ups, acrosses = slopes, over
    cells = 0
    for i in range(tokens):
        start, up, across = i, density[i] * drafted[i], target[order[i]]
        while cells > 0 and ups[cells - 1] * across >= up * acrosses[cells - 1]:
            cells -= 1
            start, up, across = starts[cells], up + ups[cells], across + acrosses[cells]
        starts[cells], ups[cells], acrosses[cells] = start, up, across
        cells += 1
    for cell in range(cells):
        slopes[cell] = ups[cell] / acrosses[cell]
    for cell in range(cells):
        for i in range(starts[cell], starts[cell + 1] if cell + 1 < cells else tokens):
            chosen = slopes[cell] * target[order[i]]
            nu[order[i]] = chosen
            place[order[i]] = i
            over[i] = density[i] * drafted[i] - chosen
    return cells
