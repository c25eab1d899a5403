"""Numbers: the one boundary between `Fraction`, flint's `fmpq` and float, and exact linear algebra.

Read first: `rationals.py`.
"""

from .exact_linear import SingularError, solve_square
from .rationals import exact_array, float_array, format_rational, is_exact, parse_rational, to_fraction

__all__ = [
    "SingularError",
    "exact_array",
    "float_array",
    "format_rational",
    "is_exact",
    "parse_rational",
    "solve_square",
    "to_fraction",
]
