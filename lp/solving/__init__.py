"""Solving: the float solvers, cutting planes, and the programs of large trees.

Read first: `cutting_planes.py`. `solvers.py` is the only file that talks to HiGHS, scipy and cvxpy; `slopes.py` has
the form in which large trees are solved.
"""

from .sessions import Basis, Solution, SolverFailure, Status
from .solvers import solve

__all__ = ["Basis", "Solution", "SolverFailure", "Status", "solve"]
