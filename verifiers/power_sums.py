"""Differences of powers over differences, without the differences."""

from __future__ import annotations

from .arrays import Array


def power_sum(count: int, first: Array, second: Array) -> Array:
    """sum_{i < count} first^i second^(count - 1 - i), for count >= 1; nothing cancels.

    By doubling: S_2k = S_k (a^k + b^k) and S_{k+1} = a S_k + b^k.
    """
    total, a, b = first * 0 + 1, first, second
    for bit in bin(count)[3:]:
        total, a, b = total * (a + b), a * a, b * b
        if bit == "1":
            total, a, b = total * first + b, a * first, b * second
    return total
