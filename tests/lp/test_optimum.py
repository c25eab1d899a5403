"""OPT_K solved and certified; honest answers where no proof is reached."""

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
    NotCertified,
    SolverFailure,
    Status,
    accepted_tokens,
    block_budgets,
    many_paths_floor,
    many_paths_limit,
    random_instance,
    solve_multi_path,
    solve_single_path,
    target_matching_violation,
    violated_antichains,
)
from nodebudget.lp import attempts as attempts_module
from nodebudget.lp.proofs import basis_certificates
from nodebudget.lp.solving import cutting_planes as cutting_planes_module
from nodebudget.lp.solving import sessions as sessions_module
from nodebudget.lp.solving.sessions import HighsSession
from plain_definitions import float_optimum, worst_excess
from strategies import CASES, case_instances, exact_instances, few, motivating, some

F = Fraction
CASE_PATHS = [
    (name, int(paths)) for name, (_, expected) in case_instances().items() for paths in expected["paths"]
]


@pytest.mark.parametrize(("name", "paths"), CASE_PATHS)
def test_case_files_are_matched_as_rational_strings(name: str, paths: int) -> None:
    instance, expected = case_instances()[name]
    wanted = expected["paths"][str(paths)]
    found = solve_multi_path(instance, paths)
    assert str(found.value) == wanted["optimum"]
    assert isinstance(found.value, Fraction)
    assert found.certified
    assert found.status == "optimal, certified"
    assert found.certificate.verify()
    assert accepted_tokens(found.budgets) == found.value
    assert found.block_efficiency == found.value + 1
    assert found.bracket == (float(found.value),) * 2
    if paths == 1:
        assert solve_single_path(instance).value == found.value
        assert str(found.value) == expected["block_verification"]


def test_the_off_path_pair_has_its_expected_optima() -> None:
    import json

    from nodebudget.lp import instance_from_json

    document = json.loads((CASES / "offpath.json").read_text(encoding="utf-8"))
    instances = [instance_from_json(one) for one in document["instances"]]
    values = [solve_multi_path(instance, 2).value for instance in instances]
    assert [str(value) for value in values] == document["expected"]["2"]["optima"]
    ones = [solve_single_path(instance).value for instance in instances]
    assert float(sum(ones)) == pytest.approx(document["expected"]["1"]["sum_of_optima"], abs=1e-8)


@pytest.mark.parametrize(("paths", "value"), [(1, F(11, 9)), (2, F(131, 81)), (3, F(1351, 729))])
@pytest.mark.parametrize("method", ["cuts", "enumerate"])
def test_the_motivating_values(method: str, paths: int, value: Fraction) -> None:
    assert solve_multi_path(motivating(), paths, method=method).value == value


@some
@given(exact_instances(), st.integers(1, 3))
def test_cuts_and_enumeration_agree_exactly_and_with_the_definition(instance: Instance, paths: int) -> None:
    cuts = solve_multi_path(instance, paths)
    listed = solve_multi_path(instance, paths, method="enumerate")
    assert cuts.certified
    assert listed.certified
    assert cuts.value == listed.value
    assert float(cuts.value) == pytest.approx(float_optimum(instance, paths), abs=1e-7)
    for found in (cuts, listed):
        assert target_matching_violation(instance, found.budgets) is None
        assert worst_excess(instance, found.budgets, paths) <= 0


@some
@given(exact_instances())
def test_the_optimum_grows_with_the_number_of_paths(instance: Instance) -> None:
    values = [solve_multi_path(instance, paths).value for paths in (1, 2, 3, 6)]
    assert values == sorted(values)
    assert values[0] == solve_single_path(instance).value == accepted_tokens(block_budgets(instance))
    assert values[-1] <= many_paths_limit(instance) <= instance.depth
    assert values[-1] >= many_paths_floor(instance, 6)


def test_probabilities_far_below_the_solvers_tolerance_are_not_taken_for_zero() -> None:
    """With p = 1 on the token 0 and q(0) = t at every step, BV accepts t, then t^2 more."""
    tiny = F(1, 10**30)
    target = {(): [1, 0], (0,): [1, 0], (1,): [1, 0]}
    draft = {context: [tiny, 1 - tiny] for context in target}
    instance = Instance.from_laws(2, 2, target, draft)
    assert solve_multi_path(instance, 1).value == tiny + tiny**2
    # On K paths both nodes are at their ceilings: D(z) = f(q(z)), since p allows everything.
    assert solve_multi_path(instance, 3).value == (1 - (1 - tiny) ** 3) + (1 - (1 - tiny**2) ** 3)


