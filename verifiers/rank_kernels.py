"""Tokens by target / draft without sorting a row, compiled by numba.

A token's key is its ratio with its id, reversed, in place of the last bits, as in `nodebudget.lp.ratio_order`; a token
that the draft gives nothing has a negative one. What is left of a key without the id is its cell. Runs of neighbours
that are at most `nearest` cells apart are ties, ordered by id alone: in front of a run and behind it is a gap, and
what is ranked below a gap is what has a smaller key. So only the tokens between two gaps are ever sorted.
"""

from __future__ import annotations

import numpy as np
from nodebudget.lp.ratio_order import LEAST_DIVISOR

from .arrays import Array
from .kernels import kernel

BLOCK = 64
"""Keys that are looked at together, before each of them is."""

FEW = 1024
"""So many tokens are sorted rather than told apart by narrower bounds."""

BAND = 64
"""Runs of ties are looked for in so many times `nearest` cells at first."""


@kernel
def pack(target: Array, draft: Array, ratio: Array, keys: Array, mask: int) -> int:
    """Fill in the keys of one node, (V,), in memory that `ratio` shares; how many draft probabilities are too small."""
    tiny = 0
    for y in range(keys.size):
        drafted = np.float64(draft[y])
        tiny += (drafted > 0) & (drafted < LEAST_DIVISOR)
        ratio[y] = np.float64(target[y]) / drafted if drafted > 0 else -1.0
    for y in range(keys.size):
        keys[y] = keys[y] & ~mask | (mask - y)
    return tiny


@kernel
def between(keys: Array, low: int, high: int, out: Array) -> int:
    """Put the keys in [low, high) into `out`, which may be `keys`; how many there are."""
    count = 0
    for start in range(0, keys.size, BLOCK):
        end = min(start + BLOCK, keys.size)
        inside = 0
        for i in range(start, end):
            inside += (keys[i] >= low) & (keys[i] < high)
        if inside == 0:
            continue
        for i in range(start, end):
            key = keys[i]
            if (key >= low) & (key < high):
                out[count] = key
                count += 1
    return count


@kernel
def gap_below(keys: Array, at: int, nearest: int, bits: int, scratch: Array) -> int:
    """The highest key, at most `at`, that has a gap below it; 0 if there is none.

    Keys that are not among `keys` have gaps between them and these.
    """
    top, width = at >> bits, BAND * nearest
    while True:
        bottom = max(top - width, 0)
        count = between(keys, bottom << bits, at, scratch)
        cells = np.sort(scratch[:count])
        above = top
        for i in range(count - 1, -1, -1):
            cell = cells[i] >> bits
            if above - cell > nearest:
                return above << bits
            above = cell
        if bottom == 0:
            return 0
        if above - bottom >= nearest:
            return above << bits
        width *= 16


@kernel
def gap_above(keys: Array, at: int, nearest: int, bits: int, scratch: Array) -> int:
    """The lowest key, at least `at`, that has a gap below it; the largest integer if there is none."""
    last = np.int64(np.iinfo(np.int64).max) >> bits
    bottom, width = at >> bits, BAND * nearest
    while True:
        top = min(bottom + width, last)
        count = between(keys, at, top << bits, scratch)
        cells = np.sort(scratch[:count])
        below = bottom - 1
        for i in range(count):
            cell = cells[i] >> bits
            if cell - below > nearest:
                return (below + 1) << bits
            below = cell
        if top == last:
            return np.iinfo(np.int64).max
        if top - below > nearest:
            return (below + 1) << bits
        width *= 16


@kernel
def settle(keys: Array, nearest: int, bits: int) -> Array:
    """The tokens of keys between two gaps in their order, from the lowest up."""
    mask = (1 << bits) - 1
    ordered = np.sort(keys)
    run = np.int64(0)
    previous = ordered[0] >> bits if ordered.size else np.int64(0)
    for i in range(ordered.size):
        cell = ordered[i] >> bits
        run += cell - previous > nearest
        previous = cell
        ordered[i] = run << bits | (ordered[i] & mask)
    ordered.sort()
    for i in range(ordered.size):
        ordered[i] = mask - (ordered[i] & mask)
    return ordered


@kernel
def pick(
    target: Array,
    draft: Array,
    ratio: Array,
    keys: Array,
    tokens: Array,
    nearest: int,
    bits: int,
    scratch: Array,
) -> tuple[int, float]:
    """The highest-ranked of some tokens, and the draft's mass of what is ranked below it; -1 where a ratio may be none.

    Fills in the keys of the node.
    """
    if pack(target, draft, ratio, keys, (1 << bits) - 1):
        return -1, 0.0
    best = np.int64(0)
    for token in tokens:
        best = max(best, keys[token])
    cell = best >> bits
    low = gap_below(keys, cell << bits, nearest, bits, scratch)
    high = gap_above(keys, (cell + 1) << bits, nearest, bits, scratch)
    order = settle(scratch[: between(keys, low, high, scratch)], nearest, bits)
    place = 0
    for token in tokens:
        for i in range(place, order.size):
            if order[i] == token:
                place = i
    mass = 0.0
    for y in range(keys.size):
        mass += np.float64(draft[y]) if keys[y] < low else 0.0
    for i in range(place):
        mass += np.float64(draft[order[i]])
    return order[place], mass


