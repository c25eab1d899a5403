"""Antichains: counting, lazy listing, the best one for a slope, and the separation oracle."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp import (
    Instance,
    PrefixTree,
    best_antichains,
    count_antichains,
    enumerate_antichains,
    hit_probability,
    is_antichain,
    random_instance,
    violated_antichains,
)
from nodebudget.lp.numbers.rationals import exact_array, float_array
from plain_definitions import antichains, hit, joint, laws_of, strings, worst_excess
from strategies import SHAPES, exact_instances, few, many, motivating, some, target_matching_budgets

F = Fraction


@pytest.mark.parametrize(
    ("vocab", "counts"),
    [(2, [5, 26, 677, 458330]), (3, [9, 730, 730**3 + 1]), (4, [17, 83522]), (1, [3, 4, 5, 6])],
)
def test_counts_are_those_of_the_recursion(vocab: int, counts: list[int]) -> None:
    assert [count_antichains(PrefixTree.full(vocab, d)) for d in range(1, len(counts) + 1)] == counts


def test_the_count_of_a_large_tree_is_an_exact_integer() -> None:
    """V = 64, L = 2: (2^64 + 1)^64 + 1."""
    assert count_antichains(PrefixTree.full(64, 2)) == (2**64 + 1) ** 64 + 1


@pytest.mark.parametrize(("vocab", "depth"), SHAPES)
def test_the_list_is_every_antichain_once(vocab: int, depth: int) -> None:
    tree = PrefixTree.full(vocab, depth)
    listed = list(enumerate_antichains(tree))
    assert listed[0] == ()
    assert listed[-1] == (0,)
    assert len(listed) == len(set(map(frozenset, listed))) == count_antichains(tree)
    got = {frozenset(tree.path(z) for z in chosen) for chosen in listed[1:-1]}
    assert got == set(map(frozenset, antichains(vocab, depth)))


@some
@given(exact_instances())
def test_sparse_trees_are_counted_and_listed(instance: Instance) -> None:
    tree = instance.prune().tree
    listed = {frozenset(tree.path(z) for z in chosen) for chosen in enumerate_antichains(tree)}
    inside = {tree.path(z) for z in range(1, len(tree))}
    wanted = {frozenset(a) for a in antichains(instance.vocab, instance.depth) if set(a) <= inside}
    assert listed == wanted | {frozenset(), frozenset([()])}
    assert count_antichains(tree) == len(listed)


def test_the_list_starts_at_once_on_a_huge_tree() -> None:
    tree = PrefixTree.full(2, 18)
    first = list(itertools.islice(enumerate_antichains(tree), 3))
    assert len(set(first)) == 3
    assert all(is_antichain(tree, chosen) for chosen in first)


def test_the_list_can_be_started_on_a_wide_tree() -> None:
    first = list(itertools.islice(enumerate_antichains(PrefixTree.full(2000, 1)), 3))
    assert len(set(first)) == 3


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        ((), True),
        ((0,), True),
        ((1, 2), True),
        ((3, 4, 2), True),
        ((0, 1), False),
        ((1, 3), False),
        ((2, 3, 6), False),
        ((3, 3), False),
        ((7,), False),
        ((-1,), False),
    ],
)
def test_is_antichain(nodes: tuple[int, ...], wanted: bool) -> None:
    assert is_antichain(PrefixTree.full(2, 2), nodes) == wanted


def test_is_antichain_says_the_same_as_the_definition_on_every_subset() -> None:
    tree = PrefixTree.full(2, 2)
    right = {frozenset(tree.find(z) for z in chosen) for chosen in antichains(2, 2)}
    for size in range(1, 7):
        for nodes in itertools.combinations(range(1, 7), size):
            assert is_antichain(tree, nodes) == (frozenset(nodes) in right)


@given(st.fractions(0, 1), st.integers(1, 6))
@some
def test_hit_probability_is_the_formula(mass: Fraction, paths: int) -> None:
    assert hit_probability(mass, paths) == 1 - (1 - mass) ** paths
    assert hit_probability(float(mass), paths) == pytest.approx(float(1 - (1 - mass) ** paths), abs=1e-15)


@pytest.mark.parametrize("exponent", [-300, -100, -20, -12, -3])
def test_hit_probability_keeps_its_digits_for_tiny_masses(exponent: int) -> None:
    tiny = 10.0**exponent
    exact = 1 - (1 - Fraction(tiny)) ** 4
    assert hit_probability(tiny, 4) == pytest.approx(float(exact), rel=1e-14)


def test_hit_probability_of_a_mass_rounded_above_one() -> None:
    assert hit_probability(1.0 + 1e-15, 3) == 1.0
    assert hit_probability(np.float64(1.0), 3) == 1.0


def budgets_and_slope(draw: st.DrawFn, instance: Instance) -> tuple[np.ndarray, Fraction]:
    values = draw(st.lists(st.integers(0, 12), min_size=len(instance.tree), max_size=len(instance.tree)))
    return exact_array([F(v, 12) for v in values]), draw(st.fractions(0, 4, max_denominator=12))


@st.composite
def slope_questions(draw: st.DrawFn) -> tuple[Instance, np.ndarray, Fraction]:
    instance = draw(exact_instances())
    return instance, *budgets_and_slope(draw, instance)


@many
@given(slope_questions())
def test_best_antichain_is_the_best_of_all(question: tuple[Instance, np.ndarray, Fraction]) -> None:
    instance, budgets, slope = question
    tree, mass = instance.tree, instance.joint_draft
    found = best_antichains(tree, budgets, mass, [slope])[0]
    assert is_antichain(tree, found.nodes)
    assert 0 not in found.nodes
    assert found.budget == sum((budgets[z] for z in found.nodes), F(0))
    assert found.draft_mass == sum((mass[z] for z in found.nodes), F(0))
    assert type(found.budget) is type(found.draft_mass) is Fraction

    def worth(nodes: tuple[int, ...]) -> Fraction:
        return sum((budgets[z] - slope * mass[z] for z in nodes), F(0))

    listed = [tuple(tree.find(z) for z in chosen) for chosen in antichains(instance.vocab, instance.depth)]
    assert worth(found.nodes) == max([F(0), *map(worth, listed)])
    floats = best_antichains(tree, float_array(budgets), float_array(mass), [float(slope)])[0]
    assert floats.budget - float(slope) * floats.draft_mass == pytest.approx(float(worth(found.nodes)))


def test_best_antichain_takes_the_shorter_strings_of_equally_good_ones() -> None:
    tree = PrefixTree.full(2, 2)
    budgets = exact_array([1, F(1, 2), F(1, 2), F(1, 4), F(1, 4), F(1, 4), F(1, 4)])
    mass = exact_array([1, F(1, 2), F(1, 2), F(1, 4), F(1, 4), F(1, 4), F(1, 4)])
    halfway, full = best_antichains(tree, budgets, mass, [F(1, 2), F(1)])
    assert halfway.nodes == (1, 2)
    assert full.nodes == ()


@st.composite
def oracle_questions(draw: st.DrawFn) -> tuple[Instance, np.ndarray, int]:
    """Budgets on both sides of the boundary: matching the target, or any numbers at all."""
    instance = draw(exact_instances())
    if draw(st.booleans()):
        budgets = draw(target_matching_budgets(instance, least=draw(st.integers(0, 5))))
    else:
        budgets, _ = budgets_and_slope(draw, instance)
        budgets = exact_array([v / draw(st.integers(1, 12)) for v in budgets])
    return instance, budgets, draw(st.integers(1, 4))


def test_the_oracle_says_what_the_list_says() -> None:
    verdicts = set()

    @many
    @given(oracle_questions())
    def compare(question: tuple[Instance, np.ndarray, int]) -> None:
        instance, budgets, paths = question
        found = violated_antichains(instance.tree, budgets, instance.joint_draft, paths)
        assert bool(found) == (worst_excess(instance, budgets, paths) > 0)
        verdicts.add(bool(found))
        _, draft = laws_of(instance)
        for antichain in found:
            mass = sum((joint(draft, instance.tree.path(z)) for z in antichain.nodes), F(0))
            assert is_antichain(instance.tree, antichain.nodes)
            assert (antichain.budget, antichain.draft_mass) == (sum(budgets[list(antichain.nodes)]), mass)
            assert antichain.budget > hit(mass, paths)
        masses = [antichain.draft_mass for antichain in found]
        assert masses == sorted(masses)

    compare()
    assert verdicts == {True, False}, "both feasible and infeasible budgets must be tried"


@many
@given(oracle_questions())
def test_the_float_oracle_agrees_away_from_the_boundary(question: tuple[Instance, np.ndarray, int]) -> None:
    instance, budgets, paths = question
    found = violated_antichains(
        instance.tree, float_array(budgets), float_array(instance.joint_draft), paths, tolerance=1e-12
    )
    excess = worst_excess(instance, budgets, paths)
    if abs(excess) > F(1, 10**9):
        assert bool(found) == (excess > 0)


def budgets_at_the_ceiling(instance: Instance, nodes: tuple[int, ...], paths: int) -> np.ndarray:
    """D(z) = f(q(A)) q(z)/q(A) on A and zero elsewhere.

    Any part B of A has D(B) = f(q(A)) q(B)/q(A) <= f(q(B)), f being concave with f(0) = 0, and strictly less
    unless B = A when K > 1: the ceiling of A is the only one reached.
    """
    mass = sum((instance.joint_draft[z] for z in nodes), F(0))
    budgets = exact_array([1] + [0] * (len(instance.tree) - 1))
    for z in nodes:
        budgets[z] = hit(mass, paths) * instance.joint_draft[z] / mass
    return budgets


@pytest.mark.parametrize("paths", [2, 3, 4])
def test_a_budget_a_hair_above_one_ceiling_is_found_exactly(paths: int) -> None:
    for instance in (motivating(), random_instance("flat", 3, 2, seed=4)):
        listed = list(enumerate_antichains(instance.tree))[1:-1]
        for nodes in listed[:: max(1, len(listed) // 40)]:
            budgets = budgets_at_the_ceiling(instance, nodes, paths)
            assert violated_antichains(instance.tree, budgets, instance.joint_draft, paths) == []
            budgets[nodes[-1]] += F(1, 10**30)
            found = violated_antichains(instance.tree, budgets, instance.joint_draft, paths)
            assert [set(antichain.nodes) for antichain in found] == [set(nodes)]
            assert found[0].budget - hit(found[0].draft_mass, paths) == F(1, 10**30)


def test_a_budget_where_nothing_is_drafted_is_found() -> None:
    instance = Instance.from_laws(2, 1, {(): [F(1, 2), F(1, 2)]}, {(): [1, 0]})
    budgets = exact_array([1, F(1, 2), F(1, 10**30)])
    found = violated_antichains(instance.tree, budgets, instance.joint_draft, 3)
    assert [antichain.nodes for antichain in found] == [(2,)]
    assert found[0].draft_mass == 0
    budgets[2] = F(0)
    assert violated_antichains(instance.tree, budgets, instance.joint_draft, 3) == []


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_the_oracle_stops_at_its_limit(limit: int) -> None:
    """D = 2p: the best sets of leaves by p/q have D(A) = 2p(A) >= 2q(A) > f(q(A)) on two paths."""
    instance = random_instance("flat", 3, 2, seed=0)
    double = exact_array([2 * v for v in instance.joint_target])
    found = violated_antichains(instance.tree, double, instance.joint_draft, 2)
    assert len(found) >= 5
    fewer = violated_antichains(instance.tree, double, instance.joint_draft, 2, limit=limit)
    assert 1 <= len(fewer) <= limit
    assert {a.nodes for a in fewer} <= {a.nodes for a in found}


def test_a_tolerance_hides_small_violations_in_floats_only() -> None:
    instance = motivating()
    budgets = budgets_at_the_ceiling(instance, (1, 6), 2)
    budgets[6] += F(1, 10**6)

    def found(values: np.ndarray, mass: np.ndarray, tolerance: float) -> int:
        return len(violated_antichains(instance.tree, values, mass, 2, tolerance=tolerance))

    floats = float_array(budgets), float_array(instance.joint_draft)
    assert found(*floats, 1e-7) == 1
    assert found(*floats, 1e-5) == 0
    assert found(budgets, instance.joint_draft, 1e-5) == 1


@few
@given(exact_instances(), st.integers(1, 3))
def test_the_drafts_own_budgets_are_feasible_and_tight_on_one_path(instance: Instance, paths: int) -> None:
    """D = q is what a verifier that always takes a drafted path whole has: f(t) >= t for every K."""
    tree, mass = instance.tree, instance.joint_draft
    assert violated_antichains(tree, mass, mass, paths) == []
    more = exact_array([v + F(1, 10**9) for v in mass])
    assert violated_antichains(tree, more, mass, 1) != []


@pytest.mark.parametrize("paths", [0, 1.0, True])
def test_paths_are_checked(paths: object) -> None:
    instance = motivating()
    with pytest.raises(ValueError, match="paths: got"):
        violated_antichains(instance.tree, instance.joint_draft, instance.joint_draft, paths)


def test_more_paths_than_a_power_in_rationals_can_bear_are_refused() -> None:
    instance = motivating()
    assert violated_antichains(instance.tree, instance.joint_draft, instance.joint_draft, 10_000) == []
    with pytest.raises(ValueError, match="paths: got 10001; expected at most 10000"):
        violated_antichains(instance.tree, instance.joint_draft, instance.joint_draft, 10_001)


def test_strings_and_nodes_are_numbered_alike() -> None:
    """The brute-force lists and the trees speak of the same strings."""
    tree = PrefixTree.full(3, 2)
    assert [tree.path(z) for z in range(1, len(tree))] == strings(3, 2)
