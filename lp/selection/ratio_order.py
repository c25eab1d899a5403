"""The one order of tokens by target / draft: exact in rationals, with one stated rule for ties in floats.

Higher is better, ties to the smaller token id (statement 6.3). Everything that ranks tokens by their ratio uses this
order: GBV and `mixed`, their laws on drafted trees and their budgets on instances. Any fixed order is valid; two parts
of the program that decide a tie differently would give the budgets of one verifier and the law of another.

*Rationals* are compared as they are. *Floats* count as tied where rounding may have split them: equal ratios of laws
rarely come out equal. The bits of a float that is not negative, read as an integer, are in the order of the floats. Of
these 64 bits the last `id_bits(V)` are dropped, to make room for a token's id; what is left is the ratio's *cell*.
Neighbours in the order that are at most `nearest_cells(V, rounding)` cells apart are tied, and so is a run of such
neighbours. For laws in double precision that is a relative difference of some 1.5e-14 where V = 3, and of some 1e-10
where V = 152,064.

Integers are sorted, not sorted indirectly: that is three times as fast. Compiled code reads its numbers off the same
cells without sorting a row (`nodebudget.verifiers.arithmetic`).
"""

from __future__ import annotations

import math
from typing import Any

import array_api_compat
import numpy as np

Array = Any
"""A numpy array (float, or object holding rationals) or a torch tensor."""

MANTISSA_BITS = 52

LEAST_DIVISOR = 1e-300
"""A probability over one that is at least so much is a finite double."""

ROUNDING_STEPS = 16
"""By how many steps of their precision probabilities that should be equal may be apart."""


def rounding(precision: Any) -> float:
    """How far equal probabilities may be apart, relatively, in floats of this dtype of numpy."""
    return ROUNDING_STEPS * float(np.finfo(precision).eps)


ROUNDING = rounding(np.float64)
"""The same for instances in floats."""


def order_by_ratio(target: Array, draft: Array, rounding: float) -> Array:
    """(g, V): the tokens of rows (g, V) by target / draft, from the lowest up, ties from the largest token id down.

    A token that the draft gives nothing is never drafted; its ratio counts as 0.

    Args:
        target, draft: laws (g, V), of rationals or floats.
        rounding: how far, relatively, probabilities that should be equal may be apart; of no account for rationals.
    """
    if isinstance(draft, np.ndarray):
        every = np.arange(draft.shape[1])
        orders = np.empty(draft.shape, dtype=np.int64)
        for i, (law, other) in enumerate(zip(target, draft, strict=True)):
            orders[i] = order_tokens(every, law, other, len(every), rounding)
        return orders
    xp = array_api_compat.array_namespace(draft)
    if draft.device.type == "cpu":
        # Torch has no fast sort of integers on the CPU. DLPack shares the memory, and refuses any other device.
        target, draft = (np.from_dlpack(law.detach()) for law in (target, draft))
        return xp.from_numpy(order_by_ratio(target, draft, rounding))
    return device_order(target, draft, rounding)


def order_tokens(tokens: Array, target: Array, draft: Array, vocab: int, rounding: float) -> Array:
    """(m,): some tokens of one node in the order of `order_by_ratio`, from their laws in numpy's memory.

    Args:
        tokens: (m,) token ids, rising.
        target, draft: (m,), their probabilities, of rationals or floats.
        vocab: the vocabulary size V, which the width of a cell depends on.
        rounding: as in `order_by_ratio`.
    """
    if draft.dtype == object:
        ratio = np.where(draft == 0, draft * 0, target / np.where(draft == 0, draft * 0 + 1, draft))
        return tokens[np.argsort(-ratio, kind="stable")[::-1]]
    drawn = draft > 0
    if drawn.all():
        return _order_drawn(tokens, target, draft, vocab, rounding)
    # Only what the draft can draw has to be sorted.
    ordered = _order_drawn(tokens[drawn], target[drawn], draft[drawn], vocab, rounding)
    return np.concatenate((tokens[~drawn][::-1], ordered))


