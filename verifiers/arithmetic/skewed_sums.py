"""What is left of the target under the picked path's law, without an order of all tokens; compiled by numba.

Taken from the target is scale draft S(v, u) at each token (`nodebudget.verifiers.algorithms.picked.Skew`,
statement 6.4). Neither the ratio target / draft nor S falls along the order of the tokens, so bounds of S settle what
is left at most of them; only those between the bounds are sorted (`ratio_keys`).
"""

from __future__ import annotations

import numpy as np
from nodebudget.lp.drafting.power_sums import power_sum as any_power_sum

from .arrays import Array
from .kernels import kernel
from .ratio_keys import BAND, CROWDED, FEW, LAST, between, crowd, gap_above, gap_below, settle, tokens_of

LARGEST = float(np.finfo(np.float64).max)

COMPILED_IN = "73062e3fdbf79d1f"
"""Digest of ratio_keys.py and power_sums.py. Numba makes compiled code anew when its own file changes, not when a file
does whose code is compiled into it. With the digest this file changes too; a test asks for the current one."""

power_sum = kernel(any_power_sum)
"""`nodebudget.lp.drafting.power_sums.power_sum` of floats, compiled."""


@kernel
def uncertain(
    keys: Array,
    target: Array,
    draft: Array,
    total: float,
    skew: Array,
    count: int,
    nearest: int,
    bits: int,
    buffers: Array,
) -> tuple[Array, int, float, float]:
    """The tokens of one node of which it is not clear whether anything is left there, max(0, target - taken).

    Taken is scale draft S(upto, under), `skew` (scale, sigma, slope), where under is sigma + slope times the mass
    ranked below and upto is that with the token's own. Both the ratio and S grow along the order: nothing is left
    up to where the ratio is below the least S can be there, and something from where it is above the largest. That
    narrows down what S can be, and so on.

    Returns their keys; the least key above the gap below them, -1 where too many tokens are nearly tied; the mass
    below it; and what is left at the tokens above. Memory: `buffers` (3, V).
    """
    scale, sigma, slope = skew
    number = np.empty(1)
    number_key = number.view(np.int64)
    mask = (1 << bits) - 1
    step = 4.0 * 2.0 ** (bits - 52)
    low, high = 0, LAST >> bits
    under, over, wanted = 0.0, 0.0, 0.0
    most = crowd(keys.size)
    current, into, whole = keys, 0, True
    while True:
        other = buffers[into]
        least, largest = sigma + slope * under, sigma + slope * (total - over)
        number[0] = scale * power_sum(count, least, least) * (1 - step)
        at_low = max(number_key[0] >> bits, low)
        number[0] = min(scale * power_sum(count, largest, largest) * (1 + step), LARGEST)
        at_high = max(min((number_key[0] >> bits) + 1, high), at_low)
        floor, ceiling = max(at_low - BAND * nearest, low), min(at_high + BAND * nearest, high)
        while True:
            near = other[: between(current, floor << bits, ceiling << bits, other)]
            new_low, new_high = low, high
            if at_low > low:
                new_low = gap_below(near, at_low, floor, nearest, bits, most, buffers[2])
                if new_low == -1 and floor == low:
                    new_low = low
            if at_high < high:
                new_high = gap_above(near, at_high, ceiling, nearest, bits, most, buffers[2])
                if new_high == -1 and ceiling == high:
                    new_high = high
            if CROWDED in (new_low, new_high):
                return keys[:0], -1, 0.0, 0.0
            if new_low >= 0 and new_high >= 0:
                break
            floor, ceiling = low, high
        first, last = new_low << bits, new_high << bits
        if whole:
            for y in range(keys.size):
                drafted = np.float64(draft[y])
                under += drafted if keys[y] < first else 0.0
                over += drafted if keys[y] >= last else 0.0
                wanted += np.float64(target[y]) if keys[y] >= last else 0.0
        else:
            for key in current:
                y = mask - (key & mask)
                if key < first:
                    under += np.float64(draft[y])
                elif key >= last:
                    over += np.float64(draft[y])
                    wanted += np.float64(target[y])
        found = near[: between(near, first, last, near)]
        low, high = new_low, new_high
        narrower = found.size <= 0.75 * current.size
        current, into, whole = found, 1 - into, False
        if current.size <= FEW or not narrower:
            break
    if current.size > most:
        return keys[:0], -1, 0.0, 0.0
    # Summed over neighbours, the draft's probabilities times S are the difference of two powers.
    taken = scale * over * power_sum(count, sigma + slope * total, sigma + slope * (total - over))
    return current, low << bits, under, max(wanted - taken, 0.0)


@kernel
def left_sum(
    keys: Array,
    target: Array,
    draft: Array,
    total: float,
    skew: Array,
    count: int,
    nearest: int,
    bits: int,
    buffers: Array,
) -> float:
    """The sum of what is left over the tokens of one node that the draft can draw; -1 as in `uncertain`."""
    found, lowest, under, left = uncertain(keys, target, draft, total, skew, count, nearest, bits, buffers)
    if lowest < 0:
        return -1.0
    found.sort()
    settle(found, 0, nearest, bits, found.size)
    return left + left_in_order(target, draft, tokens_of(found, bits), under, skew, count)


@kernel
def left_in_order(target: Array, draft: Array, order: Array, under: float, skew: Array, count: int) -> float:
    """The sum of what is left at the tokens of `order`, neighbours all of them, with the mass `under` below them."""
    scale, sigma, slope = skew
    left = 0.0
    under = sigma + slope * under
    for token in order:
        drafted = np.float64(draft[token])
        upto = under + slope * drafted
        left += max(np.float64(target[token]) - scale * drafted * power_sum(count, upto, under), 0.0)
        under = upto
    return left


@kernel
def left_row(
    keys: Array, target: Array, draft: Array, order: Array, under: float, skew: Array, count: int, out: Array
) -> None:
    """What is left at each token, into `out` (V,); `order` are all tokens above a gap, `under` the mass below it."""
    scale, sigma, slope = skew
    for y in range(out.size):
        out[y] = target[y] if keys[y] < 0 else 0.0
    under = sigma + slope * under
    for token in order:
        drafted = np.float64(draft[token])
        upto = under + slope * drafted
        out[token] = max(np.float64(target[token]) - scale * drafted * power_sum(count, upto, under), 0.0)
        under = upto
