"""LP_1, the single-path information-agnostic linear program (section 4)."""

from __future__ import annotations

from ..drafting.problem import Problem
from ..drafting.replacement import IidPaths
from ..instances.instance import Instance
from .linear_program import BudgetVariables, LinearProgram


def single_path_program(instance: Instance) -> LinearProgram:
    """LP_1: maximise the sum of D(z) over z != root, subject to

        D(zy) <= p(y|z) D(z)     target-matching (2.2), with D(root) = 1
        D(z)  <= q(z)            prefix-matching on one path (3.2)

    One variable per node with target and draft mass; exact where the instance is.
    """
    variables = BudgetVariables(Problem(instance, IidPaths(1)))
    rows = variables.target_matching_rows() + variables.prefix_matching_rows()
    return variables.program("LP_1", rows)