def test_disjoint_laws_accept_nothing() -> None:
    instance = Instance.from_laws(2, 2, {(): [1, 0], (0,): [1, 0], (1,): [1, 0]},
                                  {(): [0, 1], (0,): [1, 0], (1,): [1, 0]})  # fmt: skip
    for method in ("cuts", "enumerate"):
        found = solve_multi_path(instance, 2, method=method)
        assert found.certified
        assert found.value == 0
        assert found.budgets.tolist() == [1, 0, 0, 0, 0, 0, 0]


def test_identical_laws_accept_everything() -> None:
    instance = random_instance("identical", 3, 2, seed=3)
    for paths in (1, 4):
        assert solve_multi_path(instance, paths).value == 2


def test_without_certification_the_answer_is_a_float_and_says_so() -> None:
    found = solve_multi_path(motivating(), 2, certify=False)
    assert not found.certified
    assert found.certificate is None
    assert isinstance(found.value, float)
    assert found.value == pytest.approx(131 / 81, abs=1e-9)
    assert found.verdict == "optimal in floats, not certified (certification was not asked for)"
    assert found.budgets.dtype == np.float64


@pytest.mark.parametrize("family", ["flat", "logits"])
def test_float_instances_are_certified_on_their_rational_reading(family: str) -> None:
    instance = random_instance(family, 3, 2, seed=1).to_float()
    found = solve_multi_path(instance, 2)
    assert found.certified
    assert isinstance(found.value, float)
    assert found.budgets.dtype == np.float64
    exact = solve_multi_path(instance.to_exact(), 2)
    assert found.value == float(exact.value)
    assert found.certificate.optimum == exact.value
    assert found.value == pytest.approx(float_optimum(instance, 2), abs=1e-7)


PEAKED = list(itertools.product(((2, 3), (3, 2)), (0.5, 0.9), (1, 2, 4), range(3)))


@pytest.mark.parametrize(("shape", "similarity", "paths", "seed"), PEAKED)
def test_peaked_laws_are_certified_or_honestly_not(
    shape: tuple[int, int], similarity: float, paths: int, seed: int
) -> None:
    instance = random_instance("logits", *shape, seed, similarity=similarity, concentration=15.0)
    assert max(instance.target[1:]) > 0.99
    found = solve_multi_path(instance, paths)
    independent = float_optimum(instance, paths)
    lower, upper = found.bracket
    assert lower <= upper
    if found.certified:
        assert found.status == "optimal, certified"
        assert found.certificate.verify()
        assert found.value == pytest.approx(independent, abs=1e-6)
        assert found.value == float(found.certificate.optimum)
    else:
        assert "not certified" in found.verdict
        assert lower - 1e-6 <= independent <= upper + 1e-6
    if paths == 1:
        assert found.value == pytest.approx(accepted_tokens(block_budgets(instance)), rel=1e-9)


@pytest.mark.parametrize("said", [Status.INFEASIBLE, Status.UNBOUNDED, Status.UNKNOWN])
@pytest.mark.parametrize("method", ["cuts", "enumerate"])
def test_a_solver_that_reports_no_optimum_is_a_failure(
    said: Status, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HighsSession, "_status", lambda _: said)
    monkeypatch.setattr(attempts_module, "CERTIFIED_TREE", 0)
    for certify in (True, False):
        with pytest.raises(SolverFailure, match=f"the float solver said '{said.value}', not optimal"):
            solve_multi_path(motivating(), 2, method=method, certify=certify)
    with pytest.raises(SolverFailure, match="LP_1"):
        solve_single_path(motivating())


def test_a_warm_start_without_a_verdict_is_tried_from_scratch() -> None:
    """An instance on which HiGHS ends as "unknown" in the middle of the cutting planes; its proof is exact."""
    instance = random_instance("logits", 3, 5, seed=9, similarity=0.5, concentration=2.0)
    assert solve_multi_path(instance, 2).certified


