"""Closed forms: many paths, block coupling, depth one."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp import (
    Instance,
    accepted_tokens,
    block_budgets,
    block_coupling,
    depth_one_optimum,
    many_paths_floor,
    many_paths_limit,
    random_instance,
    solve_multi_path,
)
from plain_definitions import hit, joint, laws_of, strings
from strategies import case_instances, exact_instances, motivating, some

F = Fraction


def test_the_motivating_values() -> None:
    """min(p, q): 1/3 and 1/3 on one token, 1/9, 2/9, 2/9, 1/9 on two: 12/9. All strings can be drafted: 2."""
    assert block_coupling(motivating()) == F(4, 3)
    assert many_paths_limit(motivating()) == 2
    # The rarest string has q = 1/9.
    assert many_paths_floor(motivating(), 3) == 2 * (1 - F(8, 9) ** 3)


@pytest.mark.parametrize("name", case_instances())
def test_block_coupling_of_the_case_files(name: str) -> None:
    instance, expected = case_instances()[name]
    assert str(block_coupling(instance)) == expected["block_coupling"]


@some
@given(exact_instances())
def test_block_coupling_is_the_sum_and_at_least_the_single_path_optimum(instance: Instance) -> None:
    target, draft = laws_of(instance)
    nodes = strings(instance.vocab, instance.depth)
    wanted = sum((min(joint(target, z), joint(draft, z)) for z in nodes), F(0))
    for one in (instance, instance.prune()):
        assert block_coupling(one) == wanted
    assert wanted >= accepted_tokens(block_budgets(instance))
    assert block_coupling(instance.to_float()) == pytest.approx(float(wanted), rel=1e-14)


def test_prefix_matching_really_costs_something() -> None:
    assert block_coupling(motivating()) > accepted_tokens(block_budgets(motivating()))


@some
@given(exact_instances())
def test_the_limit_of_many_paths_is_the_target_mass_that_can_be_drafted(instance: Instance) -> None:
    target, draft = laws_of(instance)
    nodes = strings(instance.vocab, instance.depth)
    wanted = sum((joint(target, z) for z in nodes if joint(draft, z) > 0), F(0))
    for one in (instance, instance.prune()):
        assert many_paths_limit(one) == wanted
    assert many_paths_limit(instance.to_float()) == pytest.approx(float(wanted), rel=1e-14)


@some
@given(exact_instances(shapes=((2, 1), (2, 2), (3, 1))), st.sampled_from([1, 2, 5, 200]))
def test_the_optimum_lies_between_the_floor_and_the_limit(instance: Instance, paths: int) -> None:
    floor, limit = many_paths_floor(instance, paths), many_paths_limit(instance)
    value = solve_multi_path(instance, paths).value
    assert floor <= value <= limit
    rarest = min(t for t in instance.joint_draft if t > 0)
    assert floor == limit * hit(rarest, paths)


def test_the_limit_is_approached() -> None:
    """The rarest of the nine strings has q = 1/36: the gap at K = 2000 is below 2 (35/36)^2000 < 1e-23."""
    same = case_instances()["same_laws"][0]
    assert many_paths_limit(same) - many_paths_floor(same, 2000) < F(1, 10**23)
    deep = random_instance("flat", 2, 2, seed=1)
    gaps = [many_paths_limit(deep) - solve_multi_path(deep, paths).value for paths in (1, 4, 16, 64)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > F(1, 10)
    assert 0 <= gaps[-1] < F(1, 100)


def test_nothing_that_can_be_drafted_has_target_mass() -> None:
    instance = Instance.from_laws(2, 1, {(): [1, 0]}, {(): [0, 1]})
    assert many_paths_limit(instance) == many_paths_floor(instance, 5) == 0
    assert block_coupling(instance) == depth_one_optimum(instance, 5) == 0


def test_depth_one_by_hand() -> None:
    """p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2), K = 2. By p/q the token 0 comes first.

    S = {}: 1. S = {0}: 1 - (4/5)^2 + 1/2 = 0.86. S = {0, 1}: 1 - (1/2)^2 + 1/5 = 0.95. All: 1.
    """
    instance = Instance.from_laws(
        3, 1, {(): [F(1, 2), F(3, 10), F(1, 5)]}, {(): [F(1, 5), F(3, 10), F(1, 2)]}
    )
    assert depth_one_optimum(instance, 2) == F(43, 50)


@some
@given(exact_instances(shapes=((2, 1), (3, 1))), st.integers(1, 5))
def test_depth_one_is_the_linear_program_and_the_minimum_over_all_sets(
    instance: Instance, paths: int
) -> None:
    target, draft = (laws[()] for laws in laws_of(instance))
    least = min(
        hit(sum((draft[y] for y in chosen), F(0)), paths) + 1 - sum((target[y] for y in chosen), F(0))
        for size in range(instance.vocab + 1)
        for chosen in itertools.combinations(range(instance.vocab), size)
    )
    value = depth_one_optimum(instance, paths)
    assert value == least
    assert value == solve_multi_path(instance, paths).value
    assert value == depth_one_optimum(instance.prune(), paths)
    assert depth_one_optimum(instance.to_float(), paths) == pytest.approx(float(value), abs=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_depth_one_with_a_larger_vocabulary(seed: int) -> None:
    instance = random_instance("flat", 7, 1, seed, zeros=0.2)
    for paths in (1, 3):
        assert depth_one_optimum(instance, paths) == solve_multi_path(instance, paths).value


def test_what_the_closed_forms_refuse() -> None:
    with pytest.raises(ValueError, match="got depth 2; the closed form is for depth 1"):
        depth_one_optimum(motivating(), 2)
    for closed_form in (depth_one_optimum, many_paths_floor):
        with pytest.raises(ValueError, match="paths: got 0"):
            closed_form(random_instance("flat", 2, 1, seed=0), 0)
