"""Nonnegative numbers that neither underflow nor overflow.

A verifier multiplies one ratio of probabilities per drafted token and caps the product at one. Exact products
recover from any depth: six ratios of 1e-8 and then six of 1e8 give one. In floats the first six underflow
(in float32 already at 1e-45), zero never recovers, and the law is wrong without a sign of it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from .arrays import Array, Arrays


class Scaled(ABC):
    """A vector of nonnegative numbers of any size; made by `scaled`."""

    def __init__(self, arrays: Arrays) -> None:
        """`arrays` are the operations on the plain numbers."""
        self.arrays = arrays

    @abstractmethod
    def times(self, other: Scaled | Array) -> Scaled:
        """The product."""

    @abstractmethod
    def over(self, other: Scaled | Array) -> Scaled:
        """The quotient; 0 where the other number is 0."""

    @abstractmethod
    def power(self, count: int) -> Scaled:
        """The power with a positive integer exponent."""

    @abstractmethod
    def capped(self) -> Scaled:
        """min(1, number)."""

    @abstractmethod
    def value(self) -> Array:
        """The numbers as plain ones, for numbers below 2**64; one that is too small becomes 0."""

    @abstractmethod
    def inverse(self) -> Array:
        """1 / number as plain numbers: at most `Arrays.largest` in floats, 0 for 1 / 0 if exact."""

    @abstractmethod
    def take(self, index: Array) -> Scaled:
        """The numbers at an index array."""

    @abstractmethod
    def joined(self, others: Sequence[Scaled]) -> Scaled:
        """These numbers and those of other vectors, one after the other."""

    @abstractmethod
    def capped_products(self) -> Scaled:
        """1, min(1, f_1), min(1, min(1, f_1) f_2), ..., of these (n,) numbers: (n + 1,)."""


class _Rationals(Scaled):
    """Rationals, which need no care."""

    def __init__(self, arrays: Arrays, numbers: Array) -> None:
        super().__init__(arrays)
        self.numbers = numbers

    def times(self, other: Scaled | Array) -> Scaled:
        return self._of(self.numbers * _plain(other))

    def over(self, other: Scaled | Array) -> Scaled:
        return self._of(self.arrays.divide(self.numbers, _plain(other)))

    def power(self, count: int) -> Scaled:
        return self._of(self.numbers**count)

    def capped(self) -> Scaled:
        return self._of(np.minimum(self.numbers, self.arrays.one))

    def value(self) -> Array:
        return self.numbers

    def inverse(self) -> Array:
        return self.arrays.divide(self.arrays.ones(1), self.numbers)

    def take(self, index: Array) -> Scaled:
        return self._of(self.arrays.take(self.numbers, index))

    def joined(self, others: Sequence[Scaled]) -> Scaled:
        return self._of(np.concatenate([self.numbers, *map(_plain, others)]))

    def capped_products(self) -> Scaled:
        products = [self.arrays.one]
        for factor in self.numbers:
            products.append(min(products[-1] * factor, self.arrays.one))
        return self._of(self.arrays.join(products))

    def _of(self, numbers: Array) -> Scaled:
        return _Rationals(self.arrays, numbers)


def _plain(other: Scaled | Array) -> Array:
    return other.value() if isinstance(other, Scaled) else other


class _Split(Scaled):
    """Numpy floats with exponents of their own: mantissas in [1/2, 1), or 0, times powers of two."""

    def __init__(self, arrays: Arrays, mantissa: Array, exponent: Array) -> None:
        super().__init__(arrays)
        self.mantissa, own = np.frexp(mantissa)
        self.exponent = own + exponent

    def times(self, other: Scaled | Array) -> _Split:
        mantissa, exponent = self._split(other)
        return self._of(self.mantissa * mantissa, self.exponent + exponent)

    def over(self, other: Scaled | Array) -> Scaled:
        mantissa, exponent = self._split(other)
        return self._of(self.arrays.divide(self.mantissa, mantissa), self.exponent - exponent)

    def power(self, count: int) -> Scaled:
        result, square = self._of(np.ones_like(self.mantissa), self.exponent * 0), self
        while count:
            if count & 1:
                result = result.times(square)
            count >>= 1
            if count:
                square = square.times(square)
        return result

    def capped(self) -> Scaled:
        above = (self.exponent > 0) & (self.mantissa > 0)
        return self._of(np.where(above, 1.0, self.mantissa), np.where(above, 0, self.exponent))

    def value(self) -> Array:
        return np.ldexp(self.mantissa, self.exponent)

    def inverse(self) -> Array:
        value, largest = self.value(), self.arrays.largest
        tiny = value < 1 / largest
        return np.where(tiny, largest, 1 / np.where(tiny, 1.0, value))

    def take(self, index: Array) -> Scaled:
        return self._of(self.mantissa.take(index), self.exponent.take(index))

    def joined(self, others: Sequence[Scaled]) -> Scaled:
        parts = [self._split(other) for other in others]
        mantissas, exponents = zip((self.mantissa, self.exponent), *parts, strict=True)
        return self._of(np.concatenate(mantissas), np.concatenate(exponents))

    def capped_products(self) -> Scaled:
        # Numpy's operations on one number take as long as on thousands.
        numbers = [(0.5, 1)]
        for mantissa, exponent in zip(self.mantissa.tolist(), self.exponent.tolist(), strict=True):
            product, own = math.frexp(numbers[-1][0] * mantissa)
            exponent += numbers[-1][1] + own
            numbers.append((0.5, 1) if exponent > 0 and product > 0 else (product, exponent))
        mantissas, exponents = zip(*numbers, strict=True)
        return self._of(self.arrays.join(list(mantissas)), np.array(exponents, dtype=np.int32))

    def _of(self, mantissa: Array, exponent: Array) -> _Split:
        return _Split(self.arrays, mantissa, exponent)

    def _split(self, other: Scaled | Array) -> tuple[Array, Array]:
        if isinstance(other, _Split):
            return other.mantissa, other.exponent
        mantissa, exponent = np.frexp(_plain(other))
        return mantissa, exponent


class _Logarithms(Scaled):
    """Torch tensors by their binary logarithms, in double precision: one launch for most operations."""

    def __init__(self, arrays: Arrays, log: Array) -> None:
        super().__init__(arrays)
        self.log = log

    def times(self, other: Scaled | Array) -> Scaled:
        return self._of(self.log + self._log(other))

    def over(self, other: Scaled | Array) -> Scaled:
        log = self._log(other)
        return self._of(self.arrays.xp.where(log == -math.inf, -math.inf, self.log - log))

    def power(self, count: int) -> Scaled:
        return self._of(self.log * count)

    def capped(self) -> Scaled:
        return self._of(self.log.clamp(max=0.0))

    def value(self) -> Array:
        return self.log.exp2().to(self.arrays.dtype)

    def inverse(self) -> Array:
        return self.log.clamp(min=-math.log2(self.arrays.largest)).neg().exp2().to(self.arrays.dtype)

    def take(self, index: Array) -> Scaled:
        return self._of(self.arrays.take(self.log, index))

    def joined(self, others: Sequence[Scaled]) -> Scaled:
        return self._of(self.arrays.xp.concat([self.log, *map(self._log, others)]))

    def capped_products(self) -> Scaled:
        # What all the products up to there lose by the caps is what they are above one at most.
        sums = self.arrays.xp.concat([self.log.new_zeros(1), self.log]).cumsum(0)
        return self._of(sums - sums.cummax(0).values)

    def _of(self, log: Array) -> Scaled:
        return _Logarithms(self.arrays, log)

    def _log(self, other: Scaled | Array) -> Array:
        return other.log if isinstance(other, _Logarithms) else _logarithm(other)


def _logarithm(values: Array) -> Array:
    return values.double().log2()


def scaled(arrays: Arrays, values: Array) -> Scaled:
    """Plain nonnegative numbers (n,) as `Scaled` ones."""
    if arrays.exact:
        return _Rationals(arrays, values)
    if arrays.torch:
        return _Logarithms(arrays, _logarithm(values))
    return _Split(arrays, values, 0)


def join(parts: Sequence[Scaled]) -> Scaled:
    """The numbers of several vectors, one after the other."""
    first, *others = parts
    return first.joined(others)
