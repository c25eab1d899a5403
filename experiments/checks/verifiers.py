"""Checks of sections 2, 5, 6, 7 and 10 on the verifiers themselves: their laws, enumerated exactly."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from nodebudget.lp import (
    Instance,
    LinearProgram,
    block_budgets,
    exact_optimum,
    random_instance,
    residual_law,
    solve,
    token_budgets,
)
from nodebudget.lp.drafting.tuples import count_drafted_tuples
from nodebudget.lp.programs.verifier_lp import tied_verifier_program
from nodebudget.lp.selection.one_ranking import greedy_skewed_draft
from nodebudget.verifiers import VERIFIERS
from nodebudget.verifiers.audit import ExactAudit, audit_exact

from .grid import Case, Grid
from .selection import check_greedy_formula
from .statement import Outcome, Statement

TUPLE_LIMIT = 100
PATHS = (1, 2, 3)

MIXED_TUPLE_LIMIT = 20
"""The same for mixed selection: each tuple's law is an average over its families, in rationals."""


def audit(grid: Grid, case: Case, paths: int, name: str) -> ExactAudit:
    """The exact audit of a verifier on a case; remembered."""
    key = (case.label, paths, name)
    if key not in grid.audits:
        grid.audits[key] = audit_exact(
            VERIFIERS[name], case.instance, paths, optimum=grid.optimum(case, paths)
        )
    return grid.audits[key]


def audited(grid: Grid) -> list[tuple[Case, int]]:
    """The (case, K) of the grid that are enumerated."""
    return [
        (case, paths)
        for case, paths in itertools.product(grid.cases, PATHS)
        if count_drafted_tuples(case.instance, paths) <= TUPLE_LIMIT
    ]


def check_corrections(grid: Grid) -> Outcome:
    outcome = Outcome()
    for (case, paths), name in itertools.product(audited(grid), VERIFIERS):
        if name == "mixed" and count_drafted_tuples(case.instance, paths, ordered=False) > MIXED_TUPLE_LIMIT:
            continue
        outcome.instances += 1
        found, tree = audit(grid, case, paths, name), case.instance.tree
        for node in range(len(tree)):
            wanted = found.budgets[node] * case.instance.target_law(node)
            for child in tree.children(node):
                wanted[tree.token[child]] -= found.budgets[child]
            outcome.deviation = max(outcome.deviation, *np.abs(found.joint[node] - wanted))
            same = np.array_equal(found.joint[node], wanted)
            outcome.expect(same, f"{name} on {case.label}, K={paths}: node {tree.path(node)}")
    return outcome


def check_residual(grid: Grid) -> Outcome:
    outcome = Outcome()
    for (case, paths), name in itertools.product(audited(grid), VERIFIERS):
        found = audit(grid, case, paths, name)
        for node, row in enumerate(found.joint):
            stopped = row.sum()
            if stopped:
                outcome.instances += 1
                same = np.array_equal(row / stopped, residual_law(case.instance, found.budgets, node))
                outcome.expect(
                    same, f"{name} on {case.label}, K={paths}: node {case.instance.tree.path(node)}"
                )
    return outcome


def check_block_valid(grid: Grid) -> Outcome:
    return _lossless(grid, [(case, paths) for case, paths in audited(grid) if paths == 1], ("bv",))


