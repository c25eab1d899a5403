"""Certificates that start from the slope programs, against other ways to the same optimum, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp import (
    Certificate,
    Instance,
    PrefixTree,
    SolverFailure,
    hit_probability,
    is_antichain,
    random_instance,
    solve_multi_path,
)
from nodebudget.lp import attempts as attempts_module
from nodebudget.lp.drafting import IidPaths, Problem
from nodebudget.lp.proofs import slope_certificates as slope_certificates_module
from nodebudget.lp.proofs.certificates import dual_bound
from nodebudget.lp.proofs.exact_simplex import NotCertified
from nodebudget.lp.proofs.face_points import point_inside
from nodebudget.lp.proofs.optimal_faces import OptimalFace
from nodebudget.lp.proofs.slope_certificates import FINENESS, certificate_from_slopes, level_antichains
from nodebudget.lp.solving.slopes import slope_phase
from strategies import exact_instances, motivating, some

F = Fraction


def from_slopes(instance: Instance, paths: int) -> Certificate:
    found = attempts_module.live_slopes(Problem(instance, IidPaths(paths)), FINENESS)
    return certificate_from_slopes(Problem(instance, IidPaths(paths)), found.weights, found.feasible)[0]


def test_levels_of_weights_by_hand() -> None:
    """Weights 1 at '0' and '1,1', half at '1': W is 1, .5 and 1.5, and t runs over three stretches."""
    tree = PrefixTree.full(2, 2)
    node = {name: tree.find(tokens) for name, tokens in {"0": (0,), "1": (1,), "11": (1, 1)}.items()}
    weights = np.zeros(len(tree))
    weights[[node["0"], node["1"], node["11"]]] = 1.0, 0.5, 1.0
    assert level_antichains(tree, weights) == [
        (node["0"], node["1"]),
        (node["0"], node["11"]),
        (node["11"],),
    ]
    weights[node["0"]] += 1e-9  # rounding makes no level of its own
    assert len(level_antichains(tree, weights)) == 3
    assert level_antichains(tree, np.zeros(len(tree))) == []


@some
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.25]), min_size=15, max_size=15))
def test_levels_are_antichains_whose_lengths_add_up_to_the_weights(numbers: list[float]) -> None:
    tree, weights = PrefixTree.full(2, 3), np.array(numbers)
    weights[0] = 0.0
    levels = level_antichains(tree, weights)
    assert all(nodes and is_antichain(tree, nodes) for nodes in levels)
    assert {z for nodes in levels for z in nodes} == set(np.flatnonzero(weights).tolist())


@some
@given(exact_instances(shapes=((2, 2), (3, 2), (2, 3))), st.integers(2, 4))
def test_it_is_the_optimum_of_the_enumerated_program(instance: Instance, paths: int) -> None:
    """Equal in rationals wherever a certificate is reached, on instances with zeros and ties."""
    wanted = solve_multi_path(instance, paths, method="enumerate")
    assert wanted.certified
    assert from_slopes(instance, paths).optimum == wanted.value


@pytest.mark.parametrize("family", ["flat", "identical", "iid", "markov"])
@pytest.mark.parametrize(("vocab", "depth", "zeros"), [(2, 5, 0.0), (4, 3, 0.0), (5, 3, 0.3)])
def test_it_is_the_optimum_of_plain_cutting_planes(
    family: str, vocab: int, depth: int, zeros: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = random_instance(family, vocab, depth, seed=2, zeros=zeros)
    monkeypatch.setattr(attempts_module, "CERTIFIED_TREE", 0)
    plain = solve_multi_path(instance, 3)
    assert plain.certified
    assert from_slopes(instance, 3).optimum == plain.value


@pytest.mark.parametrize(("similarity", "concentration"), [(0.9, 1.0), (0.5, 2.0)])
def test_where_plain_cutting_planes_stop(
    similarity: float, concentration: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts_module, "FIRST_WORK", 0)
    instance = random_instance("logits", 18, 2, 0, similarity=similarity, concentration=concentration)
    found = solve_multi_path(instance, 3)
    assert found.status == "optimal, certified"
    assert found.certificate.verify()
    assert found.proven == (found.certificate.optimum, found.certificate.optimum)
    assert found.value == float(found.certificate.optimum)
    rough = slope_phase(instance.without_leaf_laws(), 3)
    assert rough.lower * (1 - 1e-9) <= found.value <= rough.upper * (1 + 1e-9)
    assert found.rows == len(instance.tree) - 1 + found.antichain_rows


def test_budgets_lie_on_the_face_exactly() -> None:
    """Every antichain with a multiplier is met with ==, and so the budgets are worth the dual bound."""
    instance = random_instance("iid", 3, 4, seed=1)
    found = attempts_module.live_slopes(Problem(instance, IidPaths(2)), FINENESS)
    problem = Problem(instance, IidPaths(2))
    tight = certificate_from_slopes(problem, found.weights, found.feasible)[0].antichains
    assert len(tight) > 5
    face = OptimalFace(instance, 2, tight, found.feasible)
    budgets = point_inside(face, ()).budgets
    for one in tight:
        nodes = list(one.nodes)
        assert budgets[nodes].sum() == hit_probability(instance.joint_draft[nodes].sum(), 2)
    assert budgets[1:].sum() == dual_bound(instance, 2, tight)


def test_antichains_that_contradict_the_equations_are_named() -> None:
    """Half the multipliers are no dual optimum: their face has no feasible budgets, and what comes back says why."""
    instance = random_instance("iid", 3, 4, seed=1)
    found = attempts_module.live_slopes(Problem(instance, IidPaths(2)), FINENESS)
    problem = Problem(instance, IidPaths(2))
    tight = certificate_from_slopes(problem, found.weights, found.feasible)[0].antichains
    outcome = point_inside(OptimalFace(instance, 2, tight[::2], found.feasible), [one.nodes for one in tight])
    if (
        outcome.budgets is not None
    ):  # then they are not optimal: the bound of these multipliers is not attained
        assert not Certificate.build(instance, 2, outcome.budgets, tight[::2]).verify()
    else:
        assert outcome.antichains


def test_a_rough_start_is_mended_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the slope programs' weights and with poor budgets the answer is the optimum, or none."""
    instance = random_instance("iid", 2, 4, seed=3)
    wanted = solve_multi_path(instance, 2).value
    outcomes = set()
    problem, nothing = Problem(instance, IidPaths(2)), np.zeros(len(instance.tree))
    for near in (nothing, attempts_module.live_slopes(problem).feasible):
        try:
            outcomes.add(certificate_from_slopes(problem, nothing, near)[0].optimum)
        except NotCertified:
            outcomes.add(None)
    assert outcomes <= {wanted, None}


