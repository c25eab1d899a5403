"""Tokens by target / draft without sorting a row, compiled by numba.

A token's key is its ratio with its id, reversed, in place of the last bits, as in
`nodebudget.lp.selection.ratio_order`; a token that the draft gives nothing has a negative one. What is left of a key
without the id is its cell. Runs of neighbours that are at most `nearest` cells apart are ties, ordered by id alone: in
front of a run and behind it is a gap, and what is ranked below a gap is what has a smaller key. So only the tokens
between two gaps are ever sorted. Where there are no gaps, as between models that are nearly the same, the functions say
so, and the whole row is sorted by numpy.

Compiled code is kept from process to process; a change of `LEAST_DIVISOR` in the other file does not make it anew. What
`skewed_sums.py` needs to know of this file is its digest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from nodebudget.lp.selection.ratio_order import LEAST_DIVISOR

from .arrays import Array
from .kernels import kernel

LAST = int(np.iinfo(np.int64).max)

CROWDED = -2
"""In place of a token or of a cell: there are too many near it."""

BLOCK = 64
"""Keys that are looked at together, before each of them is."""

FEW = 1024
"""So many tokens are sorted rather than told apart by narrower bounds."""

SHORT = 32
"""Runs of so many are sorted by insertion."""

BAND = 64
"""Runs of ties are looked for in so many times `nearest` cells at first."""


@kernel
def crowd(vocab: int) -> int:
    """From how many tokens on numpy's sort of the whole row is faster than looking at them."""
    return max(FEW, vocab // 16)


@kernel
def pack(target: Array, draft: Array, ratio: Array, keys: Array, mask: int) -> tuple[int, float]:
    """Fill in the keys of one node, (V,), in memory that `ratio` shares.

    Returns how many draft probabilities are too small, and the target's mass where the draft has none.
    """
    tiny: Any = 0
    undrafted = 0.0
    for y in range(keys.size):
        drafted = np.float64(draft[y])
        tiny += (drafted > 0) & (drafted < LEAST_DIVISOR)
        ratio[y] = (
            abs(np.float64(target[y])) / drafted if drafted > 0 else -1.0
        )  # -0.0 has the bits of a negative
        undrafted += 0.0 if drafted > 0 else np.float64(target[y])
    for y in range(keys.size):
        keys[y] = keys[y] & ~mask | (mask - y)
    return tiny, undrafted


@kernel
def between(keys: Array, low: int, high: int, out: Array) -> int:
    """Put the keys in [low, high) into `out`, as long as `keys` or `keys` itself; how many there are."""
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
            out[count] = key  # without a branch, which nothing could predict
            count += (key >= low) & (key < high)
    return count


@kernel
def gap_below(keys: Array, at: int, floor: int, nearest: int, bits: int, most: int, scratch: Array) -> int:
    """The highest cell, at most `at`, with a gap below it, as far as keys in cells from `floor` up tell.

    -1 if they do not tell, `CROWDED` if more than `most` of them are too near.
    """
    bottom = max(at - BAND * nearest, floor)
    while True:
        count = between(keys, bottom << bits, at << bits, scratch)
        if count > most:
            return CROWDED
        cells = np.sort(scratch[:count]) >> bits
        above = at
        for i in range(cells.size - 1, -1, -1):
            if above - cells[i] > nearest:
                return above
            above = cells[i]
        if above - bottom >= nearest:
            return above
        if bottom == floor:
            return -1
        bottom = floor


@kernel
def gap_above(keys: Array, at: int, ceiling: int, nearest: int, bits: int, most: int, scratch: Array) -> int:
    """The lowest cell, at least `at`, with a gap below it, as far as keys in cells below `ceiling` tell.

    -1 if they do not tell, `CROWDED` if more than `most` of them are too near.
    """
    top = min(at + BAND * nearest, ceiling)
    while True:
        count = between(keys, at << bits, top << bits, scratch)
        if count > most:
            return CROWDED
        cells = np.sort(scratch[:count]) >> bits
        below = at - 1
        for i in range(cells.size):
            if cells[i] - below > nearest:
                return below + 1
            below = cells[i]
        if top - below > nearest:
            return below + 1
        if top == ceiling:
            return -1
        top = ceiling


@kernel
def settle(keys: Array, start: int, nearest: int, bits: int, most: int) -> tuple[int, int]:
    """Put sorted keys between two gaps into their order, in place, from a run on that starts at `start`.

    Returns where the first run of more than `most` starts and ends, with which it stops; the size twice if it is done.
    """
    mask = (1 << bits) - 1
    while start < keys.size:
        end = start + 1
        while end < keys.size and (keys[end] >> bits) - (keys[end - 1] >> bits) <= nearest:
            end += 1
        # In one cell keys are in the order of their ids.
        if keys[end - 1] >> bits > keys[start] >> bits:
            if end - start > most:
                return start, end
            cell = keys[start] & ~mask
            if end - start > SHORT:
                keys[start:end] = np.sort(keys[start:end] & mask) | cell
            else:
                for i in range(start, end):
                    key = keys[i] & mask | cell
                    j = i
                    while j > start and keys[j - 1] > key:
                        keys[j] = keys[j - 1]
                        j -= 1
                    keys[j] = key
        start = end
    return start, start


@kernel
def tokens_of(keys: Array, bits: int) -> Array:
    """The tokens of keys, in their memory."""
    mask = (1 << bits) - 1
    for i in range(keys.size):
        keys[i] = mask - (keys[i] & mask)
    return keys


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
) -> tuple[int, float, float]:
    """Fill in the keys of one node, and pick the highest-ranked of some tokens.

    Returns it, -1 where a ratio may be none or the draft gives nothing to any of the tokens, `CROWDED` where too many
    others are nearly tied with it; the draft's mass of what is ranked below it; and the target's mass where the draft
    has none.
    """
    tiny, undrafted = pack(target, draft, ratio, keys, (1 << bits) - 1)
    best = -1
    for token in tokens:
        best = max(best, keys[token])
    if tiny or best < 0:
        return -1, 0.0, undrafted
    cell, width, last = best >> bits, BAND * nearest, LAST >> bits
    start: Any = 0
    end: Any = 0
    near = scratch[:0]
    while True:
        bottom, top = max(cell - width, 0), min(cell + width, last)
        count = between(keys, bottom << bits, top << bits, scratch)
        if count > crowd(keys.size):
            return CROWDED, 0.0, undrafted
        near = np.sort(scratch[:count])
        start = end = np.searchsorted(near, best)
        while start > 0 and (near[start] >> bits) - (near[start - 1] >> bits) <= nearest:
            start -= 1
        while end + 1 < near.size and (near[end + 1] >> bits) - (near[end] >> bits) <= nearest:
            end += 1
        if (bottom == 0 or start > 0 or (near[0] >> bits) - bottom >= nearest) and (
            top == last or end + 1 < near.size or top - (near[end] >> bits) > nearest
        ):
            break
        width = last if width > last // 16 else 16 * width
    mass, lowest = 0.0, near[start]
    near = near[start : end + 1]
    settle(near, 0, nearest, bits, near.size)
    order = tokens_of(near, bits)
    place = 0
    for token in tokens:
        for i in range(place, order.size):
            if order[i] == token:
                place = i
    for y in range(keys.size):
        mass += np.float64(draft[y]) if keys[y] < lowest else 0.0
    for i in range(place):
        mass += np.float64(draft[order[i]])
    return order[place], mass, undrafted