@kernel
def power_sum(count: int, first: float, second: float) -> float:
    """As `nodebudget.lp.power_sums.power_sum`."""
    bit = 1
    while 2 * bit <= count:
        bit *= 2
    total, a, b = 1.0, first, second
    while bit > 1:
        bit //= 2
        total, a, b = total * (a + b), a * a, b * b
        if count & bit:
            total, a, b = total * first + b, a * first, b * second
    return total


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
    window: Array,
    scratch: Array,
) -> tuple[int, int, float, float]:
    """The tokens of one node of which it is not clear whether anything is left there, max(0, target - taken).

    Taken is scale draft S(upto, under), `skew` (scale, sigma, slope), where under is sigma + slope times the mass
    ranked below and upto is that with the token's own. Both the ratio and S grow along the order: nothing is left
    up to where the ratio is below the least S can be there, and something from where it is above the largest.

    Returns how many they are, put into `window`; the gap below them and the mass below it; and what is left at all
    other tokens, those included that the draft gives nothing.
    """
    scale, sigma, slope = skew
    number = np.empty(1)
    number_key = number.view(np.int64)
    mask = (1 << bits) - 1
    step = 4.0 * 2.0 ** (bits - 52)
    low, high = np.int64(0), np.int64(np.iinfo(np.int64).max)
    under, over, wanted, undrafted = 0.0, 0.0, 0.0, 0.0
    for y in range(keys.size):
        undrafted += np.float64(target[y]) if keys[y] < 0 else 0.0
    current, size = keys, keys.size
    while True:
        least = sigma + slope * under
        number[0] = scale * power_sum(count, least, least) * (1 - step)
        above = number_key[0] >> bits << bits
        new_low = gap_below(current[:size], above, nearest, bits, scratch) if above > low else low
        largest = sigma + slope * (total - over)
        number[0] = scale * power_sum(count, largest, largest) * (1 + step)
        new_high = high
        if number[0] < np.inf and number_key[0] >> bits < high >> bits:
            below = ((number_key[0] >> bits) + 1) << bits
            new_high = gap_above(current[:size], below, nearest, bits, scratch)
        new_low, new_high = max(new_low, low), min(new_high, high)
        if new_high < new_low:
            new_high = new_low
        if size == keys.size:
            for y in range(keys.size):
                key, drafted = keys[y], np.float64(draft[y])
                under += drafted if key < new_low else 0.0
                over += drafted if key >= new_high else 0.0
                wanted += np.float64(target[y]) if key >= new_high else 0.0
        else:
            for i in range(size):
                key = current[i]
                y = mask - (key & mask)
                if key < new_low:
                    under += np.float64(draft[y])
                elif key >= new_high:
                    over += np.float64(draft[y])
                    wanted += np.float64(target[y])
        found = between(current[:size], new_low, new_high, window)
        low, high = new_low, new_high
        narrower = found <= 0.75 * size
        current, size = window, found
        if size <= FEW or not narrower:
            break
    # Summed over neighbours, the draft's probabilities times S are the difference of two powers.
    taken = scale * over * power_sum(count, sigma + slope * total, sigma + slope * (total - over))
    return size, low, under, max(wanted - taken, 0.0) + undrafted


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
    window: Array,
    scratch: Array,
) -> float:
    """The sum of what is left over the tokens of one node; see `uncertain`."""
    scale, sigma, slope = skew
    found, _, under, left = uncertain(keys, target, draft, total, skew, count, nearest, bits, window, scratch)
    under = sigma + slope * under
    for token in settle(window[:found], nearest, bits):
        drafted = np.float64(draft[token])
        upto = under + slope * drafted
        left += max(np.float64(target[token]) - scale * drafted * power_sum(count, upto, under), 0.0)
        under = upto
    return left


@kernel
def left_row(
    keys: Array, target: Array, draft: Array, order: Array, under: float, skew: Array, count: int, out: Array
) -> None:
    """What is left at each token, into `out` (V,); `order` are all the tokens above a gap, `under` the mass below."""
    scale, sigma, slope = skew
    for y in range(out.size):
        out[y] = target[y] if keys[y] < 0 else 0.0
    under = sigma + slope * under
    for token in order:
        drafted = np.float64(draft[token])
        upto = under + slope * drafted
        out[token] = max(np.float64(target[token]) - scale * drafted * power_sum(count, upto, under), 0.0)
        under = upto
