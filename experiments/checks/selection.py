"""Checks of section 6: skewed drafts, the base polytope, greedy multi-path selection."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from nodebudget.lp import (
    accepted_tokens,
    block_budgets,
    greedy_skewed_draft,
    hit_probability,
    ranked_skewed_draft,
    selection_from_transport,
    stable_greedy_skewed_draft,
    transport_stop_mass,
)
from nodebudget.lp.drafting.tuples import drafted_tuples, prefixes
from nodebudget.lp.numbers.rationals import Array, exact_array, float_array
from nodebudget.lp.selection.one_ranking import ratio_order

from .grid import PATHS, Case, Grid, block_value, greedy_value
from .statement import Outcome, Statement

TUPLE_LIMIT = 700
LEAF_SET_LIMIT = 9


def enumerated_selection(case: Case, ranking: Sequence[int], paths: int) -> Array:
    """exact array (n,): nu(z) of picking the highest-ranked of the drafted leaves, over all drafted tuples."""
    instance = case.instance
    rank = {leaf: place for place, leaf in enumerate(ranking)}
    nu = [Fraction(0)] * len(instance.tree)
    for leaves, mass in drafted_tuples(instance, paths):
        picked = min(leaves, key=lambda leaf: rank[leaf])
        for node in prefixes(instance, (picked,)):
            nu[node] += mass
    return exact_array(nu)


def lexicographic_ranking(case: Case) -> list[int]:
    """The leaves from best to worst when paths are compared node by node in the order of `ratio_order`."""
    tree, order = case.instance.tree, ratio_order(case.instance)

    def below(node: int) -> list[int]:
        if node in tree.leaves:
            return [node]
        children = tree.children(node)
        return [
            leaf for child in reversed(order[children.start : children.stop]) for leaf in below(int(child))
        ]

    return below(0)


def check_rule(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, paths in itertools.product(grid.cases, (1, 2, 3)):
        if case.drafted_paths**paths > TUPLE_LIMIT:
            continue
        outcome.instances += 1
        optimum = grid.optimum(case, paths)
        nu = selection_from_transport(
            case.instance, transport_stop_mass(case.instance, optimum.budgets, paths)
        )
        dominated = bool((optimum.budgets <= nu).all())
        outcome.expect(dominated, f"{case.label}, K={paths}: a budget is above the skewed draft")
        reached = accepted_tokens(block_budgets(case.instance, nu))
        outcome.equal(reached, grid.value(case, paths), f"{case.label}, K={paths}: BV under the rule G")
    return outcome


def check_vertices(grid: Grid) -> Outcome:
    outcome = Outcome()
    rng = np.random.default_rng(62)
    for case, paths in itertools.product(grid.cases, (2, 3)):
        if case.drafted_paths**paths > TUPLE_LIMIT:
            continue
        outcome.instances += 1
        tree, joint = case.instance.tree, case.instance.joint_draft
        ranking = [int(leaf) for leaf in rng.permutation(list(tree.leaves))]
        nu = ranked_skewed_draft(tree, joint, ranking, paths)
        same = np.array_equal(nu, enumerated_selection(case, ranking, paths))
        outcome.expect(
            same, f"{case.label}, K={paths}: the formula is not the law of the highest-ranked path"
        )
        outcome.equal(nu[0], Fraction(1), f"{case.label}, K={paths}: total mass")
        leaves = list(tree.leaves)
        if len(leaves) > LEAF_SET_LIMIT:
            continue
        for size in range(1, len(leaves) + 1):
            for chosen in itertools.combinations(leaves, size):
                ceiling = hit_probability(sum((joint[z] for z in chosen), Fraction(0)), paths)
                inside = sum((nu[z] for z in chosen), Fraction(0)) <= ceiling
                outcome.expect(inside, f"{case.label}, K={paths}: nu({chosen}) is above f")
    return outcome


def check_greedy_formula(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, paths in itertools.product(grid.cases, PATHS):
        outcome.instances += 1
        value, ceiling = greedy_value(case, paths), grid.value(case, paths)
        outcome.expect(value <= ceiling, f"{case.label}, K={paths}: GBV {value} is above OPT_K {ceiling}")
        if paths == 1:
            outcome.equal(value, block_value(case), f"{case.label}: GBV on one path and BV")
        if case.drafted_paths**paths <= TUPLE_LIMIT:
            counted = enumerated_selection(case, lexicographic_ranking(case), paths)
            same = np.array_equal(counted, greedy_skewed_draft(case.instance, paths))
            outcome.expect(same, f"{case.label}, K={paths}: the enumerated selection law is not the formula")
    return outcome


def check_stable_form(grid: Grid) -> Outcome:
    outcome = Outcome()
    worst = 0.0
    for case, paths in itertools.product(grid.cases, PATHS):
        outcome.instances += 1
        plain = greedy_skewed_draft(case.instance, paths)
        stable = stable_greedy_skewed_draft(case.instance, paths)
        outcome.deviation = max(outcome.deviation, *np.abs(plain - stable))
        outcome.expect(np.array_equal(plain, stable), f"{case.label}, K={paths}: the two forms differ")
        floats = stable_greedy_skewed_draft(case.instance.to_float(), paths)
        wanted = float_array(plain)
        relative = np.abs(floats - wanted) / np.where(wanted > 0, wanted, 1.0)
        worst = max(worst, float(relative.max()))
    outcome.expect(worst < 1e-12, f"in floats the stable form is off by {worst:.2g}, relatively")
    outcome.note = f"in floats off by {worst:.1g} at most, relatively"
    return outcome


STATEMENTS = (
    Statement("6.1", "every optimal D has a rule G: BV under its skewed draft attains OPT_K", check_rule),
    Statement(
        "6.2", "picking the highest-ranked path gives nu(z) = (A + x)^K - A^K, inside nu(A) <= f(q(A))",
        check_vertices,
    ),
    Statement("6.4", "the form of nu without cancellation is the same number", check_stable_form),
)  # fmt: skip