def check_block_budgets(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, paths in audited(grid):
        if paths > 1:
            continue
        outcome.instances += 1
        for name, formula in (("bv", block_budgets), ("token", token_budgets)):
            same = np.array_equal(audit(grid, case, 1, name).budgets, formula(case.instance))
            outcome.expect(same, f"{case.label}: the budgets of {name} by enumeration are not the formula")
    return outcome


def check_greedy_valid(grid: Grid) -> Outcome:
    outcome = check_greedy_formula(grid)
    _expect_lossless(outcome, grid, audited(grid), ("gbv",))
    for case, paths in audited(grid):
        budgets = audit(grid, case, paths, "gbv").budgets
        formula = block_budgets(case.instance, greedy_skewed_draft(case.instance, paths))
        same = np.array_equal(budgets, formula)
        outcome.expect(same, f"{case.label}, K={paths}: not the budgets of BV under the skewed draft")
        if paths == 1:
            same = np.array_equal(budgets, audit(grid, case, 1, "bv").budgets)
            outcome.expect(same, f"{case.label}: on one path GBV is not BV")
    return outcome


def check_all_valid(grid: Grid) -> Outcome:
    return _lossless(grid, audited(grid), tuple(VERIFIERS))


def check_on_path_single(grid: Grid) -> Outcome:
    outcome = Outcome()
    for seed in range(3):
        family = [
            random_instance("flat", 2, 2, seed=seed),
            _disturbed(random_instance("flat", 2, 2, seed=seed)),
        ]
        outcome.instances += 1
        tied = _exact(tied_verifier_program(family, 1))
        apart = sum((_exact(tied_verifier_program([instance], 1)) for instance in family), Fraction(0))
        outcome.equal(tied, apart, f"seed {seed}: one path, tied and apart")
    outcome.instances += 1
    pair = off_path_pair()
    apart = sum((_exact(tied_verifier_program([instance], 1)) for instance in pair), Fraction(0))
    outcome.equal(_exact(tied_verifier_program(pair, 1)), apart, "the pair of 7.2 at K = 1")
    return outcome


def check_on_path_several(grid: Grid) -> Outcome:
    outcome = Outcome(instances=1)
    pair = off_path_pair()
    apart = sum((_exact(tied_verifier_program([instance], 2)) for instance in pair), Fraction(0))
    tied = _exact(tied_verifier_program(pair, 2))
    outcome.expect(tied < apart, f"two paths: {tied} tied, {apart} apart; a strict loss was expected")
    outcome.note = f"V=3, L=2, K=2: {float(tied):.6f} of {float(apart):.6f}"
    return outcome


def off_path_pair() -> list[Instance]:
    """Two instances with V = 3 and L = 2 that differ only below the tokens 1 and 2 (statement 7.2)."""

    def law(*weights: int) -> list[Fraction]:
        return [Fraction(w, sum(weights)) for w in weights]

    target, draft = {(): law(7, 5, 7), (0,): law(4, 0, 7)}, {(): law(10, 2, 3), (0,): law(7, 3, 6)}
    first = Instance.from_laws(
        3,
        2,
        target | {(1,): law(5, 6, 0), (2,): law(0, 0, 1)},
        draft | {(1,): law(6, 1, 0), (2,): law(0, 9, 2)},
    )
    second = Instance.from_laws(
        3,
        2,
        target | {(1,): law(0, 8, 5), (2,): law(7, 8, 8)},
        draft | {(1,): law(1, 0, 0), (2,): law(9, 5, 0)},
    )
    return [first, second]


def _disturbed(instance: Instance) -> Instance:
    """The same instance but for the laws below its last first token."""
    tree = instance.tree
    last = tree.vocab - 1
    target, draft = {}, {}
    for node in range(len(tree)):
        path = tree.path(node)
        turned = path[:1] == (last,)
        target[path] = list(instance.target_law(node))[:: -1 if turned else 1]
        if node not in tree.leaves:
            draft[path] = list(instance.draft_law(node))[:: -1 if turned else 1]
    return Instance.from_laws(tree.vocab, tree.depth, target, draft)


def _exact(program: LinearProgram) -> Fraction:
    basis = solve(program).basis
    assert basis is not None
    return exact_optimum(program, basis).value


def _lossless(grid: Grid, pairs: list[tuple[Case, int]], names: tuple[str, ...]) -> Outcome:
    outcome = Outcome(instances=len(pairs) * len(names))
    _expect_lossless(outcome, grid, pairs, names)
    return outcome


def _expect_lossless(
    outcome: Outcome, grid: Grid, pairs: list[tuple[Case, int]], names: tuple[str, ...]
) -> None:
    for (case, paths), name in itertools.product(pairs, names):
        found = audit(grid, case, paths, name)
        outcome.deviation = max(outcome.deviation, found.total_variation)
        outcome.expect(found.lossless, f"{name} on {case.label}, K={paths}: {'; '.join(found.faults)}")
        outcome.expect(found.gap >= 0, f"{name} on {case.label}, K={paths}: above OPT_K")


STATEMENTS = (
    Statement(
        "2.1", "a lossless verifier stops at z and emits y with probability D(z) p(y|z) - D(zy)", check_corrections
    ),
    Statement("2.3", "its next token after stopping has the residual law that its budgets force", check_residual),
    Statement("5.1", "block verification is valid, on the joint law of L + 1 tokens", check_block_valid),
    Statement("5.2", "its budgets, enumerated, are D(zy) = min(q(zy), p(y|z) D(z))", check_block_budgets),
    Statement(
        "6.3", "GBV is valid, its selection law is the formula of 6.2, and it is BV for K = 1", check_greedy_valid
    ),
    Statement("7.1", "on one path nothing is lost by looking at on-path laws only", check_on_path_single),
    Statement("7.2", "on two paths something can be", check_on_path_several),
    Statement("10.1", "all eight verifiers are valid and accept at most OPT_K", check_all_valid),
)  # fmt: skip
