"""The one boundary between the three kinds of number: Fraction, flint's fmpq, and float.

`Fraction` is the type in every public signature. flint's `fmpq` is ten times faster and does the heavy
exact arithmetic inside; it must never leak, because ``fmpq(1, 3) == Fraction(1, 3)`` is silently False.
Exact arrays are numpy arrays of dtype object that hold Fractions; float arrays are float64.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpz

Array = np.ndarray[Any, np.dtype[Any]]


# One rule for numbers in files and options: the digits 0 to 9, without separators. Python's own int, float and
# Fraction would also take 1_000 and the digits of other scripts.
INTEGER = re.compile(r"[+-]?[0-9]+")
PLAIN = re.compile(r"([+-]?[0-9]+)(?:/([0-9]+))?")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")

LONGEST = 1_000_000
"""Most characters of a rational that is read; certificates of float instances have thousands of digits."""

LARGEST_EXPONENT = 4000


def parse_rational(value: object, where: str) -> Fraction:
    """Read a rational from a string such as ``"2/3"`` or ``"0.25"``, an int, or a Fraction.

    Raises ValueError, naming `where`, for anything that is not a finite rational.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    found = read_rational(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(
            f'{where}: got {shortened(value)}; expected a rational in the digits 0 to 9, such as "2/3", "0.25" or 1'
        )
    return found


def read_integer(text: str) -> int | None:
    """The integer that a text stands for; None where it is none, or has more digits than `int` reads."""
    try:
        return int(text) if INTEGER.fullmatch(text.strip()) else None
    except ValueError:
        return None


def read_float(text: str) -> float | None:
    """The float nearest to a decimal such as 0.5 or 1e-6; None for any other text, infinity and NaN included."""
    return float(text) if DECIMAL.fullmatch(text.strip()) else None


def read_rational(text: str) -> Fraction | None:
    """The rational that a text stands for; None where it is none, or one of absurd size."""
    if len(text) > LONGEST:
        return None
    plain = PLAIN.fullmatch(text.strip())
    if plain:  # through flint: Python's own conversion stops at 4300 digits
        denominator = fmpz(plain[2] or "1")
        return to_fraction(fmpq(fmpz(plain[1].removeprefix("+")), denominator)) if denominator else None
    decimal = DECIMAL.fullmatch(text.strip())
    if decimal is None or len(text) > LARGEST_EXPONENT:
        return None
    exponent = decimal[1] or "0"
    return Fraction(text) if len(exponent) <= 6 and abs(int(exponent)) <= LARGEST_EXPONENT else None


def shortened(value: object) -> str:
    """How a value is shown in a message: its repr, cut when it is long."""
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"


def format_rational(value: Fraction) -> str:
    """The exact text of a rational, ``"a/b"`` or ``"a"``; `parse_rational` reads it back."""
    if not isinstance(value, Fraction):
        raise TypeError(f"got {type(value).__name__}; only a Fraction has an exact text")
    return str(to_fmpq(value))


def shown(value: Any) -> str:
    """A number in a message: cut where it has more digits than anybody reads, and than `str` of an int would do."""
    return _cut(format_rational(value)) if isinstance(value, Fraction) else str(value)


def is_exact(values: Array) -> bool:
    """True for an array of rationals (dtype object), False for floats."""
    return bool(values.dtype == object)


def exact_array(values: Iterable[Any]) -> Array:
    """A one-dimensional exact array of Fractions, from ints, Fractions, fmpq numbers or floats.

    Floats are taken as the dyadic rational that they are; nothing is rounded.
    """
    return fill([to_fraction(v) for v in values])


def fill(values: list[Any]) -> Array:
    """A one-dimensional object array with exactly these entries (numpy would unpack sequences)."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def to_fraction(value: Any) -> Fraction:
    """One number as a Fraction, without rounding."""
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    return Fraction(value)


def to_fmpq(value: Any) -> fmpq:
    """One Fraction or int as flint's rational; ValueError for a float, which would not be exact."""
    if isinstance(value, float | np.floating):
        raise ValueError(
            f"got the float {value} among rationals; exact arithmetic needs a Fraction or an int"
        )
    return fmpq(value.numerator, value.denominator)


def fmpq_array(values: Iterable[Any]) -> Array:
    """An object array of fmpq numbers from Fractions and ints: for arithmetic inside a function only."""
    return fill([v if isinstance(v, fmpq) else to_fmpq(v) for v in values])


def float_array(values: Array) -> Array:
    """The nearest floats."""
    if not is_exact(values):
        return values.astype(np.float64, copy=False)
    return np.array([float(to_fraction(v)) for v in values.ravel()], dtype=np.float64).reshape(values.shape)


def fast(values: Array) -> Array:
    """The array to compute with: fmpq numbers for an exact array, the same floats otherwise."""
    return fmpq_array(values) if is_exact(values) else values


def settled(values: Array) -> Array:
    """The array to hand out: Fractions for an array of `fast` numbers, the same floats otherwise."""
    return exact_array(values) if is_exact(values) else values


def constant(like: Array, value: int) -> Array:
    """An array of `value` of the same length and kind (exact or float) as `like`."""
    if is_exact(like):
        return fill([Fraction(value)] * like.size)
    return np.full(like.size, float(value))