def places(order: Array) -> Array:
    """(g, V): for rows that are permutations, the place of each index in them."""
    xp = array_api_compat.array_namespace(order)
    where = xp.zeros_like(order)
    if isinstance(order, np.ndarray):
        np.put_along_axis(where, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
        return where
    return where.scatter_(1, order, xp.arange(order.shape[1], device=order.device).expand(order.shape))


def device_order(target: Array, draft: Array, rounding: float) -> Array:
    """The same for torch rows on a device, on which the host must not wait."""
    xp = array_api_compat.array_namespace(draft)
    vocab = draft.shape[1]
    bits, mask = id_bits(vocab), _mask(vocab)
    target, draft = (xp.astype(law, xp.float64) for law in (target, draft))
    # Which of the two it is may differ from row to row, and must not be looked at on the host.
    tiny = (xp.min(xp.where(draft > 0, draft, 1.0), axis=1) < LEAST_DIVISOR)[:, None]
    target, draft = (xp.where(tiny, xp.sqrt(law), law) for law in (target, draft))
    ratio = xp.where(draft > 0, target / xp.where(draft > 0, draft, 1.0), 0.0)
    # Floats that are not negative are ordered as their bits are; a token's id takes the place of the last ones.
    reversed_ids = xp.arange(mask, mask - vocab, -1, device=draft.device)
    packed = xp.sort((ratio.view(xp.int64) & ~mask) | reversed_ids, axis=1)
    cells = packed >> bits
    higher = cells[:, 1:] - cells[:, :-1] > nearest_cells(vocab, rounding)
    group = xp.concat([xp.zeros_like(cells[:, :1]), xp.cumsum(xp.astype(higher, xp.int64), 1)], axis=1)
    return mask - (xp.sort(group << bits | packed & mask, axis=1) & mask)


def _order_drawn(tokens: Array, target: Array, draft: Array, vocab: int, rounding: float) -> Array:
    """The same where the draft can draw every one of the tokens, from floats."""
    bits, mask = id_bits(vocab), _mask(vocab)
    if draft.min(initial=1.0) < LEAST_DIVISOR:
        target, draft = np.sqrt(target), np.sqrt(draft)
    # In place, in one array: what it costs is passes over memory.
    packed = np.divide(target, draft, dtype=np.float64).view(np.int64)
    packed &= ~mask
    packed |= mask - tokens
    packed.sort()
    _settle_ties(packed, bits, nearest_cells(vocab, rounding))
    packed &= mask
    return np.subtract(mask, packed, out=packed)


def _settle_ties(packed: Array, bits: int, nearest: int) -> None:
    """Sort the runs of neighbours that are ties by token id alone, in place."""
    # Few are as near as that: the others need not be looked at closely.
    near = np.flatnonzero(packed[1:] - packed[:-1] < nearest + 1 << bits)
    lower, upper = packed[near] >> bits, packed[near + 1] >> bits
    tied = upper - lower <= nearest
    if not (tied & (upper > lower)).any():
        return  # neighbours in one cell are in that order already
    near = near[tied]
    goes_on = np.zeros(len(packed), dtype=bool)
    goes_on[near + 1] = True
    in_run = goes_on.copy()
    in_run[near] = True
    run = np.flatnonzero(in_run)
    packed[run] = np.sort(np.cumsum(~goes_on[run]) << bits | packed[run] & (1 << bits) - 1)


def id_bits(vocab: int) -> int:
    return max(1, (vocab - 1).bit_length())


def _mask(vocab: int) -> int:
    return (1 << id_bits(vocab)) - 1


def nearest_cells(vocab: int, rounding: float) -> int:
    """By how many cells neighbours may differ that are ties."""
    # Both probabilities of a ratio may be off, and a relative step is up to two in the last bit.
    return max(1, math.ceil(4 * rounding * 2**MANTISSA_BITS) >> id_bits(vocab))
