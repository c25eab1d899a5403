"""Differences of powers over differences, without the differences."""

from __future__ import annotations

from typing import Any


def power_sum(count: int, first: Any, second: Any) -> Any:
    """sum_{i < count} first^i second^(count - 1 - i), for count >= 1: (a^K - b^K) / (a - b).

    Nothing cancels, and equal arguments are allowed. Works on rationals, floats, and arrays of either, torch
    tensors included (statement 6.4).

    By doubling: S_2k = S_k (a^k + b^k) and S_{k+1} = a S_k + b^k. Compiled code uses this very function.
    """
    if count == 1:
        return first * 0 + 1
    bit = 1
    while 2 * bit <= count:
        bit *= 2
    total, a, b = 1, first, second
    while bit > 2:
        bit //= 2
        total, a, b = total * (a + b), a * a, b * b
        if count & bit:
            total, a, b = total * first + b, a * first, b * second
    # The powers after the last step are of no use.
    total = a + b if count < 4 else total * (a + b)
    return total * first + b * b if count & 1 else total
