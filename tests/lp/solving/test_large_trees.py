"""LP_K on large trees: monotone siblings, slope programs, repaired budgets, and brackets proven in rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp import (
    Instance,
    SolverFailure,
    Status,
    accepted_tokens,
    block_budgets,
    depth_one_optimum,
    many_paths_limit,
    proven_lower_bound,
    proven_upper_bound,
    random_instance,
    solve_multi_path,
    target_matching_violation,
    violated_antichains,
)
from nodebudget.lp import attempts as attempts_module
from nodebudget.lp.budgets.repair import feasible_budgets
from nodebudget.lp.drafting import IidPaths, Problem
from nodebudget.lp.drafting import top_sets as top_sets_module
from nodebudget.lp.drafting.top_sets import TopSets
from nodebudget.lp.numbers.rationals import Array, exact_array, float_array
from nodebudget.lp.optimum import Optimum
from nodebudget.lp.proofs import proven as proven_module
from nodebudget.lp.solving import slopes as slopes_module
from nodebudget.lp.solving.slopes import MatrixSession, slope_phase
from strategies import exact_instances, few, motivating, some, target_matching_budgets

F = Fraction
SHAPES = ((2, 1), (5, 1), (2, 2), (3, 2), (2, 3))


def by_slopes(instance: Instance, paths: int, certify: bool = True) -> Optimum:
    """The way of large trees, whatever the size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempts_module, "SMALL_TREE", 0)
        patch.setattr(attempts_module, "CERTIFIED_TREE", 0)
        return solve_multi_path(instance, paths, certify=certify)


def monotone_siblings(instance: Instance, budgets: Array) -> Array:
    """min(p(y|z) D(z), level q(y|z)) on the last level with the same sum in every family, by filling up."""
    tree, out = instance.tree, budgets.copy()
    for node in range(int(tree.level_start[tree.depth - 1]), tree.leaves.start):
        family = [y for y in tree.children(node) if instance.live[y]]
        family.sort(key=lambda y: instance.target[y] / instance.draft[y])
        left, mass = sum((budgets[y] for y in family), F(0)), sum((instance.draft[y] for y in family), F(0))
        for y in family:  # the worst ratios meet their ceiling first
            out[y] = min(instance.target[y] * budgets[node], left / mass * instance.draft[y])
            left, mass = left - out[y], mass - instance.draft[y]
        assert left == 0
    return out


@some
@given(st.data(), exact_instances(SHAPES), st.integers(1, 4))
def test_monotone_siblings_cost_nothing(data: st.DataObject, instance: Instance, paths: int) -> None:
    budgets = data.draw(target_matching_budgets(instance))
    budgets[1:][~instance.live[1:]] = F(0)
    share = F(1)
    for broken in violated_antichains(instance.tree, budgets, instance.joint_draft, paths):
        share = min(share, (1 - (1 - broken.draft_mass) ** paths) / broken.budget)
    budgets[1:] = budgets[1:] * share
    if violated_antichains(instance.tree, budgets, instance.joint_draft, paths):
        budgets = block_budgets(instance)
    even = monotone_siblings(instance, budgets)
    assert target_matching_violation(instance, even) is None
    assert accepted_tokens(even) == accepted_tokens(budgets)
    assert violated_antichains(instance.tree, even, instance.joint_draft, paths) == []


@few
@given(exact_instances(SHAPES), st.integers(1, 4))
def test_the_bracket_holds_the_exact_optimum(instance: Instance, paths: int) -> None:
    """Zeros, ties and equal laws included; the two formulations share no program."""
    true = solve_multi_path(instance, paths).value
    found = by_slopes(instance, paths)
    lower, upper = found.proven
    assert lower <= true <= upper
    assert upper - true <= 1e-6
    assert true - lower <= 1e-4
    low, high = found.bracket
    assert F(low) <= lower
    assert F(high) >= upper
    assert not found.certified
    assert found.verdict.startswith(f"bracketed, both ends proven, not certified: between {low} and {high} (")


