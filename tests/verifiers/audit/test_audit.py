"""The exact audit lets sound verifiers pass, rejects broken ones, and says why."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import faulty_verifiers
import numpy as np
import pytest
from nodebudget.lp import Instance, load_instance, random_instance, solve_multi_path, token_budgets
from nodebudget.lp.drafting.tuples import drafted_tuples
from nodebudget.verifiers import VERIFIERS, AcceptanceLaw, DraftTree, Verifier
from nodebudget.verifiers.audit import audit_exact, draft_tree, picks
from nodebudget.verifiers.audit import exact as exact_module
from nodebudget.verifiers.audit.trial_instances import TrialInstance, default_instances

CASES = Path(__file__).parents[2] / "cases"
TRIALS = default_instances()


def motivating() -> Instance:
    return load_instance(CASES / "motivating.json")


@pytest.fixture(scope="module")
def optima() -> dict[str, object]:
    return {trial.name: solve_multi_path(trial.instance, trial.paths) for trial in TRIALS}


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
@pytest.mark.parametrize("verifier", [*VERIFIERS.values(), *faulty_verifiers.SOUND], ids=lambda v: v.name)
def test_sound_verifiers_pass(verifier: Verifier, trial: TrialInstance, optima: dict) -> None:
    found = audit_exact(verifier, trial.instance, trial.paths, optimum=optima[trial.name])
    assert found.faults == ()
    assert found.lossless
    assert found.prefix_matching
    assert found.target_matching
    assert found.total_variation == 0
    assert found.gap >= 0


@pytest.mark.parametrize("verifier", faulty_verifiers.FAULTY, ids=lambda v: v.name)
def test_faulty_verifiers_are_rejected(verifier: Verifier, optima: dict) -> None:
    audits = [audit_exact(verifier, t.instance, t.paths, optimum=optima[t.name]) for t in TRIALS]
    caught = [audit for audit in audits if not audit.lossless]
    assert caught
    assert all(audit.total_variation > 0 and audit.faults for audit in caught)


def test_budget_above_the_optimum_is_proof_of_a_fault() -> None:
    """Coins of probability w in BV: E|Z| = 25/18 on the motivating instance, above OPT_1 = 11/9."""
    broken = next(v for v in faulty_verifiers.FAULTY if v.name == "block: coins of probability w")
    found = audit_exact(broken, motivating(), 1)
    assert found.accepted_tokens == Fraction(25, 18)
    assert found.optimum == Fraction(11, 9)
    assert found.gap < 0
    assert any("above OPT_1" in fault for fault in found.faults)


def test_stopping_at_the_first_failed_coin_keeps_five_ninths() -> None:
    broken = next(v for v in faulty_verifiers.FAULTY if v.name == "block: stops at the first failure")
    found = audit_exact(broken, motivating(), 1)
    assert found.accepted_tokens == Fraction(5, 9)
    assert not found.target_matching


def test_budgets_by_enumeration_are_the_formula() -> None:
    instance = random_instance("flat", 3, 2, seed=11, zeros=0.2)
    found = audit_exact(VERIFIERS["token"], instance, 1)
    assert np.array_equal(found.budgets, token_budgets(instance))


def half(tree: DraftTree) -> AcceptanceLaw:
    """Half the mass is missing."""
    stop = np.array([Fraction(1, 2)] + [Fraction(0)] * (len(tree.nodes) - 1))
    return AcceptanceLaw(tree, stop, lambda index: tree.target[index])


def test_a_law_that_is_none_is_not_prefix_matching() -> None:
    found = audit_exact(Verifier("half", half, True, "a negative control"), motivating(), 1)
    assert not found.prefix_matching
    assert "does not sum to one" in found.faults[0]


def test_ranking_and_enumeration_agree_for_greedy() -> None:
    instance = random_instance("flat", 3, 2, seed=6, zeros=0.2)
    greedy = VERIFIERS["gbv"]
    assert greedy.pick_path is not None
    counted: dict[int, Fraction] = {}
    for leaf in instance.tree.leaves:
        counted[leaf] = Fraction(0)
    for leaves, mass in drafted_tuples(instance, 3):
        drafted = draft_tree(instance, leaves)
        picked = instance.tree.find(drafted.nodes.path(int(greedy.pick_path(drafted)[-1])))
        assert picked is not None
        counted[picked] += mass
    ranked = {leaves[0]: mass for leaves, mass in picks(greedy.pick_path, instance, 3)}
    assert {leaf: mass for leaf, mass in counted.items() if mass} == {k: v for k, v in ranked.items() if v}


def test_a_selection_that_is_no_ranking_is_refused() -> None:
    def first_drafted(tree: DraftTree) -> np.ndarray:
        return tree.nodes.path_nodes[0]

    with pytest.raises(ValueError, match="order in which paths were drafted"):
        list(picks(first_drafted, random_instance("flat", 3, 1, seed=1), 3))


def test_many_paths_of_greedy_are_audited_by_ranking() -> None:
    found = audit_exact(VERIFIERS["gbv"], load_instance(CASES / "random_v8_l2_s19.json"), 4)
    assert found.lossless
    assert found.accepted_tokens == Fraction(34355070087728207, 41133665367429120)


@pytest.mark.parametrize(
    "verifier",
    [VERIFIERS["specinfer"], Verifier("half", half, True, "a negative control")],
    ids=lambda v: v.name,
)
def test_processes_share_the_tuples_and_find_the_same(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = audit_exact(verifier, motivating(), 3)
    monkeypatch.setattr(exact_module, "PROCESSES_FROM", 10)
    monkeypatch.setattr(exact_module, "OUTCOMES_PER_TASK", 7)
    shared = audit_exact(verifier, motivating(), 3, workers=2)
    assert np.array_equal(shared.joint, alone.joint)
    assert shared.faults == alone.faults
    assert bool(shared.faults) == (verifier.name == "half")


def test_too_many_tuples_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 250000"):
        audit_exact(VERIFIERS["specinfer"], random_instance("flat", 4, 2, seed=1), 5)


def test_a_law_of_another_tree_is_refused() -> None:
    other = DraftTree.from_instance(motivating(), [[0, 0]])
    wrong = Verifier("wrong", lambda tree: VERIFIERS["bv"].law(other), True, "a negative control")
    with pytest.raises(ValueError, match="the tree it was given"):
        audit_exact(wrong, motivating(), 2)


@pytest.mark.parametrize("verifier", VERIFIERS.values(), ids=lambda v: v.name)
def test_float_laws_expect_what_the_exact_audit_finds(verifier: Verifier) -> None:
    exact = random_instance("flat", 3, 2, seed=21, zeros=0.2)
    rounded = exact.to_float()
    found = audit_exact(verifier, exact, 2)
    expected = 0.0
    for leaves, mass in drafted_tuples(exact, 2):
        expected += float(mass) * verifier.law(draft_tree(rounded, leaves)).expected_accepted
    assert abs(expected - float(found.accepted_tokens)) < 1e-12
