"""Checks of sections 2, 3 and 8: budgets, antichains, the separation oracle."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from flint import fmpq
from nodebudget.lp import (
    Instance,
    PrefixTree,
    count_antichains,
    enumerate_antichains,
    hit_probability,
    is_antichain,
    solve,
    solve_single_path,
    target_matching_violation,
    transport_stop_mass,
    verifier_budgets,
    verifier_program,
    violated_antichains,
)
from nodebudget.lp.numbers.rationals import Array, fast
from nodebudget.lp.proofs.exact_simplex import exact_optimum

from .grid import PATHS, Case, Grid, random_budgets
from .statement import Outcome, Statement

TUPLE_LIMIT = 100
ANTICHAIN_LIMIT = 1000


def output_law(instance: Instance, budgets: Array) -> dict[tuple[int, ...], Fraction]:
    """The law of the next L + 1 tokens when Pr[Z=z, Y=y] = D(z) p(y|z) - D(zy), the rest drawn from the target."""
    tree = instance.tree
    law: dict[tuple[int, ...], Fraction] = {}
    for tokens in itertools.product(range(tree.vocab), repeat=tree.depth + 1):
        mass, reached = Fraction(0), Fraction(0)
        node = 0
        for y in tokens:
            row = instance.target_law(node)
            below = tree.find((*tree.path(node), y)) if node not in tree.leaves else None
            child_budget = budgets[below] if below is not None else Fraction(0)
            reached = reached * row[y]  # left the draft earlier, then drew y from the target
            mass = budgets[node] * row[y] - child_budget
            reached += mass
            node = below if below is not None else node
        law[tokens] = reached
    return law


def target_block_law(instance: Instance) -> dict[tuple[int, ...], Fraction]:
    """The target's own law of L + 1 tokens."""
    tree = instance.tree
    law = {}
    for tokens in itertools.product(range(tree.vocab), repeat=tree.depth + 1):
        node = tree.find(tokens[:-1])
        assert node is not None
        law[tokens] = instance.joint_target[node] * instance.target_law(node)[tokens[-1]]
    return law


def check_target_matching(grid: Grid) -> Outcome:
    outcome = Outcome()
    rng = np.random.default_rng(22)
    for case in grid.cases:
        if case.instance.vocab ** (case.instance.depth + 1) > 100:
            continue
        outcome.instances += 1
        budgets = random_budgets(case.instance, rng, eagerness=1)
        outcome.expect(target_matching_violation(case.instance, budgets) is None, f"{case.label}: not (2.2)")
        raised = budgets.copy()
        raised[-1] = budgets[-1] + 1
        broken = target_matching_violation(case.instance, raised)
        outcome.expect(broken is not None, f"{case.label}: a budget above p(y|z) D(z) was let pass")
        got, wanted = output_law(case.instance, budgets), target_block_law(case.instance)
        outcome.deviation = max(outcome.deviation, *(abs(got[t] - wanted[t]) for t in wanted))
        outcome.expect(got == wanted, f"{case.label}: budgets that meet (2.2) gave another output law")
    for case in grid.small(TUPLE_LIMIT, 2):
        program = verifier_program(case.instance, 2)
        basis = solve(program).basis
        assert basis is not None
        budgets = verifier_budgets(case.instance, program, exact_optimum(program, basis).values)
        outcome.expect(
            target_matching_violation(case.instance, budgets) is None,
            f"{case.label}: the budgets of a valid algorithm break (2.2)",
        )
    return outcome


def check_transport(grid: Grid) -> Outcome:
    outcome = Outcome()
    rng = np.random.default_rng(31)
    realised = 0
    for case, paths in itertools.product(grid.cases, (1, 2, 3)):
        count = count_antichains(case.instance.tree)
        if case.drafted_paths**paths > TUPLE_LIMIT or count > ANTICHAIN_LIMIT:
            continue
        candidates = [random_budgets(case.instance, rng, eagerness) for eagerness in (0, 4)]
        candidates.append(grid.optimum(case, paths).budgets)
        for budgets in candidates:
            outcome.instances += 1
            carried = transport_stop_mass(case.instance, budgets, paths).complete
            allowed = not _violated_by_enumeration(case, budgets, paths)
            realised += carried
            outcome.expect(
                carried == allowed, f"{case.label}, K={paths}: transport {carried}, antichains {allowed}"
            )
    outcome.expect(0 < realised < outcome.instances, "both feasible and infeasible budgets must be tried")
    outcome.note = f"{realised} of the budgets can be realised"
    return outcome


