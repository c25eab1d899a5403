"""Arithmetic: one set of operations for Fractions, numpy and torch, and compiled code behind it.

Read first: `arrays.py`. `scaled.py` has numbers that neither underflow nor overflow. `kernels.py`,
`ratio_keys.py` and `skewed_sums.py` are compiled by numba where it is installed. `bootstrap.py` has intervals of
ratios.
"""

from .arrays import Array, Arrays
from .scaled import Scaled, scaled

__all__ = ["Array", "Arrays", "Scaled", "scaled"]
