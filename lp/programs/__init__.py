"""Programs: the linear programs as plain data, each row with the statement that it comes from.

Read first: `readable.py`, LP_1 and LP_K in a dozen lines of cvxpy each. `multi_path.py` is where LP_K is assembled,
`single_path.py` LP_1, `verifier_lp.py` the program from first principles.
"""

from .linear_program import LinearProgram, Row
from .multi_path import enumerated_program, starting_program
from .single_path import single_path_program
from .verifier_lp import tied_verifier_program, verifier_budgets, verifier_program

__all__ = [
    "LinearProgram",
    "Row",
    "enumerated_program",
    "single_path_program",
    "starting_program",
    "tied_verifier_program",
    "verifier_budgets",
    "verifier_program",
]
