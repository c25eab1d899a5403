"""Checks of sections 4 and 5: the linear programs, their closed forms, block and token verification."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from nodebudget.lp import (
    accepted_tokens,
    block_budgets,
    block_coupling,
    depth_one_optimum,
    many_paths_floor,
    many_paths_limit,
    solve,
    token_budgets,
    verifier_program,
)
from nodebudget.lp.numbers.rationals import exact_array
from nodebudget.lp.proofs.exact_simplex import exact_optimum

from .grid import PATHS, Grid, block_value
from .statement import Outcome, Statement

TUPLE_LIMIT = 100
MANY_PATHS = 64


def check_projection(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, paths in itertools.product(grid.cases, (1, 2, 3)):
        if case.drafted_paths**paths > TUPLE_LIMIT:
            continue
        outcome.instances += 1
        program = verifier_program(case.instance, paths)
        basis = solve(program).basis
        assert basis is not None
        outcome.equal(
            exact_optimum(program, basis).value, grid.value(case, paths), f"{case.label}, K={paths}"
        )
    return outcome


def check_many_paths(grid: Grid) -> Outcome:
    outcome = Outcome()
    closest = Fraction(0)
    for case in grid.cases:
        outcome.instances += 1
        limit = many_paths_limit(case.instance)
        values = [grid.value(case, paths) for paths in PATHS]
        outcome.expect(values == sorted(values), f"{case.label}: OPT_K decreases in K: {values}")
        outcome.expect(values[-1] <= case.instance.depth, f"{case.label}: OPT_K exceeds L")
        tried = list(zip(PATHS, values, strict=True))
        if len(case.instance.tree) <= 13:
            tried.append((MANY_PATHS, grid.value(case, MANY_PATHS)))
        for paths, value in tried:
            floor = many_paths_floor(case.instance, paths)
            outcome.expect(
                floor <= value <= limit, f"{case.label}, K={paths}: {value} outside [{floor}, {limit}]"
            )
        if tried[-1][0] == MANY_PATHS:
            closest = max(closest, limit - tried[-1][1])
    outcome.note = f"at K={MANY_PATHS} at most {float(closest):.2g} below the limit"
    return outcome


def check_coupling(grid: Grid) -> Outcome:
    outcome = Outcome()
    strict = 0
    for case in grid.cases:
        outcome.instances += 1
        coupled, value = block_coupling(case.instance), grid.value(case, 1)
        strict += coupled > value
        outcome.expect(coupled >= value, f"{case.label}: {coupled} is below OPT_1 = {value}")
    outcome.note = f"strictly above in {strict}"
    return outcome


def check_depth_one(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, paths in itertools.product(grid.cases, PATHS):
        if case.instance.depth != 1:
            continue
        outcome.instances += 1
        value = grid.value(case, paths)
        outcome.equal(depth_one_optimum(case.instance, paths), value, f"{case.label}, K={paths}")
        target, draft = case.instance.target_law(0), case.instance.draft_law(0)
        sets = itertools.chain.from_iterable(
            itertools.combinations(range(len(target)), size) for size in range(len(target) + 1)
        )
        least = min(
            1
            - (1 - sum((draft[y] for y in s), Fraction(0))) ** paths
            + 1
            - sum((target[y] for y in s), Fraction(0))
            for s in sets
        )
        outcome.equal(least, value, f"{case.label}, K={paths}: minimum over all token sets")
    return outcome


def check_block_optimal(grid: Grid) -> Outcome:
    outcome = Outcome()
    rng = np.random.default_rng(53)
    for case in grid.cases:
        outcome.instances += 1
        instance, tree = case.instance, case.instance.tree
        largest = block_budgets(instance)
        outcome.equal(block_value(case), grid.value(case, 1), f"{case.label}: BV and OPT_1")
        for _ in range(3):
            budgets = [Fraction(1)]
            for node in range(1, len(tree)):
                ceiling = min(instance.joint_draft[node], instance.target[node] * budgets[tree.parent[node]])
                budgets.append(ceiling * Fraction(int(rng.integers(0, 9)), 8))
            below = bool((exact_array(budgets) <= largest).all())
            outcome.expect(below, f"{case.label}: a feasible budget of LP_1 is above block verification's")
    return outcome


def check_token(grid: Grid) -> Outcome:
    outcome = Outcome()
    strict = 0
    for case in grid.cases:
        outcome.instances += 1
        token, block = token_budgets(case.instance), block_budgets(case.instance)
        outcome.expect(bool((token <= block).all()), f"{case.label}: token verification has a larger budget")
        strict += accepted_tokens(token) < accepted_tokens(block)
    outcome.note = f"strictly fewer accepted tokens in {strict}"
    return outcome


STATEMENTS = (
    Statement("4.1", "the verifier LP from first principles has the optimum of LP_K", check_projection),
    Statement(
        "4.2", "OPT_K grows with K, is at most L, and tends to the target mass that can be drafted",
        check_many_paths,
    ),
    Statement("4.3", "coupling whole blocks, sum of min(p(z), q(z)), is at least OPT_1", check_coupling),
    Statement("4.4", "at depth one OPT_K is the minimum over token sets of f(q(S)) + 1 - p(S)", check_depth_one),
    Statement(
        "5.3", "block verification is the pointwise largest solution of LP_1, so BV = OPT_1", check_block_optimal
    ),
    Statement("5.4", "token verification has no larger budget than block verification at any node", check_token),
)  # fmt: skip
