"""LP_K as plain data: with every antichain, or with the rows from which cutting planes start (section 4)."""

from __future__ import annotations

from ..drafting.antichains import count_antichains, enumerate_antichains
from ..drafting.problem import Problem
from ..drafting.specs import Drafted, as_drafting
from ..instances.instance import Instance
from ..instances.trees import approximately
from .linear_program import BudgetVariables, LinearProgram

ENUMERATION_LIMIT = 1_000_000
"""Most antichains that the enumerated program is built with."""


def enumerated_program(instance: Instance, paths: Drafted) -> LinearProgram:
    """LP_K with every antichain written out: maximise the sum of D(z) over z != root, subject to

        D(zy) <= p(y|z) D(z)     target-matching (2.2), with D(root) = 1
        D(A)  <= F(A)            for every antichain A of nodes (3.1, 13.1)

    F(A) is the probability that what is drafted meets A: f(q(A)), f(t) = 1 - (1 - t)^K, for K i.i.d. paths. `paths` is
    their number or any drafting.

    Raises ValueError when the tree of live nodes has more than `ENUMERATION_LIMIT` antichains.
    """
    problem = Problem(instance, as_drafting(paths))
    variables = BudgetVariables(problem)
    live, old = instance.tree.restrict(problem.live)
    count = count_antichains(live)
    if count > ENUMERATION_LIMIT:
        raise ValueError(
            f"the tree has {approximately(count)} antichains; at most {ENUMERATION_LIMIT} are enumerated "
            "(use the cutting-plane method)"
        )
    rows = variables.target_matching_rows()
    names = old.tolist()
    for nodes in enumerate_antichains(live):
        if nodes and nodes != (0,):
            rows.append(variables.antichain_row(tuple(names[node] for node in nodes)))
    return variables.program(f"{problem.program}, enumerated", rows)


def starting_program(instance: Instance, paths: Drafted) -> LinearProgram:
    """LP_K with the antichains of a single node only: where the cutting planes start."""
    problem = Problem(instance, as_drafting(paths))
    variables = BudgetVariables(problem)
    rows = variables.target_matching_rows()
    rows += [variables.antichain_row((node,)) for node in variables.nodes.tolist()]
    return variables.program(f"{problem.program}, cutting planes", rows)
