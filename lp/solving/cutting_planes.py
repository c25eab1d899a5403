"""LP_K in floats by cutting planes on the separation oracle (section 8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..budgets.node_budgets import accepted_tokens, block_budgets
from ..budgets.repair import feasible_budgets
from ..drafting.antichains import Antichain
from ..drafting.problem import Problem
from ..instances.progress import progress
from ..numbers.rationals import Array
from ..programs.linear_program import BudgetVariables, LinearProgram, Row
from .sessions import HighsSession, Solution, SolverFailure, Status

TOLERANCE = 1e-9
"""Violation from which an antichain counts as violated in floats.

In probability on large trees. On small ones, of which an exact certificate is wanted, as a share of f(q(A)):
between models that hardly ever agree OPT_K itself may be 1e-6, and what floats leave violated costs exact pivots.
"""

SMALL_TREE = 1500
"""Nodes up to which a tree is small."""

CUTS_PER_ROUND = 60

LOOK_EVERY = 10
"""Rounds between two looks at the bracket, where it may be wide."""

MEMORY = 0.7
"""Weight of the past in the point that is separated; see `cutting_planes`."""

WORK_LIMIT = 300_000_000
"""Simplex iterations times rows, summed over the rounds, after which the float phase stops and says so.

Some tens of seconds. A count rather than a clock, so that the same instance gives the same answer.
"""


@dataclass(frozen=True, eq=False)
class CuttingPlanes:
    """The outcome of the float phase.

    Attributes:
        rows: the rows of the last program.
        solution: its solution.
        rounds: programs solved.
        converged: True when no antichain is violated by more than the tolerance.
        lower, upper: floats; OPT_K lies between them, up to the solver's tolerance.
        feasible: float array (n,): budgets that attain `lower`; 0 where the rounds stopped and no bracket was
            asked for.
    """

    rows: tuple[Row, ...]
    solution: Solution
    rounds: int
    converged: bool
    lower: float
    upper: float
    feasible: Array

    @property
    def cuts(self) -> int:
        """How many rows of antichains there are."""
        return sum(row.kind != "target-matching" for row in self.rows)

    @property
    def weighted(self) -> list[tuple[tuple[int, ...], float]]:
        """The rows' antichains with their multipliers in the solution."""
        pairs = zip(self.rows, self.solution.duals.tolist(), strict=True)
        return [(row.nodes, dual) for row, dual in pairs if row.kind != "target-matching"]


def cutting_planes(
    variables: BudgetVariables,
    program: LinearProgram,
    work_limit: int | None = None,
    width: float = 0.0,
) -> CuttingPlanes:
    """Solve, add the antichains that the solution violates, solve again, until none is violated.

    The oracle is asked at an average of the solutions so far rather than at the last one: solutions are
    extreme points that jump about a flat optimal face, and antichains that cut off their average are deeper.
    When these do not cut off the last solution, its own violated antichains are added.

    They stop at `work_limit`, by default `WORK_LIMIT`, or when the bracket, which is looked at every `LOOK_EVERY`
    rounds, is relatively no wider than `width`. Raises SolverFailure when the solver reports no optimum.
    """
    limit = WORK_LIMIT if work_limit is None else min(work_limit, WORK_LIMIT)
    problem, instance = variables.problem, variables.instance
    rows = list(program.rows)
    known = {row.nodes for row in rows if row.kind == "antichain"}
    session = HighsSession(program)
    small = len(instance.tree) <= SMALL_TREE
    tolerance, relative = (0.0, TOLERANCE) if small else (TOLERANCE, 0.0)
    average: Array | None = None
    feasible = block_budgets(problem.floats.instance) * 0
    feasible[0] = 1.0

    def separate(budgets: Array) -> list[Antichain]:
        return problem.violated(budgets, tolerance=tolerance, relative=relative, limit=CUTS_PER_ROUND)

    def cut_off(antichain: Antichain, budgets: Array) -> bool:
        ceiling = antichain.hit * (1 + relative) + tolerance
        return bool(budgets[list(antichain.nodes)].sum() > ceiling)

    rounds = work = 0
    bar = progress("round", what="cutting planes")
    while True:
        solution = optimal(session.solve(), program)
        rounds += 1
        bar.update()
        work += (solution.iterations or 0) * len(rows)
        last = float_budgets(variables, solution.values)
        average = last if average is None else MEMORY * average + (1 - MEMORY) * last
        broken = separate(last)
        fresh = [antichain for antichain in separate(average) if antichain.nodes not in known]
        if not any(cut_off(antichain, last) for antichain in fresh):
            taken = {antichain.nodes for antichain in fresh}
            fresh += [a for a in broken if a.nodes not in known and a.nodes not in taken]
        if not broken or not fresh or work > limit:
            break
        if width and rounds % LOOK_EVERY == 0:
            feasible = _best_repaired(problem, feasible, (last, average))
            if solution.objective - float(accepted_tokens(feasible)) <= width * solution.objective:
                break
        known.update(antichain.nodes for antichain in fresh)
        new_rows = [variables.antichain_row(a.nodes, None if instance.exact else a.hit) for a in fresh]
        rows += new_rows
        session.add_rows(new_rows)
    bar.close()
    converged = not broken or not fresh  # without fresh ones, what is left is the solver's own tolerance
    if converged:
        feasible = last
    elif width:
        feasible = _best_repaired(problem, feasible, (last, average))
    lower = float(accepted_tokens(feasible))
    return CuttingPlanes(tuple(rows), solution, rounds, converged, lower, solution.objective, feasible)


def optimal(solution: Solution, program: LinearProgram) -> Solution:
    """The solution, if the solver reported an optimum; SolverFailure otherwise."""
    if solution.status is not Status.OPTIMAL:
        raise SolverFailure(f"{program.name}: the float solver said {solution.status.value!r}, not optimal")
    return solution


def float_budgets(variables: BudgetVariables, values: Array) -> Array:
    """float array (n,): the budgets of all nodes from a float solution."""
    budgets = np.zeros(len(variables.instance.tree))
    budgets[0] = 1.0
    budgets[variables.nodes] = values
    return budgets


def _best_repaired(problem: Problem, feasible: Array, found: tuple[Array, ...]) -> Array:
    """The best of feasible budgets and of others after they have been made feasible."""
    repaired = [feasible_budgets(problem.floats, budgets) for budgets in found]
    return max((feasible, *repaired), key=lambda budgets: float(budgets[1:].sum()))
