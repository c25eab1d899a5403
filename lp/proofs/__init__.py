"""Proofs: what is shown in rationals, without trust in a solver.

Read first: `certificates.py`. A certificate comes from the final basis (`exact_simplex.py`) or, on larger trees, from
the slope programs (`slope_certificates.py`, `optimal_faces.py`, `face_points.py`); `proven.py` has the two ends of a
bracket where there is none.
"""

from .certificates import Certificate, TightAntichain, Verdict, dual_bound
from .exact_simplex import ExactOptimum, NotCertified, exact_optimum
from .proven import proven_lower_bound, proven_upper_bound

__all__ = [
    "Certificate",
    "ExactOptimum",
    "NotCertified",
    "TightAntichain",
    "Verdict",
    "dual_bound",
    "exact_optimum",
    "proven_lower_bound",
    "proven_upper_bound",
]