@pytest.mark.parametrize("family", ["flat", "identical", "iid", "markov"])
@pytest.mark.parametrize("shape", [(4, 2), (3, 3)])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("pruned", [False, True])
def test_the_families_are_solved_as_the_plain_program_solves_them(
    family: str, shape: tuple[int, int], zeros: float, pruned: bool
) -> None:
    instance = random_instance(family, *shape, seed=5, zeros=zeros)
    instance = instance.prune() if pruned else instance
    for paths in (1, 2, 3):
        true = float(solve_multi_path(instance, paths).value)
        found = by_slopes(instance, paths, certify=False)
        assert found.proven is None
        assert found.value == pytest.approx(true, abs=1e-6)
        assert found.bracket[0] == pytest.approx(true, abs=1e-4)
        assert found.budgets.shape == (len(instance.tree),)


def test_the_wrong_order_of_siblings_loses_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the reformulation: worst ratio first is another, smaller program."""
    instances = [random_instance("flat", 4, 2, seed) for seed in range(4)]
    true = [float(solve_multi_path(instance, 2).value) for instance in instances]
    right = [slope_phase(instance.to_float(), 2).upper for instance in instances]
    assert right == pytest.approx(true, abs=1e-6)
    monkeypatch.setattr(top_sets_module, "rank_key", lambda target, draft: target / draft)
    wrong = [slope_phase(instance.to_float(), 2).upper for instance in instances]
    assert all(w < t - 1e-3 for w, t in zip(wrong, true, strict=True))


@pytest.mark.parametrize(
    ("paths", "similarity", "scale", "about"), [(3, 0.9, 1.0, 0.999), (2, 0.5, 2.0, 0.003996)]
)
def test_a_wide_first_level_has_the_closed_form(
    paths: int, similarity: float, scale: float, about: float
) -> None:
    """Depth one with 1,600 tokens against the closed form 4.4, the second time between models that hardly agree."""
    instance = random_instance("logits", 1600, 1, seed=0, similarity=similarity, concentration=scale)
    found = solve_multi_path(instance, paths)
    closed = depth_one_optimum(instance, paths)  # in floats: 1,601 sets of long rationals take a minute
    assert closed == pytest.approx(about, rel=1e-3)
    assert found.proven[0] - 1e-9 * closed <= closed <= found.proven[1] + 1e-9 * closed
    assert found.proven[1] - found.proven[0] <= 1e-7 * closed


@some
@given(st.data(), exact_instances(SHAPES, least=1))
def test_the_sums_of_last_siblings_are_shared_out_evenly(data: st.DataObject, instance: Instance) -> None:
    """However the differences of the variables are spread, the budgets are those of statement 8.2."""
    budgets = data.draw(target_matching_budgets(instance))
    floats, tree = instance.to_float(), instance.tree
    top = TopSets(tree, floats.target, floats.draft, floats.joint_draft)
    sums = np.zeros(len(tree) - 1)
    sums[: top.inner - 1] = float_array(budgets)[1 : top.inner]
    for node in range(int(tree.level_start[tree.depth - 1]), tree.leaves.start):
        family = tree.children(node)
        sums[family.stop - 2] = float(sum(budgets[family.start : family.stop], F(0)))
    even = float_array(monotone_siblings(instance, budgets))
    assert top.budgets(sums) == pytest.approx(even, rel=1e-9, abs=1e-12)


def test_one_path_on_a_large_tree_is_block_verification() -> None:
    instance = random_instance("logits", 40, 2, seed=1)
    best = accepted_tokens(block_budgets(instance.to_exact()))
    found = solve_multi_path(instance, 1)
    assert found.proven[0] <= best <= found.proven[1]
    assert found.proven[1] - found.proven[0] <= 1e-7


def test_a_large_tree_says_what_it_proves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts_module, "CERTIFIED_TREE", 1600)
    instance = random_instance("logits", 40, 2, seed=1)
    found = solve_multi_path(instance, 3)
    lower, upper = found.proven
    assert isinstance(lower, Fraction)
    assert isinstance(upper, Fraction)
    assert (upper - lower) / upper <= 1e-5
    assert found.value == found.bracket[1]
    assert found.verdict.endswith("(the tree has 1641 nodes; certificates are tried up to 1600)")
    budgets, tree = found.budgets, instance.tree
    assert np.all(budgets[1:] <= instance.target[1:] * budgets[tree.parent[1:]] * (1 + 1e-12))
    assert violated_antichains(tree, budgets, instance.joint_draft, 3, relative=2e-12, tolerance=1e-15) == []


@pytest.mark.parametrize("said", [Status.INFEASIBLE, Status.UNBOUNDED, Status.UNKNOWN])
def test_a_solver_without_an_optimum_is_a_failure(said: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MatrixSession, "_status", lambda _: said)
    with pytest.raises(SolverFailure, match=f"the float solver said '{said.value}', not optimal"):
        by_slopes(motivating(), 2)


def test_a_solver_that_stalls_later_leaves_the_bracket_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance("flat", 4, 2, seed=3)
    true = solve_multi_path(instance, 2).value
    said = iter([Status.OPTIMAL] * 2 + [Status.UNKNOWN] * 2)  # the second of these after a start from scratch
    monkeypatch.setattr(MatrixSession, "_status", lambda _: next(said))
    found = by_slopes(instance, 2)
    assert found.rounds == 2
    assert found.proven[0] <= true <= found.proven[1]
    assert next(said, None) is None


def test_a_float_phase_cut_short_still_proves_its_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance("flat", 4, 2, seed=3)
    true = solve_multi_path(instance, 2).value
    monkeypatch.setattr(slopes_module, "ROUND_LIMIT", 1)
    found = by_slopes(instance, 2)
    assert found.rounds == 1
    assert found.proven[0] < true < found.proven[1]
    floats = by_slopes(instance, 2, certify=False)
    assert floats.verdict.startswith("bounded in floats, not certified (stopped after 1 rounds")


# The two proven bounds, for numbers that come from nowhere.

numbers = st.floats(0, 3, allow_nan=False)


@few
@given(st.data(), exact_instances(SHAPES), st.integers(1, 4))
def test_any_weights_give_an_upper_bound(data: st.DataObject, instance: Instance, paths: int) -> None:
    size = len(instance.tree)
    weights, ratios = (np.array(data.draw(st.lists(numbers, min_size=size, max_size=size))) for _ in range(2))
    true = solve_multi_path(instance, paths).value
    assert proven_upper_bound(instance, paths, weights) >= true
    ratios[: instance.tree.leaves.start] = 0
    assert proven_upper_bound(instance, paths, weights, ratios / 10) >= true


@few
@given(exact_instances(SHAPES), st.integers(1, 3))
def test_the_weights_of_a_certificate_prove_its_optimum(instance: Instance, paths: int) -> None:
    proof = solve_multi_path(instance, paths).certificate
    weights = np.zeros(len(instance.tree))
    for tight in proof.antichains:
        weights[list(tight.nodes)] += float(tight.multiplier)
    bound = proven_upper_bound(instance, paths, weights)
    assert proof.optimum <= bound <= proof.optimum + F(1, 10**12)
    nothing = proven_upper_bound(instance, paths, weights * 0)
    assert 0 <= nothing - many_paths_limit(instance) <= F(1, 10**12)


def test_ratios_of_the_wrong_order_would_prove_a_falsehood() -> None:
    """Why the order of siblings is taken from the instance: exchanged laws ask for the reverse of 8.2."""
    instance = Instance.from_laws(3, 1, {(): [F(1, 6), F(2, 6), F(3, 6)]}, {(): [F(3, 6), F(2, 6), F(1, 6)]})
    true = depth_one_optimum(instance, 2)
    ratios = np.array([0.0, 0.1, 0.1, 0.0])
    assert proven_upper_bound(instance, 2, np.zeros(4), ratios) >= true
    prices = proven_module._ratio_coefficients(instance, ratios)
    best_first = exact_array([F(1, 1), F(1, 6), F(2, 6), F(3, 6)])  # the target itself is monotone
    assert sum(int(g) * d for g, d in zip(prices, best_first, strict=True)) <= 0
    worst_first = exact_array([F(1, 1), F(3, 6), F(0), F(0)])
    assert sum(int(g) * d for g, d in zip(prices, worst_first, strict=True)) > 0


@few
@given(st.data(), exact_instances(SHAPES), st.integers(1, 4))
def test_any_budgets_give_a_lower_bound(data: st.DataObject, instance: Instance, paths: int) -> None:
    size = len(instance.tree)
    budgets = np.array(data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)))
    assert proven_lower_bound(instance, paths, budgets) <= solve_multi_path(instance, paths).value


@few
@given(exact_instances(SHAPES), st.integers(1, 4))
def test_optimal_budgets_are_worth_what_they_say(instance: Instance, paths: int) -> None:
    found = solve_multi_path(instance, paths)
    bound = proven_lower_bound(instance, paths, float_array(found.budgets))
    assert found.value - F(1, 10**4) <= bound <= found.value


def test_a_lower_bound_that_forgot_the_antichains_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance.from_laws(3, 1, {(): [F(1, 2), F(1, 2), F(0)]}, {(): [F(1, 10), F(1, 10), F(8, 10)]})
    true = depth_one_optimum(instance, 2)  # 1 - (8/10)^2 = 36/100 of a target mass of 1
    target = float_array(instance.target)
    assert true == F(36, 100)
    assert true - F(1, 10**6) <= proven_lower_bound(instance, 2, target) <= true
    monkeypatch.setattr(proven_module, "_best_value", lambda *_: 0)
    assert proven_lower_bound(instance, 2, target) > true


@pytest.mark.parametrize("bound", [proven_lower_bound, proven_upper_bound])
def test_bad_arguments_are_named(bound: object) -> None:
    instance, fine = motivating(), np.zeros(7)
    for paths, array, named in (
        (0, fine, "paths: got 0"),
        (2, np.zeros(6), r"got shape \(6,\); expected one number per node, 7"),
        (2, np.full(7, -1.0), "got -1.0; expected numbers from 0"),
        (2, np.full(7, np.nan), "got nan; expected numbers from 0"),
    ):
        with pytest.raises(ValueError, match=named):
            bound(instance, paths, array)
    with pytest.raises(ValueError, match="needs an exact instance"):
        bound(instance.to_float(), 2, fine)


@some
@given(st.data(), exact_instances(SHAPES, least=1), st.integers(2, 4))
def test_repaired_budgets_are_feasible(data: st.DataObject, instance: Instance, paths: int) -> None:
    budgets = float_array(data.draw(target_matching_budgets(instance)))
    floats = instance.to_float()
    repaired = feasible_budgets(Problem(floats, IidPaths(paths)), budgets)
    assert repaired[0] == 1
    assert np.all(repaired <= budgets + 1e-15)
    above = repaired[instance.tree.parent[1:]]
    assert np.all(repaired[1:] <= floats.target[1:] * above * (1 + 1e-12))
    assert violated_antichains(instance.tree, repaired, floats.joint_draft, paths, relative=2e-12) == []


def test_feasible_budgets_are_left_alone() -> None:
    instance = motivating().to_float()
    best = float_array(solve_multi_path(motivating(), 2).budgets)
    assert feasible_budgets(Problem(instance, IidPaths(2)), best) == pytest.approx(best, rel=1e-11)
    assert violated_antichains(instance.tree, instance.joint_target, instance.joint_draft, 2) != []
    repaired = feasible_budgets(Problem(instance, IidPaths(2)), instance.joint_target)
    assert accepted_tokens(repaired) < accepted_tokens(instance.joint_target)


def test_trees_without_a_node_on_the_last_level() -> None:
    """After the token 0 the laws do not meet; then OPT_K is the depth-one optimum of the first step."""
    half = F(1, 2)
    target = {(): {0: F(1, 3), 1: F(2, 3)}, (0,): {0: F(1)}, (1,): {0: F(1)}}
    draft = {(): {0: F(2, 3), 1: F(1, 3)}, (0,): {1: F(1)}, (1,): {1: half, 2: half}}
    instance = Instance.from_laws(3, 2, target, draft, sparse=True)
    assert len(instance.tree.leaves) == 0
    first = Instance.from_laws(3, 1, {(): target[()]}, {(): draft[()]})
    lower, upper = by_slopes(instance, 2).proven
    assert lower <= depth_one_optimum(first, 2) <= upper
    assert upper - lower < 1e-6
