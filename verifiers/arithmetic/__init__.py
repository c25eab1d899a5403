"""Arithmetic: one set of operations for Fractions, numpy and torch, and compiled code behind it.

Read first: `arrays.py`. `extended.py` has numbers that neither underflow nor overflow; `kernels.py` and
`rank_kernels.py` are compiled by numba where it is installed; `bootstrap.py` has intervals of ratios.
"""

from .arrays import Array, Arrays
from .extended import Extended, extended

__all__ = ["Array", "Arrays", "Extended", "extended"]
