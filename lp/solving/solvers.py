"""Solving a program in floats by one of three engines, which must agree: HiGHS, scipy and cvxpy."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..instances.arguments import check_kind
from ..programs.linear_program import LinearProgram, float_costs
from .sessions import FEASIBILITY, HighsSession, Solution, Status, scaled

Engine = Literal["highs", "scipy", "cvxpy"]


def solve(program: LinearProgram, engine: Engine = "highs") -> Solution:
    """Solve a program in floats.

    Args:
        program: the program; exact numbers are rounded to floats here.
        engine: "highs" (simplex, with basis), "scipy" (linprog) or "cvxpy"; the same data goes to all three.

    Raises ValueError for an unknown engine. Read `status` before the values.
    """
    check_kind(
        "program", program, LinearProgram, "a LinearProgram, as single_path_program(instance) gives it"
    )
    if engine == "highs" or not program.variables:  # HiGHS knows the empty program, the others do not
        return HighsSession(program).solve()
    if engine == "scipy":
        return _solve_scipy(program)
    if engine == "cvxpy":
        return _solve_cvxpy(program)
    raise ValueError(f"engine: got {engine!r}; expected highs, scipy or cvxpy")


def _solve_scipy(program: LinearProgram) -> Solution:
    from scipy.optimize import linprog

    matrix, scale = scaled(program.matrix, program.units)
    bounds, equal = program.bounds * scale, program.equality
    found = linprog(
        -float_costs(program) * program.units,
        A_ub=matrix[~equal] if (~equal).any() else None,
        b_ub=bounds[~equal] if (~equal).any() else None,
        A_eq=matrix[equal] if equal.any() else None,
        b_eq=bounds[equal] if equal.any() else None,
        method="highs-ds",
        options={"primal_feasibility_tolerance": FEASIBILITY, "dual_feasibility_tolerance": FEASIBILITY},
    )
    status = {0: Status.OPTIMAL, 2: Status.INFEASIBLE, 3: Status.UNBOUNDED}.get(found.status, Status.UNKNOWN)
    if status is not Status.OPTIMAL:
        return Solution(
            status, np.nan, np.full(len(program.variables), np.nan), np.full(len(program.rows), np.nan)
        )
    duals = np.zeros(len(program.rows))
    duals[~equal], duals[equal] = -found.ineqlin.marginals, -found.eqlin.marginals
    return Solution(status, -float(found.fun), found.x * program.units, duals * scale)


def _solve_cvxpy(program: LinearProgram) -> Solution:
    import cvxpy as cp

    matrix, scale = scaled(program.matrix, program.units)
    bounds, equal = program.bounds * scale, program.equality
    x = cp.Variable(len(program.variables), nonneg=True)
    parts = [(mask, form) for mask, form in ((~equal, "<="), (equal, "==")) if mask.any()]
    constraints = [
        matrix[mask] @ x <= bounds[mask] if form == "<=" else matrix[mask] @ x == bounds[mask]
        for mask, form in parts
    ]
    problem = cp.Problem(cp.Maximize((float_costs(program) * program.units) @ x), constraints)
    options = {"primal_feasibility_tolerance": FEASIBILITY, "dual_feasibility_tolerance": FEASIBILITY}
    problem.solve(solver=cp.HIGHS, **options)
    status = {
        cp.OPTIMAL: Status.OPTIMAL, cp.INFEASIBLE: Status.INFEASIBLE, cp.UNBOUNDED: Status.UNBOUNDED
    }.get(problem.status, Status.UNKNOWN)  # fmt: skip
    if status is not Status.OPTIMAL:
        return Solution(
            status, np.nan, np.full(len(program.variables), np.nan), np.full(len(program.rows), np.nan)
        )
    duals = np.zeros(len(program.rows))
    for (mask, _), constraint in zip(parts, constraints, strict=True):
        duals[mask] = constraint.dual_value
    return Solution(status, float(problem.value), np.asarray(x.value) * program.units, duals * scale)