def test_a_solver_that_stops_early_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS itself, told to do no iteration: a status that the table does not call optimal."""
    quiet = sessions_module._quiet_highs

    def hurried() -> Any:
        highs = quiet()
        highs.setOptionValue("presolve", "off")
        highs.setOptionValue("simplex_iteration_limit", 0)
        return highs

    monkeypatch.setattr(sessions_module, "_quiet_highs", hurried)
    with pytest.raises(SolverFailure, match="'unknown', not optimal"):
        solve_multi_path(motivating(), 2)


def test_a_basis_that_cannot_be_made_exact_leaves_an_honest_float(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise NotCertified("the reason given")

    monkeypatch.setattr(attempts_module, "CERTIFIED_TREE", 0)
    monkeypatch.setattr(basis_certificates, "exact_optimum", refuse)
    found = solve_multi_path(motivating(), 2)
    assert not found.certified
    assert found.verdict == "optimal in floats, not certified (the reason given)"
    assert isinstance(found.value, float)
    assert found.value == pytest.approx(131 / 81, abs=1e-9)


def test_a_certificate_that_does_not_verify_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exact phase that lies about one dual must be caught by the verification."""
    honest = basis_certificates.exact_optimum

    def lying(*args: Any, **options: Any) -> Any:
        from dataclasses import replace

        found = honest(*args, **options)
        return replace(found, duals=tuple(dual * F(1001, 1000) for dual in found.duals))

    monkeypatch.setattr(attempts_module, "CERTIFIED_TREE", 0)
    monkeypatch.setattr(basis_certificates, "exact_optimum", lying)
    found = solve_multi_path(motivating(), 2)
    assert found.certificate is None
    assert "not certified (the multipliers prove the bound" in found.verdict


def test_too_many_nodes_for_a_certificate_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts_module, "SMALL_TREE", 6)
    monkeypatch.setattr(attempts_module, "CERTIFIED_TREE", 6)
    found = solve_multi_path(motivating(), 2)
    assert found.certificate is None
    assert found.verdict.endswith("(the tree has 7 nodes; certificates are tried up to 6)")
    assert found.value == pytest.approx(131 / 81, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limit", [0, 100_000])
def test_a_float_phase_cut_short_gives_a_bracket(
    seed: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = random_instance("logits", 16, 2, seed, similarity=0.5, concentration=2.0)
    monkeypatch.setattr(cutting_planes_module, "WORK_LIMIT", limit)
    monkeypatch.setattr(attempts_module, "CERTIFIED_TREE", 0)
    found = solve_multi_path(instance, 2)
    lower, upper = found.bracket
    assert found.certificate is None
    assert found.verdict.startswith(
        f"bracketed, both ends proven, not certified: between {lower} and {upper} ("
    )
    assert "(the cutting planes stopped after " in found.verdict
    assert lower < upper <= lower * (1 + 1e-5)
    assert lower <= found.proven[0] <= found.proven[1] <= upper
    assert found.value == upper
    assert accepted_tokens(found.budgets) == pytest.approx(lower, rel=1e-8)
    # The budgets are feasible up to the rounding and the stated tolerance of the float oracle.
    tree, budgets = instance.tree, found.budgets
    assert budgets[0] == 1
    assert np.all(budgets >= 0)
    assert np.all(budgets[1:] <= instance.target[1:] * budgets[tree.parent[1:]] * (1 + 1e-12) + 1e-15)
    assert violated_antichains(tree, budgets, instance.joint_draft, 2, tolerance=2e-9) == []
    # Block verification on the first path is always possible.
    assert lower >= accepted_tokens(block_budgets(instance)) - 1e-12


@few
@given(exact_instances(shapes=((2, 3), (3, 2))), st.integers(2, 3))
def test_the_bracket_holds_the_true_optimum(instance: Instance, paths: int) -> None:
    true = float(solve_multi_path(instance, paths).value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting_planes_module, "WORK_LIMIT", -1)
        patch.setattr(attempts_module, "CERTIFIED_TREE", 0)
        found = solve_multi_path(instance, paths)
    lower, upper = found.bracket
    assert lower - 1e-12 <= true <= upper + 1e-12
    if not found.certified:
        assert found.verdict.startswith("bracketed, both ends proven, not certified")
        assert found.value == upper


def test_the_bracket_is_really_tried() -> None:
    """At least one small instance needs more than one round, so that cutting short matters."""
    rounds = [solve_multi_path(random_instance("flat", 3, 2, seed), 2).rounds for seed in range(5)]
    assert max(rounds) > 1


@pytest.mark.parametrize("paths", [0, -3, 2.0, True, None])
def test_paths_must_be_a_positive_integer(paths: object) -> None:
    for method in ("cuts", "enumerate"):
        with pytest.raises(ValueError, match=r"paths: got .*; expected an integer of at least 1"):
            solve_multi_path(motivating(), paths, method=method)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match="method: got 'guess'; expected 'cuts' or 'enumerate'"):
        solve_multi_path(motivating(), 2, method="guess")


def test_the_counts_that_are_reported() -> None:
    listed = solve_multi_path(motivating(), 2, method="enumerate")
    assert (listed.rows, listed.antichain_rows, listed.rounds) == (30, 24, 1)
    single = solve_single_path(motivating())
    assert (single.rows, single.antichain_rows, single.rounds) == (12, 6, 1)
