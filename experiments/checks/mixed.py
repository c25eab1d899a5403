"""Checks of section 12: selection by scores, and mixed multi-path block verification."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from nodebudget.lp import (
    Selection,
    accepted_tokens,
    depth_one_optimum,
    greedy_skewed_draft,
    skewed_draft,
    violated_antichains,
)
from nodebudget.lp.drafting.tuples import count_drafted_tuples
from nodebudget.lp.numbers.rationals import Array
from nodebudget.lp.selection.node_rules import in_floats, neutral, ratio_ranking
from nodebudget.lp.selection.scores import OnPath
from nodebudget.verifiers import mixed_verifier
from nodebudget.verifiers.audit import audit_exact

from .grid import PATHS, Case, Grid, block_value, greedy_value
from .statement import Outcome, Statement

TUPLE_LIMIT = 30
DEPTH_ONE_TOLERANCE = 1e-9


def arbitrary(data: OnPath) -> Array:
    """Orderings without sense, with and without ties, that differ from family to family and from node to node."""
    data = in_floats(data)
    seed = int(1e6 * float((data.target + 3 * data.draft).sum())) + data.remaining
    rng = np.random.default_rng(seed + int(1e6 * float(data.target[0, 0])))
    nodes, families = data.state.shape[:2]
    return rng.integers(0, data.draft.shape[1], size=(nodes, families, data.draft.shape[1]))


ARBITRARY = Selection(arbitrary, (0.5, 0.25, 0.25))


def mixed_value(grid: Grid, case: Case, paths: int) -> float:
    """E|Z| of mixed multi-path block verification, from its budgets in floats; remembered."""
    if paths == 1:
        return float(block_value(case))
    key = (case.label, paths)
    if key not in grid.mixed:
        grid.mixed[key] = float(accepted_tokens(skewed_draft(case.instance.to_float(), paths)[1]))
    return grid.mixed[key]


def check_valid(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, paths in itertools.product(grid.cases, (2, 3)):
        if count_drafted_tuples(case.instance, paths) > TUPLE_LIMIT:
            continue
        outcome.instances += 1
        found = audit_exact(
            mixed_verifier(ARBITRARY), case.instance, paths, optimum=grid.optimum(case, paths)
        )
        label = f"{case.label}, K={paths}"
        outcome.deviation = max(outcome.deviation, found.total_variation)
        outcome.expect(found.lossless, f"{label}: {'; '.join(found.faults)}")
        nu, budgets = skewed_draft(case.instance, paths, ARBITRARY)
        same = np.array_equal(found.budgets, budgets)
        outcome.expect(same, f"{label}: the enumerated budgets are not those of the pass over the tree")
        above = violated_antichains(case.instance.tree, nu, case.instance.joint_draft, paths)
        outcome.expect(not above, f"{label}: the skewed draft is outside the base polytope")
    return outcome


def check_ends(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, paths in itertools.product(grid.cases, PATHS[1:3]):
        outcome.instances += 1
        label = f"{case.label}, K={paths}"
        nu, budgets = skewed_draft(case.instance, paths, Selection(neutral))
        outcome.equal(Fraction(accepted_tokens(budgets)), block_value(case), f"{label}: one class and BV")
        outcome.expect(np.array_equal(nu, case.instance.joint_draft), f"{label}: one class is not the draft")
        nu, budgets = skewed_draft(case.instance, paths, Selection(ratio_ranking))
        outcome.equal(
            Fraction(accepted_tokens(budgets)), greedy_value(case, paths), f"{label}: p/q alone and GBV"
        )
        same = np.array_equal(nu, greedy_skewed_draft(case.instance, paths))
        outcome.expect(same, f"{label}: p/q alone does not have GBV's skewed draft")
    return outcome


def check_depth_one(grid: Grid) -> Outcome:
    outcome = Outcome()
    worst = 0.0
    for case, paths in itertools.product(grid.cases, PATHS):
        if case.instance.depth == 1:
            outcome.instances += 1
            best = depth_one_optimum(case.instance, paths)
            value = Fraction(accepted_tokens(skewed_draft(case.instance, paths)[1]))
            outcome.equal(value, best, f"{case.label}, K={paths}: the mixture and OPT_K")
            floats = float(accepted_tokens(skewed_draft(case.instance.to_float(), paths)[1]))
            worst = max(worst, abs(floats - float(best)))
    outcome.expect(worst < DEPTH_ONE_TOLERANCE, f"in floats {worst:.2g} from OPT_K")
    outcome.note = f"in floats after 64 steps within {worst:.1g}"
    return outcome


def check_between(grid: Grid) -> Outcome:
    outcome = Outcome()
    closed: list[float] = []
    below = 0
    for case, paths in itertools.product(grid.cases, PATHS[1:]):
        outcome.instances += 1
        value, best = mixed_value(grid, case, paths), float(grid.value(case, paths))
        block = float(block_value(case))
        outcome.expect(value <= best + 1e-9, f"{case.label}, K={paths}: {value} is above OPT_K = {best}")
        below += value < max(block, float(greedy_value(case, paths))) - 1e-12
        if best > block + 1e-9:
            closed.append((value - block) / (best - block))
    outcome.note = f"closes {np.mean(closed):.1%} of OPT_K - BV; below BV or GBV in {below}"
    return outcome


STATEMENTS = (
    Statement("12.1", "block verification of the path with the largest score is valid, for any node rule", check_valid),
    Statement("12.2", "one class everywhere is BV, p/q alone is GBV", check_ends),
    Statement("12.3", "at depth one mixtures of orderings attain OPT_K", check_depth_one),
    Statement("12.4", "mixed multi-path block verification accepts at most OPT_K", check_between),
)  # fmt: skip
