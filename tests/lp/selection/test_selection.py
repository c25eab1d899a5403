"""Selection rules: transports of stop mass, rule G, rankings, and greedy multi-path selection."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp import (
    Instance,
    accepted_tokens,
    block_budgets,
    greedy_skewed_draft,
    random_instance,
    ranked_skewed_draft,
    selection_from_transport,
    solve_multi_path,
    stable_greedy_skewed_draft,
    stop_mass,
    transport_stop_mass,
)
from nodebudget.lp.drafting.power_sums import power_sum
from nodebudget.lp.numbers.rationals import exact_array
from nodebudget.lp.selection.one_ranking import ratio_order
from nodebudget.lp.selection.transport import leaf_set_law
from plain_definitions import by_string, greedy_pick, hit, selection_law, tuples, worst_excess
from strategies import (
    case_instances,
    exact_instances,
    few,
    many,
    motivating,
    some,
    target_matching_budgets,
)

F = Fraction
SMALL = ((2, 1), (2, 2), (3, 1))


@some
@given(exact_instances(shapes=SMALL), st.integers(1, 3))
def test_the_law_of_the_drafted_set_is_that_of_all_tuples(instance: Instance, paths: int) -> None:
    wanted: dict[frozenset[tuple[int, ...]], Fraction] = {}
    for drafted, weight in tuples(instance, paths):
        wanted[frozenset(drafted)] = wanted.get(frozenset(drafted), F(0)) + weight
    tree = instance.tree
    got = {
        frozenset(tree.path(leaf) for leaf in leaves): mass
        for leaves, mass in leaf_set_law(instance, paths).items()
    }
    assert got == wanted


def test_budgets_can_be_realised_iff_no_antichain_is_violated() -> None:
    """Statement 3.1, on both sides of the boundary."""
    seen = set()

    @many
    @given(exact_instances(shapes=SMALL), st.integers(1, 3), st.integers(0, 5), st.data())
    def compare(instance: Instance, paths: int, least: int, data: st.DataObject) -> None:
        budgets = data.draw(target_matching_budgets(instance, least))
        transport = transport_stop_mass(instance, budgets, paths)
        seen.add(transport.complete)
        assert transport.complete == (worst_excess(instance, budgets, paths) <= 0)
        assert (transport.amount == 1) == transport.complete
        assert 0 <= transport.amount <= 1

    compare()
    assert seen == {True, False}, "both feasible and infeasible budgets must be tried"


@some
@given(exact_instances(shapes=SMALL), st.integers(1, 3))
def test_a_transport_carries_each_stop_to_sets_that_were_drafted_below_it(
    instance: Instance, paths: int
) -> None:
    budgets = solve_multi_path(instance, paths).budgets
    transport = transport_stop_mass(instance, budgets, paths)
    law, stops, tree = leaf_set_law(instance, paths), stop_mass(instance.tree, budgets), instance.tree
    for node in range(len(tree)):
        sent = sum((mass for (z, _), mass in transport.flow.items() if z == node), F(0))
        assert sent == stops[node]
    for leaves, mass in law.items():
        assert sum((m for (_, s), m in transport.flow.items() if s == leaves), F(0)) == mass
    for (node, leaves), mass in transport.flow.items():
        assert mass > 0
        prefix = tree.path(node)
        assert any(tree.path(leaf)[: len(prefix)] == prefix for leaf in leaves)


def test_a_budget_a_hair_too_large_cannot_be_carried() -> None:
    """OPT_2 of the motivating instance has the tight antichain "1": D(1) = f(1/3) = 5/9."""
    instance = motivating()
    budgets = solve_multi_path(instance, 2).budgets
    assert budgets[2] == F(5, 9)
    assert transport_stop_mass(instance, budgets, 2).complete
    hair = F(1, 10**30)
    budgets = budgets.copy()
    budgets[2] += hair
    transport = transport_stop_mass(instance, budgets, 2)
    assert not transport.complete
    assert transport.amount == 1 - hair
    with pytest.raises(ValueError, match=r"only 9+/10+ of the stop mass could be carried"):
        selection_from_transport(instance, transport)


@some
@given(exact_instances(shapes=SMALL), st.integers(1, 3))
def test_rule_g_attains_the_optimum(instance: Instance, paths: int) -> None:
    """Statement 6.1: D <= nu everywhere, and block verification under nu has the value OPT_K."""
    found = solve_multi_path(instance, paths)
    nu = selection_from_transport(instance, transport_stop_mass(instance, found.budgets, paths))
    assert nu[0] == 1
    assert np.all(found.budgets <= nu)
    assert accepted_tokens(block_budgets(instance, nu)) == found.value
    for node in range(instance.tree.leaves.start):
        assert nu[node] == sum((nu[child] for child in instance.tree.children(node)), F(0))
    for size in range(1, len(instance.tree.leaves) + 1):
        for chosen in itertools.combinations(instance.tree.leaves, size):
            mass = sum((instance.joint_draft[z] for z in chosen), F(0))
            assert sum((nu[z] for z in chosen), F(0)) <= hit(mass, paths)


def test_a_transport_needs_exact_budgets_of_an_algorithm() -> None:
    instance = motivating()
    with pytest.raises(ValueError, match="exact budgets"):
        transport_stop_mass(instance, block_budgets(instance.to_float()), 2)
    with pytest.raises(ValueError, match="less budget than its children"):
        transport_stop_mass(instance, exact_array([1, F(1, 3), 0, F(1, 2), 0, 0, 0]), 2)
    with pytest.raises(ValueError, match="paths: got 0"):
        transport_stop_mass(instance, block_budgets(instance), 0)


@some
@given(exact_instances(shapes=SMALL), st.integers(1, 3), st.data())
def test_a_ranking_gives_the_law_of_the_highest_ranked_path(
    instance: Instance, paths: int, data: st.DataObject
) -> None:
    """Statement 6.2, against all tuples of drafted paths."""
    tree = instance.tree
    ranking = data.draw(st.permutations(list(tree.leaves)))
    place = {tree.path(leaf): i for i, leaf in enumerate(ranking)}
    wanted = selection_law(instance, paths, lambda drafted: min(drafted, key=place.__getitem__))
    nu = ranked_skewed_draft(tree, instance.joint_draft, ranking, paths)
    assert by_string(instance, nu) == wanted
    floats = ranked_skewed_draft(tree, instance.joint_draft.astype(float), ranking, paths)
    assert floats == pytest.approx([float(v) for v in nu], abs=1e-14)


def test_the_direction_of_the_ranking_matters() -> None:
    instance = motivating()
    up = ranked_skewed_draft(instance.tree, instance.joint_draft, [3, 4, 5, 6], 2)
    down = ranked_skewed_draft(instance.tree, instance.joint_draft, [6, 5, 4, 3], 2)
    # The best leaf "0,0" has q = 4/9: 1 - (5/9)^2; as the worst, (4/9)^2.
    assert (up[3], down[3]) == (F(56, 81), F(16, 81))


@pytest.mark.parametrize("ranking", [[3, 4, 5], [3, 3, 4, 5], [2, 3, 4, 5], []])
def test_a_ranking_must_have_every_leaf_once(ranking: list[int]) -> None:
    instance = motivating()
    with pytest.raises(ValueError, match="every leaf exactly once"):
        ranked_skewed_draft(instance.tree, instance.joint_draft, ranking, 2)


@some
@given(exact_instances(shapes=((2, 1), (2, 2), (2, 3), (3, 1), (3, 2))), st.integers(1, 2))
def test_greedy_selection_is_the_law_of_all_tuples(instance: Instance, paths: int) -> None:
    """Statement 6.3: highest p/q from the root down, ties to the smaller token; both forms of nu."""
    wanted = selection_law(instance, paths, greedy_pick(instance))
    assert by_string(instance, greedy_skewed_draft(instance, paths)) == wanted
    assert by_string(instance, stable_greedy_skewed_draft(instance, paths)) == wanted


@few
@given(exact_instances(shapes=((2, 2), (3, 1)), least=1))
def test_greedy_selection_of_three_and_four_paths(instance: Instance) -> None:
    for paths in (3, 4):
        wanted = selection_law(instance, paths, greedy_pick(instance))
        assert by_string(instance, greedy_skewed_draft(instance, paths)) == wanted
        assert by_string(instance, stable_greedy_skewed_draft(instance, paths)) == wanted


def test_another_tie_rule_gives_another_law() -> None:
    """With p = q every ratio is 1: the smaller token is the better one, and only this fixed order is nu."""
    instance = case_instances()["same_laws"][0]
    nu = greedy_skewed_draft(instance, 2)
    assert nu[1:4].tolist() == [1 - F(1, 2) ** 2, F(1, 2) ** 2 - F(1, 6) ** 2, F(1, 6) ** 2]
    larger = selection_law(instance, 2, max)
    assert by_string(instance, nu) != larger


@pytest.mark.parametrize(
    ("name", "paths"),
    [(name, int(k)) for name, (_, expected) in case_instances().items() for k in expected["paths"]],
)
def test_greedy_values_of_the_case_files(name: str, paths: int) -> None:
    instance, expected = case_instances()[name]
    wanted = expected["paths"][str(paths)]["greedy_multipath"]
    for form in (greedy_skewed_draft, stable_greedy_skewed_draft):
        value = accepted_tokens(block_budgets(instance, form(instance, paths)))
        assert str(value) == wanted


@some
@given(exact_instances(), st.integers(1, 4))
def test_greedy_is_feasible_and_at_most_the_optimum(instance: Instance, paths: int) -> None:
    nu = greedy_skewed_draft(instance, paths)
    assert stable_greedy_skewed_draft(instance, paths).tolist() == nu.tolist()
    if paths == 1:
        assert nu.tolist() == instance.joint_draft.tolist()
    budgets = block_budgets(instance, nu)
    assert accepted_tokens(budgets) <= solve_multi_path(instance, paths).value
    assert worst_excess(instance, budgets, paths) <= 0


def test_greedy_can_be_below_block_verification() -> None:
    """Statement 6.5: with p = q block verification accepts everything, greedy selection does not."""
    instance = case_instances()["same_laws"][0]
    greedy = [accepted_tokens(block_budgets(instance, greedy_skewed_draft(instance, k))) for k in (1, 2, 3)]
    assert greedy == [2, F(211, 144), F(523, 432)]


@pytest.mark.parametrize("paths", [1, 2, 7, 16, 64])
def test_the_stable_form_keeps_its_digits(paths: int) -> None:
    worst = 0.0
    for seed in range(4):
        instance = random_instance("flat", 3, 3, seed, zeros=0.2)
        exact = greedy_skewed_draft(instance, paths)
        floats = stable_greedy_skewed_draft(instance.to_float(), paths)
        for got, wanted in zip(floats, exact, strict=True):
            assert (got > 0) == (wanted > 0)
            if wanted:
                worst = max(worst, abs(float((F(float(got)) - wanted) / wanted)))
    assert worst < 1e-12


def test_the_stable_form_keeps_its_digits_on_peaked_laws() -> None:
    for seed, paths in itertools.product(range(3), (2, 8, 64)):
        peaked = random_instance("logits", 4, 3, seed, concentration=15.0)
        exact = greedy_skewed_draft(peaked.to_exact(), paths)
        floats = stable_greedy_skewed_draft(peaked, paths)
        assert floats == pytest.approx([float(v) for v in exact], rel=1e-12, abs=1e-290)


def test_the_stable_form_keeps_its_digits_where_almost_all_mass_is_on_one_path() -> None:
    """rho = 1 - t at "0", with t = 1e-12: one minus rho has no digits left unless it is computed as itself.

    The best first token is "0", and "0,1" the worst string below it: A = t, x = t (1 - t), so on two paths
    nu("0,1") = (t + t - t^2)^2 - t^2.
    """
    t = F(1, 10**12)
    target = {context: [1, 0] for context in ((), (0,), (1,))}
    instance = Instance.from_laws(2, 2, target, {context: [1 - t, t] for context in target})
    wanted = (2 * t - t * t) ** 2 - t * t
    assert greedy_skewed_draft(instance, 2)[4] == wanted
    found = stable_greedy_skewed_draft(instance.to_float(), 2)[4]
    assert found == pytest.approx(float(wanted), rel=1e-12, abs=0)


def test_the_plain_form_would_not_keep_them() -> None:
    """The negative control: the difference of powers loses digits that the stable form keeps."""
    peaked = random_instance("logits", 4, 3, seed=0, concentration=15.0)
    exact = [float(v) for v in greedy_skewed_draft(peaked.to_exact(), 64)]
    assert greedy_skewed_draft(peaked, 64) != pytest.approx(exact, rel=1e-12, abs=0)


@given(st.fractions(0, 1, max_denominator=9), st.fractions(0, 1, max_denominator=9), st.integers(1, 9))
@many
def test_power_sums_are_the_difference_quotient(a: Fraction, b: Fraction, paths: int) -> None:
    if a == b:
        assert power_sum(paths, a, b) == paths * a ** (paths - 1)
    else:
        assert power_sum(paths, a, b) == (a**paths - b**paths) / (a - b)


@some
@given(exact_instances(shapes=((3, 1), (3, 2))))
def test_the_order_of_the_children(instance: Instance) -> None:
    tree, order = instance.tree, ratio_order(instance)
    assert sorted(order) == list(range(len(tree)))
    for node in range(tree.leaves.start):
        children = tree.children(node)
        ranked = order[children.start : children.stop].tolist()
        assert sorted(ranked) == list(children)
        drafted = [c for c in ranked if instance.draft[c] > 0]
        assert ranked[len(ranked) - len(drafted) :] == drafted
        keys = [(instance.target[c] / instance.draft[c], -int(tree.token[c])) for c in drafted]
        assert keys == sorted(keys)


def test_ties_that_rounding_splits_are_still_ties() -> None:
    """1/3 = 3/9, but the floats 0.01/0.03 and 0.03/0.09 differ; the third token is better than both."""
    target, draft = {(): [0.01, 0.03, 0.96]}, {(): [0.03, 0.09, 0.88]}
    assert 0.01 / 0.03 != 0.03 / 0.09
    for order in ([0, 1, 2], [1, 0, 2]):
        one = Instance.from_laws(
            3, 1, {(): [target[()][y] for y in order]}, {(): [draft[()][y] for y in order]}
        )
        assert ratio_order(one).tolist() == [0, 2, 1, 3]


# A sparse instance has the same laws on a smaller tree: what is drafted off the tree must still count.


def dead_branches() -> list[Instance]:
    return [random_instance("flat", 3, 2, seed, zeros=0.4) for seed in range(6)]


@pytest.mark.parametrize("form", [greedy_skewed_draft, stable_greedy_skewed_draft])
@pytest.mark.parametrize("paths", [1, 2, 3])
def test_greedy_selection_on_the_pruned_tree_is_that_on_the_full_tree(form: object, paths: int) -> None:
    for instance in dead_branches():
        on_full, on_pruned = form(instance, paths), form(instance.prune(), paths)
        assert on_pruned.tolist() == on_full[instance.live].tolist()


@pytest.mark.parametrize("paths", [1, 2])
def test_a_transport_on_the_pruned_tree_is_complete_or_refused(paths: int) -> None:
    for instance in dead_branches():
        pruned = instance.prune()
        budgets = solve_multi_path(pruned, paths).budgets
        try:
            transport = transport_stop_mass(pruned, budgets, paths)
        except ValueError as error:
            assert "sparse" in str(error)  # noqa: PT017
            continue
        assert transport.complete


def test_the_pruned_trees_really_lack_drafted_paths() -> None:
    lost = [
        sum(i.joint_draft[i.tree.leaves.start :]) - sum(i.prune().joint_draft[i.prune().tree.leaves.start :])
        for i in dead_branches()
    ]
    assert max(lost) > 0
