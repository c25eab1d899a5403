"""Checks of section 16: races."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from nodebudget.lp import accepted_tokens, block_budgets, greedy_skewed_draft
from nodebudget.lp.drafting import Drafting, GrownTree, IidPaths
from nodebudget.lp.drafting.supports import support
from nodebudget.lp.numbers.rationals import Array
from nodebudget.lp.selection.fair_orders import fair_order
from nodebudget.lp.selection.raced_draft import raced_draft
from nodebudget.lp.selection.races import LEVELS, Draws, race
from nodebudget.verifiers import get_verifier
from nodebudget.verifiers.algorithms.race import law as race_law
from nodebudget.verifiers.audit import audit_exact

from .drafts import cases, certified
from .grid import Case, Grid
from .statement import Outcome, Statement
from .tree_verifiers import OUTCOMES, expect_lossless

FEW = 4
"""Levels of the races that are gone through tree by tree."""

FINE = 64
"""Most levels that are taken where they have to fit the draft."""

NEAR = 0.97
"""Share of the optimum that the fair race keeps at depth one at least, with all its levels."""


def by_ratio(draws: Draws, wanted: Array, masses: Array) -> Array:
    """Every token a cell, in the order of demand over draft, ties by id: greedy multi-path block verification."""
    ratio = (wanted / np.array(draws.below.shares)).round(9)
    first = np.lexsort((np.array(draws.below.tokens), -ratio))
    return np.concatenate([place * draws.levels + np.arange(draws.levels)[::-1] for place in first])


def by_chance(draws: Draws, wanted: Array, masses: Array) -> Array:
    """Pairs in an order drawn by a generator that is seeded with all numbers it is shown: any rule is allowed."""
    numbers = np.concatenate([draws.below.shares, wanted, masses])
    rng = np.random.default_rng(np.frombuffer(numbers.round(9).tobytes(), dtype=np.uint32))
    return rng.permutation(len(wanted) * draws.levels)


RULES = {"fair": fair_order, "by ratio": by_ratio, "by chance": by_chance}


def raced(grid: Grid) -> Iterator[tuple[Case, Drafting]]:
    """The small cases with the grown drafts that can be gone through."""
    for case, drafting in cases(grid):
        if isinstance(drafting, GrownTree) and drafting.count_outcomes(case.instance) <= OUTCOMES:
            yield case, drafting


def check_any_rule(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, drafting in raced(grid):
        for name, rule in RULES.items():
            outcome.instances += 1
            verifier = replace(
                get_verifier("race"), name=f"race {name}", law=partial(race_law, rule=rule, levels=FEW)
            )
            found = audit_exact(verifier, case.instance, drafting=drafting, optimum=certified(case, drafting))
            expect_lossless(outcome, found, case, drafting)
            _, budgets = raced_draft(case.instance, drafting, rule, FEW)
            same = bool((found.budgets == budgets).all())
            outcome.expect(
                same, f"{found.verifier} on {case.label}, {drafting}: other budgets than by one pass"
            )
    return outcome


def nodes_raced(grid: Grid) -> Iterator[tuple[str, Draws]]:
    """What is drawn at the root and at a node below it, two and three draws at a time."""
    for case, drafting in raced(grid):
        assert isinstance(drafting, GrownTree)
        for node in (0, 1)[: case.instance.depth]:
            below = support(case.instance, node)
            if below.tokens:
                for number in (2, 3):
                    count = drafting.most_drawn(below, number)
                    yield f"{case.label}, {drafting}, node {node}", Draws(drafting, below, count, FEW)


def check_levels(grid: Grid) -> Outcome:
    """Each pair wins as often as the draws say, one by one; and the score is uniform, given that the node is drawn."""
    outcome = Outcome()
    for label, draws in nodes_raced(grid):
        outcome.instances += 1
        order = by_chance(draws.in_floats(), np.array(draws.in_floats().below.shares), np.ones(FEW))
        found = race(order, draws)
        levels = (found.length[:, :, None] * found.level(slice(None))).sum(axis=(0, 1))
        outcome.expect(all(mass * FEW == 1 for mass in levels), f"{label}: the levels have the law {levels}")
        won = found.length * 0
        for places, chance in draws.drafting.drawn(draws.below, draws.number):
            for scores in np.ndindex(*(FEW,) * len(places)):
                best = min(zip(places, scores, strict=True), key=lambda pair: found.rank[pair])
                won[best] += chance / FEW ** len(places)
        outcome.expect(bool((won == found.length).all()), f"{label}: pairs win {won}, not {found.length}")
    return outcome


def check_fair_race(grid: Grid) -> Outcome:
    """At depth one, where all children are leaves, next to nothing is lost against the optimum."""
    outcome, worst = Outcome(), 1.0
    for case, drafting in raced(grid):
        if case.instance.depth == 1:
            outcome.instances += 1
            best = certified(case, drafting).value
            kept = accepted_tokens(raced_draft(case.instance, drafting, fair_order, LEVELS)[1])
            outcome.expect(kept <= best, f"{case.label}, {drafting}: more than the optimum")
            share = float(kept / best) if best else 1.0
            worst = min(worst, share)
            outcome.expect(share >= NEAR, f"{case.label}, {drafting}: {share:.4f} of the optimum")
    outcome.note = f"at least {worst:.4f} of the optimum"
    return outcome


def check_single_cells(grid: Grid) -> Outcome:
    """With so many levels that what can be drawn fills whole ones, scores tell all paths of two tokens apart."""
    outcome = Outcome()
    for case in [case for case in grid.cases if case.instance.depth <= 2]:
        levels = math.lcm(*(share.denominator for share in case.instance.draft))
        if levels > FINE:
            continue
        for paths in (1, 2, 3):
            outcome.instances += 1
            _, found = raced_draft(case.instance, IidPaths(paths), by_ratio, levels)
            wanted = block_budgets(case.instance, greedy_skewed_draft(case.instance, paths))
            same = bool((found == wanted).all())
            outcome.expect(same, f"{case.label}, K={paths}: not the budgets of gbv")
    return outcome


STATEMENTS = (
    Statement(
        "16.1", "a race by any rule of on-path numbers is lossless, with the budgets of nu", check_any_rule
    ),
    Statement("16.2", "what each pair wins, and uniform scores", check_levels),
    Statement("16.3", "the fair race is near the optimum at depth one", check_fair_race),
    Statement("16.4", "one token a cell: greedy multi-path block verification", check_single_cells),
)
