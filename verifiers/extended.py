"""Nonnegative numbers with an exponent of their own.

A verifier multiplies one ratio of probabilities per drafted token and caps the product at one. Exact products
recover from any depth: six ratios of 1e-8 and then six of 1e8 give one. In floats the first six underflow
(in float32 already at 1e-45), zero never recovers, and the law is wrong without a sign of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .arrays import HIGHEST_EXPONENT, LOWEST_EXPONENT, Array, Arrays


class Extended:
    """A vector of nonnegative numbers, mantissa * 2**exponent, that does not underflow or overflow.

    Mantissas lie in [1/2, 1), or are 0. In exact arithmetic the mantissa is the number, without an exponent.
    """

    def __init__(self, arrays: Arrays, mantissa: Array, exponent: Array | None = None) -> None:
        """Any nonnegative mantissas, and exponents to add to their own."""
        self.arrays = arrays
        self.mantissa, self.exponent = mantissa, None
        if not arrays.exact:
            self.mantissa, own = arrays.xp.frexp(mantissa)
            self.exponent = own if exponent is None else own + exponent

    def times(self, other: Extended | Array) -> Extended:
        """The product."""
        other = self._lift(other)
        exponent = None if self.exponent is None else self.exponent + other.exponent
        return Extended(self.arrays, self.mantissa * other.mantissa, exponent)

    def over(self, other: Extended | Array) -> Extended:
        """The quotient; 0 where the other number is 0."""
        other = self._lift(other)
        exponent = None if self.exponent is None else self.exponent - other.exponent
        return Extended(self.arrays, self.arrays.divide(self.mantissa, other.mantissa), exponent)

    def power(self, count: int) -> Extended:
        """The power with a nonnegative integer exponent."""
        result, square = Extended(self.arrays, self.mantissa * 0 + self.arrays.one), self
        while count:
            if count & 1:
                result = result.times(square)
            count >>= 1
            if count:
                square = square.times(square)
        return result

    def capped(self) -> Extended:
        """min(1, number)."""
        where = self.arrays.xp.where
        if self.exponent is None:
            return Extended(self.arrays, where(self.mantissa > 1, self.arrays.one, self.mantissa))
        above = (self.exponent > 0) & (self.mantissa > 0)
        return Extended(self.arrays, where(above, 1.0, self.mantissa), where(above, 0, self.exponent))

    def value(self) -> Array:
        """The numbers as plain ones, for numbers below 2**64; one that is too small becomes 0."""
        if self.exponent is None:
            return self.mantissa
        if self.arrays.numpy:
            return np.ldexp(self.mantissa, self.exponent)
        table = self.arrays.powers_of_two
        place = self.exponent.clip(LOWEST_EXPONENT, HIGHEST_EXPONENT) - LOWEST_EXPONENT
        return self.mantissa * self.arrays.take(table, place)

    def inverse(self) -> Array:
        """1 / number as plain numbers: at most `Arrays.largest` in floats, 0 for 1 / 0 if exact."""
        value, where = self.value(), self.arrays.xp.where
        if self.exponent is None:
            return self.arrays.divide(self.arrays.ones(1), value)
        largest = self.arrays.largest
        tiny = value < 1 / largest
        return where(tiny, largest, 1 / where(tiny, 1.0, value))

    def take(self, index: Array) -> Extended:
        """The numbers at an index array."""
        exponent = None if self.exponent is None else self.arrays.take(self.exponent, index)
        return Extended(self.arrays, self.arrays.take(self.mantissa, index), exponent)

    def _lift(self, other: Extended | Array) -> Extended:
        return other if isinstance(other, Extended) else Extended(self.arrays, other)


def join(parts: Sequence[Extended]) -> Extended:
    """The numbers of several vectors, one after the other."""
    arrays = parts[0].arrays
    mantissa = arrays.xp.concat([part.mantissa for part in parts])
    exponent = None if arrays.exact else arrays.xp.concat([part.exponent for part in parts])
    return Extended(arrays, mantissa, exponent)


def capped_products(factors: Extended) -> Extended:
    """1, min(1, f_1), min(1, min(1, f_1) f_2), ..., of (n,) numbers: (n + 1,)."""
    arrays = factors.arrays
    if factors.exponent is None or not arrays.numpy:
        capped = [Extended(arrays, arrays.ones(1))]
        for i in range(len(factors.mantissa)):
            capped.append(capped[-1].times(factors.take(arrays.positions(i + 1)[i:])).capped())
        return join(capped)
    # Numpy's operations on one number take as long as on thousands.
    numbers = [(0.5, 1)]
    for mantissa, exponent in zip(factors.mantissa.tolist(), factors.exponent.tolist(), strict=True):
        product, own = math.frexp(numbers[-1][0] * mantissa)
        exponent += numbers[-1][1] + own
        numbers.append((0.5, 1) if exponent > 0 and product > 0 else (product, exponent))
    mantissas, exponents = zip(*numbers, strict=True)
    return Extended(arrays, np.array(mantissas, dtype=arrays.dtype), np.array(exponents, dtype=np.int32))
