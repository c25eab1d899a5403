"""Differences of powers over differences, without the differences."""

from __future__ import annotations

from typing import Any


def power_sum(count: int, first: Any, second: Any) -> Any:
    """sum_{i < count} first^i second^(count - 1 - i), for count >= 1: (a^K - b^K) / (a - b).

    Nothing cancels, and equal arguments are allowed. Works on rationals, floats, and arrays of either, torch
    tensors included (statement 6.4).

    By doubling: S_2k = S_k (a^k + b^k) and S_{k+1} = a S_k + b^k.
    """
    total, a, b = first * 0 + 1, first, second
    for bit in bin(count)[3:]:
        total, a, b = total * (a + b), a * a, b * b
        if bit == "1":
            total, a, b = total * first + b, a * first, b * second
    return total
