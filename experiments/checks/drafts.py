"""Checks of section 13: the optimum for any draft."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from nodebudget.lp import (
    Instance,
    Optimum,
    accepted_tokens,
    block_budgets,
    count_antichains,
    enumerate_antichains,
    solve,
    solve_multi_path,
    verifier_program,
)
from nodebudget.lp.drafting import (
    Delayed,
    Drafting,
    FixedTree,
    Likeliest,
    LikeliestAndSample,
    ListedTrees,
    WithoutReplacement,
    WithReplacement,
    best_tree,
)
from nodebudget.lp.drafting.tuples import prefixes
from nodebudget.lp.numbers.rationals import Array, exact_array
from nodebudget.lp.proofs.exact_simplex import exact_optimum
from nodebudget.lp.selection.transport import path_law_from_transport, transport_to_trees

from .grid import Case, Grid, random_budgets
from .statement import Outcome, Statement

NODES = 13
"""Nodes of the trees that these checks go through: V = 3, L = 2 at most."""

TREES = 30
"""Drafted trees up to which the first-principles program is solved."""

ANTICHAINS = 200
"""Antichains up to which all of them are looked at: all trees but those of V = 3, L = 2."""


def draftings(instance: Instance) -> list[Drafting]:
    """One of each kind, for an instance's depth."""
    ones = (1,) * (instance.depth - 1)
    likely = best_tree(instance, 3, by="draft")
    listed = ListedTrees([(best_tree(instance, 2), Fraction(1, 3)), (likely, Fraction(2, 3))])
    kinds = (WithReplacement, WithoutReplacement, LikeliestAndSample, Likeliest)
    found: list[Drafting] = [kind(2, *ones) for kind in kinds]
    if ones:
        found += [Delayed(1, 2), WithReplacement(1, 2, *ones[1:])]
    return [*found, best_tree(instance, 3), listed]


def cases(grid: Grid) -> Iterator[tuple[Case, Drafting]]:
    """Every second small case with every drafting."""
    small = [case for case in grid.cases if len(case.instance.tree) <= NODES]
    for case in small[::2]:
        yield from ((case, drafting) for drafting in draftings(case.instance))


def certified(case: Case, drafting: Drafting) -> Optimum:
    found = solve_multi_path(case.instance, drafting)
    if not found.certified:
        raise ArithmeticError(f"{case.label}, {drafting}: {found.verdict}")
    return found


def optimum(case: Case, drafting: Drafting) -> Any:
    return certified(case, drafting).value


def check_transport(grid: Grid) -> Outcome:
    outcome, rng, realised = Outcome(), np.random.default_rng(31), 0
    for case, drafting in cases(grid):
        tree = case.instance.tree
        if count_antichains(tree) > ANTICHAINS:
            continue
        hits = {nodes: drafting.hit_probability(case.instance, nodes) for nodes in enumerate_antichains(tree)}
        candidates = [random_budgets(case.instance, rng, eagerness) for eagerness in (0, 4)]
        candidates.append(certified(case, drafting).budgets)
        for budgets in candidates:
            outcome.instances += 1
            carried = transport_to_trees(case.instance, budgets, drafting).complete
            allowed = all(sum((budgets[z] for z in nodes), Fraction(0)) <= hit for nodes, hit in hits.items())
            realised += carried
            outcome.expect(
                carried == allowed, f"{case.label}, {drafting}: transport {carried}, antichains {allowed}"
            )
    outcome.expect(0 < realised < outcome.instances, "both feasible and infeasible budgets must be tried")
    outcome.note = f"{realised} of the budgets can be realised"
    return outcome


def picked_value(case: Case, nu: Array) -> Fraction:
    """What block verification of a picked path accepts, nu(z) being the probability that it passes z."""
    return Fraction(accepted_tokens(block_budgets(case.instance, nu)))


def check_picked_paths(grid: Grid) -> Outcome:
    """Picking a maximal path through where the optimum stops, block verification attains it; another rule does not
    beat it."""
    outcome = Outcome()
    for case, drafting in cases(grid):
        outcome.instances += 1
        best, last = optimum(case, drafting), [Fraction(0)] * len(case.instance.tree)
        carried = transport_to_trees(case.instance, certified(case, drafting).budgets, drafting)
        nu = path_law_from_transport(case.instance, carried)
        outcome.equal(picked_value(case, nu), best, f"{case.label}, {drafting}")
        for nodes, mass in drafting.trees(case.instance):
            for z in prefixes(case.instance, (nodes[-1],)):
                last[z] += mass
        plain = picked_value(case, exact_array(last))
        outcome.expect(plain <= best, f"{case.label}, {drafting}: {plain} is more than the optimum {best}")
    return outcome


def check_first_principles(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, drafting in cases(grid):
        if len(list(itertools.islice(drafting.trees(case.instance), TREES + 1))) > TREES:
            continue
        outcome.instances += 1
        program = verifier_program(case.instance, drafting)
        basis = solve(program).basis
        assert basis is not None
        outcome.equal(
            exact_optimum(program, basis).value, optimum(case, drafting), f"{case.label}, {drafting}"
        )
    return outcome


def check_hits(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, drafting in cases(grid):
        outcome.instances += 1
        law = dict(drafting.trees(case.instance))
        for nodes in itertools.islice(enumerate_antichains(case.instance.tree), 1, None, 5):
            listed = sum((mass for tree, mass in law.items() if not set(tree).isdisjoint(nodes)), Fraction(0))
            outcome.equal(
                drafting.hit_probability(case.instance, nodes), listed, f"{case.label}, {drafting}, {nodes}"
            )
    return outcome


def check_fixed_trees(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, drafting in cases(grid):
        if isinstance(drafting, FixedTree):
            outcome.instances += 1
            mass = sum(
                (case.instance.joint_target[z] for z in drafting.nodes(case.instance) - {0}), Fraction(0)
            )
            outcome.equal(optimum(case, drafting), mass, f"{case.label}, {drafting}")
    return outcome


def check_lossless_given_the_tree(grid: Grid) -> Outcome:
    """What NSS accepts, the expected target mass of the drafted tree, is at most the optimum; less somewhere."""
    outcome, less = Outcome(), 0
    for case, drafting in cases(grid):
        outcome.instances += 1
        naive = sum(
            (
                mass * case.instance.joint_target[z]
                for tree, mass in drafting.trees(case.instance)
                for z in tree[1:]
            ),
            Fraction(0),
        )
        best = optimum(case, drafting)
        outcome.expect(naive <= best, f"{case.label}, {drafting}: {naive} is more than the optimum {best}")
        less += naive < best
    outcome.note = f"below the optimum in {less} of {outcome.instances}"
    return outcome


def check_separation(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, drafting in cases(grid):
        outcome.instances += 1
        listed = solve_multi_path(case.instance, drafting, method="enumerate").value
        outcome.equal(optimum(case, drafting), listed, f"{case.label}, {drafting}")
    return outcome


STATEMENTS = (
    Statement("13.1", "any draft: budgets can be realised iff D(A) <= F(A)", check_transport),
    Statement("13.2", "F(A) of trees grown node by node", check_hits),
    Statement("13.3", "a fixed tree is worth its target mass", check_fixed_trees),
    Statement("13.4", "lossless given the tree: at most its target mass", check_lossless_given_the_tree),
    Statement("13.5", "any draft: the best rule for BV attains the optimum", check_picked_paths),
    Statement("13.6", "any draft: LP = verifier LP", check_first_principles),
    Statement("13.7", "separation without listing antichains", check_separation),
)
