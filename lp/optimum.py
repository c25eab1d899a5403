"""Solve LP_1 and LP_K and prove the answer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from .antichains import violated_antichains
from .certificates import Certificate, TightAntichain
from .exact_simplex import NotCertified, exact_optimum
from .instances import Instance
from .multi_path import enumerated_program, starting_program
from .programs import BudgetVariables, LinearProgram, Row
from .rationals import Array, float_array
from .single_path import single_path_program
from .solvers import Basis, HighsSession, Solution, SolverFailure, Status

Method = Literal["cuts", "enumerate"]

Builder = Callable[[Instance], LinearProgram]
CERTIFIED = "optimal, certified"
NOT_CERTIFIED = "optimal in floats, not certified"

CUT_TOLERANCE = 1e-9
"""Relative violation from which the float phase adds an antichain; the exact phase has none."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The optimum of LP_1 or LP_K.

    Attributes:
        paths: number K of drafted paths.
        value: OPT_K: a Fraction when it is certified for an exact instance, a float otherwise.
        budgets: array (n,), optimal node budgets, exact or float like `value`.
        certificate: the verified proof, or None. For a float instance it is about the rational reading of
            the instance (`Instance.to_exact`).
        status: "optimal, certified", or "optimal in floats, not certified" with the reason.
        rows: number of constraints in the last program.
        antichains: number of antichain constraints in it.
        rounds: cutting-plane rounds; 1 without cutting planes.
    """

    paths: int
    value: Any
    budgets: Array
    certificate: Certificate | None
    status: str
    rows: int
    antichains: int
    rounds: int

    @property
    def certified(self) -> bool:
        """True when an exact certificate was verified."""
        return self.certificate is not None

    @property
    def block_efficiency(self) -> Any:
        """Expected tokens per target pass, E|Z| + 1."""
        return self.value + 1


def solve_single_path(instance: Instance, *, certify: bool = True) -> Optimum:
    """The optimum of LP_1 (section 4). See `solve_multi_path` for the arguments and errors."""
    return _solve(instance, 1, single_path_program, cuts=False, certify=certify)


def solve_multi_path(instance: Instance, paths: int, *, method: Method = "cuts", certify: bool = True) -> Optimum:
    """The optimum of LP_K, which no valid verifier with K i.i.d. drafted paths exceeds (section 4).

    Args:
        instance: exact or float. A float instance is certified on its rational reading.
        paths: number K of drafted paths.
        method: "cuts" (separation oracle, any size) or "enumerate" (every antichain, small trees).
        certify: prove the optimum in rationals; without it the answer is a float.

    Raises:
        ValueError: paths < 1, an unknown method, or too many antichains to enumerate.
        SolverFailure: the float solver reported no optimum.
    """
    if method == "cuts":
        return _solve(instance, paths, lambda inst: starting_program(inst, paths), cuts=True, certify=certify)
    if method == "enumerate":
        return _solve(instance, paths, lambda inst: enumerated_program(inst, paths), cuts=False, certify=certify)
    raise ValueError(f"method: got {method!r}; expected 'cuts' or 'enumerate'")


def _solve(instance: Instance, paths: int, build: Builder, *, cuts: bool, certify: bool) -> Optimum:
    reading = instance.to_exact() if certify else instance
    program = build(reading)
    variables = BudgetVariables(reading, paths)
    rows, solution, rounds = _solve_in_floats(reading, variables, program, cuts)
    size = {"rows": len(rows), "antichains": sum(row.kind != "target-matching" for row in rows), "rounds": rounds}
    reason = "certification was not asked for"
    if certify:
        try:
            certificate = _certify(variables, program.with_rows(rows), solution)
        except NotCertified as error:
            reason = str(error)
        else:
            value, budgets = certificate.optimum, certificate.budgets
            if not instance.exact:
                return Optimum(paths, float(value), float_array(budgets), certificate, CERTIFIED, **size)
            return Optimum(paths, value, budgets, certificate, CERTIFIED, **size)
    budgets = float_budgets(variables, solution.values)
    return Optimum(paths, solution.objective, budgets, None, f"{NOT_CERTIFIED} ({reason})", **size)


def _solve_in_floats(
    instance: Instance, variables: BudgetVariables, program: LinearProgram, cuts: bool
) -> tuple[tuple[Row, ...], Solution, int]:
    """Solve, and with `cuts` add violated antichains until the float oracle finds none."""
    rows = list(program.rows)
    known = {row.nodes for row in rows if row.kind == "antichain"}
    session = HighsSession(program)
    joint_draft = float_array(instance.joint_draft)
    for count in itertools.count(1):
        solution = session.solve()
        if solution.status is not Status.OPTIMAL:
            raise SolverFailure(f"{program.name}: the float solver said {solution.status.value!r}, not optimal")
        if not cuts:
            return tuple(rows), solution, count
        budgets = float_budgets(variables, solution.values)
        found = violated_antichains(instance.tree, budgets, joint_draft, variables.paths, CUT_TOLERANCE)
        fresh = [variables.antichain_row(a.nodes) for a in found if a.nodes not in known]
        if not fresh:  # what is still violated is in the program: the solver's own tolerance
            return tuple(rows), solution, count
        known.update(row.nodes for row in fresh)
        rows += fresh
        session.add_rows(fresh)
    raise AssertionError("unreachable")


def _certify(variables: BudgetVariables, program: LinearProgram, solution: Solution) -> Certificate:
    """Exact optimum from the float basis, with its certificate verified. Raises NotCertified."""
    instance, paths, basis = variables.instance, variables.paths, solution.basis
    if basis is None:
        raise NotCertified("the float solver gave no basis")

    def separate(values: Sequence[Fraction]) -> list[Row]:
        budgets = variables.budgets(values)
        found = violated_antichains(instance.tree, budgets, instance.joint_draft, paths)
        return [variables.antichain_row(antichain.nodes) for antichain in found]

    # Antichains that are not tight in the basis are left to the exact separation oracle.
    kept = [i for i, row in enumerate(program.rows) if row.kind == "target-matching" or not basis.rows[i]]
    small = program.with_rows(program.rows[i] for i in kept)
    found = exact_optimum(small, Basis(basis.columns, basis.rows[kept]), separate)
    antichains = [
        TightAntichain(row.nodes, dual)
        for row, dual in zip(found.rows, found.duals, strict=True)
        if row.kind != "target-matching" and dual > 0
    ]
    certificate = Certificate.build(instance, paths, variables.budgets(found.values), antichains)
    verdict = certificate.verify()
    if not verdict:
        raise NotCertified("; ".join(verdict.failures))
    return certificate


def float_budgets(variables: BudgetVariables, values: Array) -> Array:
    """float array (n,): the budgets of all nodes from a float solution."""
    budgets = np.zeros(len(variables.instance.tree))
    budgets[0] = 1.0
    budgets[variables.nodes] = values
    return budgets