@pytest.mark.parametrize("share", [F(1, 10**30), F(-1, 10**30)])
def test_budgets_off_by_almost_nothing_certify_nothing(
    share: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: a point that is not feasible, or not optimal, by 1e-30 must not pass."""
    honest = slope_certificates_module.point_inside

    def lying(*args: Any) -> Any:
        found = honest(*args)
        budgets = found.budgets.copy()
        budgets[1:] *= 1 + share
        return replace(found, budgets=budgets)

    instance = random_instance("iid", 3, 3, seed=1)
    assert from_slopes(instance, 2).verify()
    monkeypatch.setattr(slope_certificates_module, "point_inside", lying)
    with pytest.raises(NotCertified):
        from_slopes(instance, 2)


def test_without_a_certificate_from_slopes_the_other_ways_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise NotCertified("the reason given")

    def fail(*_: Any, **__: Any) -> Any:
        raise SolverFailure("no verdict")

    instance = random_instance("logits", 10, 2, 1, similarity=0.5)
    wanted = solve_multi_path(instance, 2).certificate.optimum
    monkeypatch.setattr(attempts_module, "certificate_from_slopes", refuse)
    monkeypatch.setattr(attempts_module, "FIRST_WORK", 0)
    plain = solve_multi_path(instance, 2)
    assert plain.certificate.optimum == wanted
    with monkeypatch.context() as patch:
        patch.setattr(attempts_module, "cutting_planes", fail)
        failed = solve_multi_path(instance, 2)
    with monkeypatch.context() as patch:
        patch.setattr(attempts_module, "SMALL_TREE", 0)
        large = solve_multi_path(instance, 2)
    for found in (failed, large):
        assert found.verdict.startswith("bracketed, both ends proven, not certified")
        assert found.verdict.endswith("(the reason given)")
        assert found.proven[0] <= wanted <= found.proven[1]


def test_fine_slopes_see_what_the_tolerance_hides() -> None:
    instance = random_instance("logits", 4, 3, 0, similarity=0.5, concentration=2.0).without_leaf_laws()
    rough, fine = slope_phase(instance, 2), slope_phase(instance, 2, FINENESS)
    assert fine.upper - fine.lower < 1e-11 < rough.upper - rough.lower
    assert rough.lower <= fine.upper
    assert fine.lower <= rough.upper + 1e-9


def test_a_single_node_and_a_short_chain() -> None:
    """The motivating instance: 131/81, as by every other way."""
    assert from_slopes(motivating(), 2).optimum == F(131, 81)


def test_peaked_laws_get_the_narrower_of_two_brackets() -> None:
    """Plain cutting planes converge in floats here, but their duals prove next to nothing."""
    found = solve_multi_path(random_instance("logits", 5, 4, 4, similarity=0.5, concentration=10.0), 3)
    low, high = found.proven
    assert low < high < low * F(1001, 1000)
    assert found.bracket[0] <= low
    assert high <= found.bracket[1]
