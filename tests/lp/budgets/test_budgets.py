"""Node budgets: token and block verification, stop mass, residuals, and what breaks target-matching."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp import (
    Instance,
    Violation,
    accepted_tokens,
    block_budgets,
    ranked_skewed_draft,
    residual_law,
    solve_single_path,
    stop_mass,
    target_matching_violation,
    token_budgets,
)
from nodebudget.lp.numbers.rationals import exact_array
from plain_definitions import (
    block_verification_stops,
    budgets_of_stops,
    by_string,
    joint,
    laws_of,
    token_verification_stops,
)
from strategies import case_instances, exact_instances, few, many, motivating, some, target_matching_budgets

F = Fraction


def test_the_motivating_budgets_by_hand() -> None:
    """Token: D(0) = 1/3, D(1) = 1/3, and 1/9 = 1/3 * 1/3 at every leaf. Block: "1" keeps 1/3 = q, its
    children min(q, p D): min(2/9, 1/9) and min(1/9, 2/9); below "0": min(4/9, 1/9) and min(2/9, 2/9)."""
    instance = motivating()
    third, ninth = F(1, 3), F(1, 9)
    assert token_budgets(instance).tolist() == [1, third, third, ninth, ninth, ninth, ninth]
    assert block_budgets(instance).tolist() == [1, third, third, ninth, 2 * ninth, ninth, ninth]
    assert accepted_tokens(token_budgets(instance)) == F(10, 9)
    assert accepted_tokens(block_budgets(instance)) == F(11, 9)


@pytest.mark.parametrize("name", case_instances())
def test_case_files(name: str) -> None:
    instance, expected = case_instances()[name]
    assert str(accepted_tokens(token_budgets(instance))) == expected["token_verification"]
    assert str(accepted_tokens(block_budgets(instance))) == expected["block_verification"]


@some
@given(exact_instances())
def test_the_formulas_are_the_budgets_of_the_algorithms(instance: Instance) -> None:
    """Statements 5.2 and 5.4, from the coins of the algorithms over all drafted paths."""
    token = budgets_of_stops(instance, token_verification_stops)
    assert by_string(instance, token_budgets(instance)) == token
    block = budgets_of_stops(instance, block_verification_stops)
    assert by_string(instance, block_budgets(instance)) == block


@some
@given(exact_instances())
def test_block_verification_solves_lp_1_and_dominates_token_verification(instance: Instance) -> None:
    block, token = block_budgets(instance), token_budgets(instance)
    found = solve_single_path(instance)
    assert found.certified
    assert found.value == accepted_tokens(block)
    assert found.budgets.tolist() == block.tolist(), "the optimum of LP_1 is unique"
    assert target_matching_violation(instance, block) is None
    assert target_matching_violation(instance, token) is None
    assert np.all(block <= instance.joint_draft)
    assert np.all(token <= block)


@some
@given(exact_instances(), st.data())
def test_no_solution_of_lp_1_is_larger_anywhere(instance: Instance, data: st.DataObject) -> None:
    budgets = [F(1)]
    for node in range(1, len(instance.tree)):
        ceiling = min(instance.joint_draft[node], instance.target[node] * budgets[instance.tree.parent[node]])
        budgets.append(ceiling * F(data.draw(st.integers(0, 4)), 4))
    assert np.all(exact_array(budgets) <= block_budgets(instance))


def test_block_verification_is_really_better_somewhere() -> None:
    assert accepted_tokens(token_budgets(motivating())) < accepted_tokens(block_budgets(motivating()))


@some
@given(exact_instances(shapes=((2, 2), (2, 3), (3, 2))), st.integers(1, 3), st.data())
def test_budgets_under_a_skewed_draft_follow_the_recursion(
    instance: Instance, paths: int, data: st.DataObject
) -> None:
    ranking = data.draw(st.permutations(list(instance.tree.leaves)))
    nu = ranked_skewed_draft(instance.tree, instance.joint_draft, ranking, paths)
    budgets = block_budgets(instance, nu)
    target, _ = laws_of(instance)
    table, skewed = by_string(instance, budgets), by_string(instance, nu)
    assert table[()] == 1
    for z in table:
        if z:
            assert table[z] == min(skewed[z], target[z[:-1]][z[-1]] * table[z[:-1]])
    assert block_budgets(instance, instance.joint_draft).tolist() == block_budgets(instance).tolist()


@some
@given(exact_instances(), st.data())
def test_stop_mass_sums_to_one_and_accepted_tokens_are_its_mean_length(
    instance: Instance, data: st.DataObject
) -> None:
    budgets = data.draw(target_matching_budgets(instance))
    stops = stop_mass(instance.tree, budgets)
    assert sum(stops) == 1
    lengths = instance.tree.lengths.tolist()
    assert accepted_tokens(budgets) == sum(n * mass for n, mass in zip(lengths, stops, strict=True))
    for node, mass in enumerate(stops):
        below = sum((budgets[child] for child in instance.tree.children(node)), F(0))
        assert mass == budgets[node] - below
    floats = stop_mass(instance.tree, budgets.astype(float))
    assert floats == pytest.approx([float(mass) for mass in stops], abs=1e-14)
    assert isinstance(accepted_tokens(budgets), Fraction)
    assert isinstance(accepted_tokens(budgets.astype(float)), float)


def test_the_residual_of_the_motivating_instance_by_hand() -> None:
    """Block verification: at the root p - D = (0, 1/3); at "0" D p = (1/9, 2/9) is used up; at "1" it is
    (1/9, 2/9) of which (1/9, 1/9) is."""
    instance = motivating()
    budgets = block_budgets(instance)
    assert residual_law(instance, budgets, 0).tolist() == [0, 1]
    with pytest.raises(ValueError, match="no mass stops at '0'; its residual is undefined"):
        residual_law(instance, budgets, 1)
    assert residual_law(instance, budgets, 2).tolist() == [0, 1]
    assert residual_law(instance, budgets, 3).tolist() == [F(1, 2), F(1, 2)], "uniform bonus law"
    half = exact_array([1, F(1, 6), F(1, 3), 0, 0, 0, 0])
    assert residual_law(instance, half, 0).tolist() == [F(1, 3), F(2, 3)]
    assert residual_law(instance, half, 2).tolist() == [F(1, 3), F(2, 3)]


@some
@given(exact_instances(shapes=((2, 1), (2, 2), (3, 1), (3, 2))), st.data())
def test_stopping_with_the_residual_matches_the_target(instance: Instance, data: st.DataObject) -> None:
    """Statements 2.1 and 2.3: stop at z, draw from the residual, go on with the target: the output is p."""
    budgets = data.draw(target_matching_budgets(instance))
    stops = stop_mass(instance.tree, budgets)
    target, _ = laws_of(instance)
    depth = instance.depth
    bonus = [F(1, instance.vocab)] * instance.vocab
    full = target | dict.fromkeys(itertools.product(range(instance.vocab), repeat=depth), bonus)
    out: dict[tuple[int, ...], Any] = {}
    for node, mass in enumerate(stops):
        if not mass:
            continue
        z = instance.tree.path(node)
        residual = residual_law(instance, budgets, node)
        assert sum(residual) == 1
        assert np.all(residual >= 0)
        for y in range(instance.vocab):
            for rest in itertools.product(range(instance.vocab), repeat=depth - len(z)):
                string = (*z, y, *rest)
                chance = mass * residual[y]
                for i in range(len(z) + 1, depth + 1):
                    chance *= full[string[:i]][string[i]]
                out[string] = out.get(string, F(0)) + chance
    for string in itertools.product(range(instance.vocab), repeat=depth + 1):
        assert out.get(string, F(0)) == joint(full, string)


@many
@given(exact_instances(), st.data())
def test_budgets_that_match_the_target_have_no_violation(instance: Instance, data: st.DataObject) -> None:
    budgets = data.draw(target_matching_budgets(instance))
    assert target_matching_violation(instance, budgets) is None


@many
@given(exact_instances(), st.data())
def test_every_single_violation_is_found_where_it_is(instance: Instance, data: st.DataObject) -> None:
    budgets = data.draw(target_matching_budgets(instance))
    tree, hair = instance.tree, F(1, 10**40)
    node = data.draw(st.integers(0, len(tree) - 1))
    if node == 0:
        budgets[0] += data.draw(st.sampled_from([hair, -hair]))
        found = target_matching_violation(instance, budgets)
        assert (found.kind, found.nodes, found.left, found.right) == ("root", (0,), budgets[0], 1)
        return
    # Leaves only, so that nothing below the node is concerned.
    leaf = data.draw(st.sampled_from(list(tree.leaves)))
    if data.draw(st.booleans()):
        budgets[leaf] = -hair
        assert target_matching_violation(instance, budgets) == Violation("sign", (leaf,), hair, 0)
    else:
        ceiling = instance.target[leaf] * budgets[tree.parent[leaf]]
        budgets[leaf] = ceiling + hair
        wanted = Violation("target-matching", (leaf,), ceiling + hair, ceiling)
        assert target_matching_violation(instance, budgets) == wanted


def test_violations_are_described_by_token_strings() -> None:
    instance = motivating()
    budgets = block_budgets(instance)
    budgets[4] = F(1, 4)
    found = target_matching_violation(instance, budgets)
    assert found.describe(instance.tree) == ("target-matching constraint at '0,1': 1/4 should not exceed 2/9")
    budgets[4] = F(-1, 9)
    said = target_matching_violation(instance, budgets).describe(instance.tree)
    assert said == "sign constraint at '0,1': 1/9 should not exceed 0"
    with pytest.raises(ValueError, match=r"budgets: got shape \(6,\); expected one entry per node, 7"):
        target_matching_violation(instance, budgets[:6])


def test_float_budgets_are_compared_as_they_are() -> None:
    instance = motivating().to_float()
    budgets = block_budgets(instance)
    assert target_matching_violation(instance, budgets) is None
    budgets[3] *= 1 + 1e-12
    found = target_matching_violation(instance, budgets)
    assert (found.kind, found.nodes) == ("target-matching", (3,))
    assert found.left > found.right


@few
@given(exact_instances())
def test_float_budgets_are_the_exact_ones_rounded(instance: Instance) -> None:
    for rule in (token_budgets, block_budgets):
        wanted = [float(v) for v in rule(instance)]
        assert rule(instance.to_float()) == pytest.approx(wanted, rel=1e-14)
