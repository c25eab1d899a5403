"""The order of tokens by target / draft, quickly: integers are sorted, not sorted indirectly."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat
import numpy as np

Array = Any
"""A numpy array (float, or object holding rationals) or a torch tensor."""

MANTISSA_BITS = 52


def order_by_ratio(target: Array, draft: Array, rounding: float) -> Array:
    """(g, V): the tokens of rows (g, V) by target / draft, the highest first, ties by token id.

    A token that the draft gives nothing is never drafted; its ratio counts as 0. In floats the ratio's square
    root is compared, which neither overflows nor underflows. It is packed with the token's id into one
    integer, which costs it its last bits: neighbours that differ by no more than that, or than rounding, are
    ties. So ratios that are equal as rationals are ties although float arithmetic tells them apart.

    Args:
        target, draft: laws (g, V), of rationals or floats.
        rounding: how far, relatively, square roots of ratios that should be equal may be apart.
    """
    if draft.dtype == object:
        ratio = np.where(draft == 0, draft * 0, target / np.where(draft == 0, draft * 0 + 1, draft))
        return np.argsort(-ratio, axis=1, stable=True)
    if isinstance(draft, np.ndarray):
        orders = [_host_order(*rows, rounding)[None] for rows in zip(target, draft, strict=True)]
        return orders[0] if len(orders) == 1 else np.concatenate(orders)
    xp = array_api_compat.array_namespace(draft)
    if draft.device.type == "cpu":
        # Torch has no fast sort of integers on the CPU. DLPack shares the memory, and refuses any other device.
        target, draft = (np.from_dlpack(law.detach()) for law in (target, draft))
        return xp.from_numpy(order_by_ratio(target, draft, rounding))
    vocab = draft.shape[1]
    bits = _id_bits(vocab)
    root, other = (xp.sqrt(xp.astype(law, xp.float64)) for law in (target, draft))
    ratio = xp.where(other > 0, root / xp.where(other > 0, other, 1.0), 0.0)
    # Floats that are not negative are ordered as their bits are; a token's id takes the place of the last ones.
    cells = ((2**63 - 1) >> bits) - (ratio.view(xp.int64) >> bits)
    packed = xp.sort(cells << bits | xp.arange(vocab, device=draft.device), axis=1)
    order = packed & _mask(vocab)
    cells = packed >> bits
    lower = cells[:, 1:] - cells[:, :-1] > _nearest(vocab, rounding)
    group = xp.concat([xp.zeros_like(order[:, :1]), xp.cumsum(xp.astype(lower, xp.int64), 1)], axis=1)
    return xp.sort(group << bits | order, axis=1) & _mask(vocab)


def places(order: Array) -> Array:
    """(g, V): for rows that are permutations, the place of each index in them."""
    xp = array_api_compat.array_namespace(order)
    where = xp.zeros_like(order)
    if isinstance(order, np.ndarray):
        np.put_along_axis(where, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
        return where
    return where.scatter_(1, order, xp.arange(order.shape[1], device=order.device).expand(order.shape))


def _host_order(target: Array, draft: Array, rounding: float) -> Array:
    """(V,): the same for one row of floats in memory, where only what the draft can draw has to be sorted."""
    vocab, bits = len(draft), _id_bits(len(draft))
    drawn = draft > 0
    every = bool(drawn.all())
    tokens = np.arange(vocab) if every else np.flatnonzero(drawn)
    if not every:
        target, draft = target[tokens], draft[tokens]
    # In place, in one array: what it costs is passes over memory.
    ratio = np.sqrt(target, dtype=np.float64)
    ratio /= np.sqrt(draft, dtype=np.float64)
    packed = ratio.view(np.int64)
    packed >>= bits
    np.subtract((2**63 - 1) >> bits, packed, out=packed)
    packed <<= bits
    packed |= tokens
    packed.sort()
    order = packed & _mask(vocab)
    packed >>= bits
    step = packed[1:] - packed[:-1]
    nearest = _nearest(vocab, rounding)
    if ((step > 0) & (step <= nearest)).any():
        group = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(step > nearest)])
        order = np.sort(group << bits | order) & _mask(vocab)
    return order if every else np.concatenate([order, np.flatnonzero(~drawn)])


def _id_bits(vocab: int) -> int:
    return max(1, (vocab - 1).bit_length())


def _mask(vocab: int) -> int:
    return (1 << _id_bits(vocab)) - 1


def _nearest(vocab: int, rounding: float) -> int:
    """By how many cells neighbours may differ that are ties."""
    return max(1, math.ceil(2 * rounding * 2**MANTISSA_BITS) >> _id_bits(vocab))
