"""Users' node rules: what they are shown, what they may say, and how a wrong answer is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from nodebudget.lp import OnPath, Selection, in_floats, neutral, random_instance, ratio_ranking, skewed_draft
from nodebudget.lp.selection.rule_answers import ask
from nodebudget.verifiers import DraftTree, get_verifier, mixed_verifier
from nodebudget.verifiers.algorithms import mixed_multipath
from nodebudget.verifiers.audit import audit_exact

INSTANCE = random_instance("flat", 3, 2, seed=5)


def halves(data: OnPath) -> np.ndarray:
    """The tokens that the target wants more of than the draft gives, above the others."""
    shown = in_floats(data)
    return (shown.target < shown.draft).astype(np.int64)[:, None]


def test_a_rule_of_ones_own_is_lossless_and_has_its_budgets() -> None:
    verifier = mixed_verifier(Selection(halves))
    found = audit_exact(verifier, INSTANCE, 2)
    assert found.lossless
    assert (verifier.budgets(INSTANCE, 2) == found.budgets).all()
    # It does better than one class, so the rule was asked.
    assert (
        found.accepted_tokens > audit_exact(mixed_verifier(Selection(neutral)), INSTANCE, 2).accepted_tokens
    )


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.uint64])
def test_any_integers_are_classes(kind: type) -> None:
    def rule(data: OnPath) -> np.ndarray:
        return halves(data).astype(kind)

    nu, budgets = skewed_draft(INSTANCE, 2, Selection(rule))
    wanted = skewed_draft(INSTANCE, 2, Selection(halves))
    assert (nu == wanted[0]).all()
    assert (budgets == wanted[1]).all()


def test_families_may_be_fractions() -> None:
    thirds = Selection(ratio_ranking, [Fraction(1, 3)] * 3)  # type: ignore[arg-type]
    assert (
        skewed_draft(INSTANCE, 2, thirds)[0] == skewed_draft(INSTANCE, 2, Selection(ratio_ranking))[0]
    ).all()
    floats = skewed_draft(INSTANCE.to_float(), 2, thirds)[0]
    assert np.abs(floats - skewed_draft(INSTANCE, 2, thirds)[0].astype(float)).max() < 1e-12


ANSWERS: dict[str, tuple[Callable[[OnPath], Any], str]] = {
    "floats": (lambda data: halves(data) * 1.0, "got float64; expected integers"),
    "bool": (lambda data: halves(data) > 0, "got bool; expected integers"),
    "objects": (lambda data: halves(data).astype(object), "got object; expected integers"),
    "list": (lambda data: halves(data).tolist(), "got list; expected a numpy array"),
    "none": (lambda data: None, "got NoneType; expected a numpy array"),
    "tensor": (lambda data: torch.tensor(halves(data)), "got Tensor; expected a numpy array"),
    "shape": (lambda data: halves(data)[:, 0], r"got shape \(1, 3\); expected \(1, 1, 3\): the class"),
    "large": (lambda data: halves(data) * 2**61, "got classes from 0 to 2305843009213693952; expected"),
    "lowest": (lambda data: halves(data) - 2**62, "got classes from -4611686018427387904"),
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "float"])
def test_answers_that_are_no_classes(name: str, exact: bool) -> None:
    rule, message = ANSWERS[name]
    with pytest.raises(ValueError, match=f"node rule: {message}"):
        skewed_draft(INSTANCE if exact else INSTANCE.to_float(), 2, Selection(rule))


def test_a_rule_cannot_change_the_laws() -> None:
    def rule(data: OnPath) -> np.ndarray:
        data.draft[0, 0] = data.draft[0, 1]
        return halves(data)

    for instance in (INSTANCE, INSTANCE.to_float()):
        with pytest.raises(ValueError, match="read-only"):
            skewed_draft(instance, 2, Selection(rule))


def test_a_rule_that_draws_lots_is_no_rule() -> None:
    rng = np.random.default_rng(0)

    def rule(data: OnPath) -> np.ndarray:
        return rng.permutation(3)[None, None]

    with pytest.raises(ValueError, match="got other classes for the same numbers when asked again"):
        audit_exact(mixed_verifier(Selection(rule)), INSTANCE, 2)


@pytest.mark.parametrize(
    ("rule", "options", "message"),
    [
        (5, {}, "rule: got 5; expected a function"),
        (neutral, {"families": (0.1,) * 10}, "expected positive probabilities that sum to one exactly"),
        (neutral, {"families": (1.5, -0.5)}, "expected positive probabilities"),
        (neutral, {"families": 1.0}, "families: got 1.0"),
        (neutral, {"families": ("half",) * 2}, "families: got"),
        (neutral, {"depth_one_steps": 0.5}, "depth_one_steps: got 0.5; expected a whole number"),
    ],
)
def test_selections_that_are_none(rule: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Selection(rule, **options)


def test_a_rule_in_the_place_of_a_selection() -> None:
    with pytest.raises(ValueError, match="expected a Selection, such as Selection"):
        skewed_draft(INSTANCE, 2, neutral)  # type: ignore[arg-type]


def test_a_tensor_is_asked_of_a_rule_for_tensors() -> None:
    tree = DraftTree.from_instance(INSTANCE.to_float(), [[0, 1], [2, 2]])
    law = mixed_multipath.law(tree, Selection(halves))
    assert abs(float(law.joint().sum()) - 1) < 1e-12
    on_device = OnPath(
        torch.tensor(tree.target[:1]), torch.tensor(tree.draft[:1]), torch.ones(1), torch.ones(1, 1, 2), 2, 0
    )
    with pytest.raises(ValueError, match="got ndarray; expected a tensor on cpu"):
        ask(lambda data: np.zeros((1, 1, 3), dtype=np.int64), on_device)
    large = ask(lambda data: torch.tensor([[[0, 2**62, -(2**62)]]]), on_device)
    assert large.tolist() == [[[0, 2**31, -(2**31)]]]


def test_a_verifier_object_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules_of_mine.py").write_text(
        "from nodebudget.lp import Selection, ratio_ranking\n"
        "from nodebudget.verifiers import mixed_verifier\n"
        "by_ratio = mixed_verifier(Selection(ratio_ranking))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    verifier = get_verifier("rules_of_mine:by_ratio")
    assert verifier.name == "rules_of_mine:by_ratio"
    assert verifier.scores is not None
    assert (
        audit_exact(verifier, INSTANCE, 2).accepted_tokens
        == audit_exact(get_verifier("gbv"), INSTANCE, 2).accepted_tokens
    )