def check_one_path(grid: Grid) -> Outcome:
    outcome = Outcome()
    rng = np.random.default_rng(32)
    for case in grid.cases:
        instance = case.instance
        for eagerness in (0, 6):
            outcome.instances += 1
            budgets = random_budgets(instance, rng, eagerness)
            nodewise = bool((budgets <= instance.joint_draft).all())
            oracle = not violated_antichains(instance.tree, budgets, instance.joint_draft, 1)
            outcome.expect(nodewise == oracle, f"{case.label}: nodes say {nodewise}, antichains {oracle}")
        outcome.equal(
            solve_single_path(instance).value, grid.value(case, 1), f"{case.label}: LP_1 and LP_K at K=1"
        )
    return outcome


def check_count(grid: Grid) -> Outcome:
    outcome = Outcome()
    for vocab, depth in ((2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2)):
        tree = PrefixTree.full(vocab, depth)
        recursion = 2
        for _ in range(depth):
            recursion = recursion**vocab + 1
        outcome.instances += 1
        outcome.equal(count_antichains(tree), recursion, f"V={vocab} L={depth}")
        if recursion > 100_000:
            continue
        listed = list(enumerate_antichains(tree))
        outcome.equal(len(listed), recursion, f"V={vocab} L={depth}, listed")
        outcome.expect(
            len({frozenset(a) for a in listed}) == len(listed), f"V={vocab} L={depth}: one listed twice"
        )
        if recursion < ANTICHAIN_LIMIT:
            outcome.expect(
                all(is_antichain(tree, a) for a in listed), f"V={vocab} L={depth}: not an antichain"
            )
    return outcome


def check_oracle(grid: Grid) -> Outcome:
    outcome = Outcome()
    rng = np.random.default_rng(81)
    broken = 0
    for case, paths in itertools.product(grid.cases, PATHS):
        if count_antichains(case.instance.tree) > ANTICHAIN_LIMIT:
            continue
        optimal = grid.optimum(case, paths).budgets
        for budgets in (
            random_budgets(case.instance, rng, 0),
            random_budgets(case.instance, rng, 3),
            optimal,
        ):
            outcome.instances += 1
            found = violated_antichains(case.instance.tree, budgets, case.instance.joint_draft, paths)
            listed = _violated_by_enumeration(case, budgets, paths)
            broken += listed
            outcome.expect(
                bool(found) == listed, f"{case.label}, K={paths}: oracle {bool(found)}, list {listed}"
            )
            honest = all(a.budget > hit_probability(a.draft_mass, paths) for a in found)
            outcome.expect(honest, f"{case.label}, K={paths}: the oracle returned a satisfied antichain")
    outcome.expect(0 < broken < outcome.instances, "both feasible and infeasible budgets must be tried")
    outcome.note = f"{outcome.instances - broken} of the budgets are feasible"
    return outcome


def _violated_by_enumeration(case: Case, budgets: Array, paths: int) -> bool:
    joint, values = fast(case.instance.joint_draft), fast(budgets)
    for nodes in enumerate_antichains(case.instance.tree):
        draft_mass = sum((joint[z] for z in nodes), fmpq(0))
        if sum((values[z] for z in nodes), fmpq(0)) > hit_probability(draft_mass, paths):
            return True
    return False


STATEMENTS = (
    Statement(
        "2.2", "budgets with D(root) = 1 and 0 <= D(zy) <= p(y|z) D(z) are those of target-matching algorithms",
        check_target_matching,
    ),
    Statement(
        "3.1", "budgets can be realised with prefixes of drafted paths iff D(A) <= f(q(A)) for every antichain",
        check_transport,
    ),
    Statement("3.2", "on one path the antichain conditions are D(z) <= q(z) at each node", check_one_path),
    Statement("3.3", "the antichains number a_(i+1) = a_i^V + 1, from a_0 = 2", check_count),
    Statement("8.1", "budgets are feasible iff every vertex of the hull of (q(A), D(A)) is", check_oracle),
)  # fmt: skip
