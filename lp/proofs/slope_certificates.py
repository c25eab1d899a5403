"""Certified optima of larger trees: from the duals of the slope programs to a certificate (statements 8.2 and 9.1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..drafting.problem import Problem
from ..instances.trees import PrefixTree
from ..numbers.rationals import Array
from ..programs.linear_program import BudgetVariables
from ..solving.cutting_planes import optimal
from ..solving.sessions import HighsSession, SolverFailure
from .certificates import Certificate, TightAntichain
from .exact_simplex import NotCertified, exact_optimum
from .face_points import point_inside
from .optimal_faces import OptimalFace

FINENESS = 1e-6
"""Of the slope programs: what they leave to improbable nodes costs rounds and exact pivots here."""

SAME = 1e-7
"""Difference of cumulated weights that counts as rounding; the weight of a token is about one."""

NEAR = 1e-6
"""Slack, as a share, below which an antichain of nearly optimal budgets is taken along."""

GAIN = 2**20
"""The float solver sees costs times this: its dual tolerance is absolute, and improbable nodes have tiny costs."""

ROUNDS = 8
"""Exact programs solved before the attempt is given up."""

AT_ONCE = 50
"""Violated antichains that the exact oracle adds together."""

PIVOT_WORK = 20_000
"""Exact pivots times variables, in all rounds: some seconds."""


def level_antichains(tree: PrefixTree, weights: Array) -> list[tuple[int, ...]]:
    """The antichains A_t of statement 9.1, for t from 0 up: those nodes with W(parent of z) <= t < W(z).

    Args:
        tree: the prefix tree.
        weights: float array (n,); the root's entry is ignored, and so are those up to `SAME`.
    """
    total = np.where(weights > SAME, weights, 0.0)
    total[0] = 0.0
    for d in range(2, tree.depth + 1):
        nodes = tree.level(d)
        total[nodes] += total[tree.parent[nodes]]
    above = total[tree.parent]
    above[0] = 0.0
    values = np.unique(total[total > above])
    ends = values[np.append(np.diff(values) > SAME, True)[: len(values)]]
    middles = (np.append(0.0, ends[:-1]) + ends) / 2 if len(ends) else ends
    return [tuple(np.flatnonzero((above <= t) & (t < total)).tolist()) for t in middles]


def certificate_from_slopes(problem: Problem, weights: Array, near: Array) -> tuple[Certificate, int, int]:
    """A verified certificate of OPT_K, the rounds it took, and the antichain rows of the last one.

    A dual solution needs only a chain of antichains (statement 9.1), which the weights of a float one name. With
    their rows alone LP_K is solved exactly, and its duals prove a bound. Feasible budgets that attain it lie on the
    face that the duals leave (`point_inside`). Antichains that leave no room for them become further rows.

    Args:
        problem: an exact instance with at least 2 i.i.d. paths.
        weights, near: float arrays (n,): `weights` and `feasible` of a `FloatBracket`.

    Raises NotCertified when no certificate was reached.
    """
    variables, close = BudgetVariables(problem), problem.violated(near * (1 + NEAR))
    known = dict.fromkeys(
        [*level_antichains(problem.instance.tree, weights), *(antichain.nodes for antichain in close)]
    )
    rows = [*variables.target_matching_rows(), *(variables.antichain_row(nodes) for nodes in known)]
    program = variables.program(f"{problem.program}, some antichains", rows)
    session = HighsSession(replace(program, costs=program.costs * GAIN))
    pivots = max(10, PIVOT_WORK // max(1, len(program.variables)))
    for done in range(1, ROUNDS + 1):
        try:
            basis = optimal(session.solve(), program).basis
        except SolverFailure as error:
            raise NotCertified(str(error)) from None
        assert basis is not None
        found = exact_optimum(program, basis, pivot_limit=pivots)
        pivots -= found.pivots
        tight = [
            TightAntichain(row.nodes, dual)
            for row, dual in zip(found.rows, found.duals, strict=True)
            if row.kind == "antichain" and dual > 0
        ]
        try:
            inside = point_inside(OptimalFace(problem.instance, problem.iid_paths(), tight, near), known)
        except np.linalg.LinAlgError as error:
            raise NotCertified(str(error)) from None
        fresh = dict.fromkeys(inside.antichains)
        if inside.budgets is not None:
            certificate = Certificate.build(problem.instance, problem.drafting, inside.budgets, tight)
            if certificate.verify():
                return certificate, done, len(known)
            broken = problem.violated(inside.budgets, limit=AT_ONCE)
            fresh = dict.fromkeys(antichain.nodes for antichain in broken)
        new = [nodes for nodes in fresh if nodes not in known]
        if not new:
            raise NotCertified("no feasible budgets were found that attain the bound of the exact duals")
        known.update(dict.fromkeys(new))
        rows = [variables.antichain_row(nodes) for nodes in new]
        session.add_rows(rows)
        program = replace(program, rows=(*program.rows, *rows))
    raise NotCertified(f"the slope programs led to no certificate within {ROUNDS} rounds")
