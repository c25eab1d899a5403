"""SpecHub: lossless, greedy tree sampling when walked down, and close to the rationals in floats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from nodebudget.lp import Instance, random_instance
from nodebudget.lp.drafting.specs import parse_drafting
from nodebudget.verifiers import DraftTree, get_verifier
from nodebudget.verifiers.audit import audit_exact
from nodebudget.verifiers.verifier import ANY_DRAFTING

PAIRS = "top-sample:2,2"
INSTANCES = {
    "flat": random_instance("flat", 3, 2, seed=4),
    "zeros": random_instance("flat", 4, 2, seed=8, zeros=0.3),
    "p = q": random_instance("identical", 3, 2, seed=3),
    "one-hot": random_instance("flat", 3, 2, seed=9, zeros=1.0),
    "ties": Instance.from_laws(2, 1, {(): [1, 0]}, {(): [0.5, 0.5]}).to_exact(),
}


def pairs(instance: Instance) -> str:
    return "top-sample:" + ",".join("2" * instance.depth)


@pytest.mark.parametrize("name", ["spechub", "lift:spechub"])
@pytest.mark.parametrize("case", INSTANCES)
def test_lossless(name: str, case: str) -> None:
    found = audit_exact(name, INSTANCES[case], drafting=pairs(INSTANCES[case]))
    assert found.lossless, found.faults
    assert found.gap >= 0


def test_walked_down_it_has_the_budgets_of_greedy_tree_sampling() -> None:
    """Both serve a token off the hub with min(p, q / (1 - q(a))) and the hub wholly; only their lifts differ."""
    lifts = set()
    for seed in range(2):
        instance = random_instance("flat", 4, 2, seed=seed)
        found, wanted = (audit_exact(name, instance, drafting=PAIRS) for name in ("spechub", "greedy"))
        assert (found.joint == wanted.joint).all()
        hub, other = (audit_exact(name, instance, drafting=PAIRS) for name in ("lift:spechub", "univer"))
        lifts.add(hub.accepted_tokens == other.accepted_tokens)
    assert False in lifts


def test_any_first_draw_can_be_the_hub() -> None:
    """Statement 15.3."""
    for name in ("spechub", "lift:spechub"):
        for case in ("flat", "zeros"):
            found = audit_exact(name, INSTANCES[case], drafting="without:2,2")
            assert found.lossless, found.faults
            assert found.gap >= 0


def test_control_two_independent_draws_are_another_draft() -> None:
    wrong = replace(get_verifier("spechub"), needs=ANY_DRAFTING)
    found = audit_exact(wrong, random_instance("flat", 4, 1, seed=4), drafting="with:2")
    assert not found.lossless
    assert found.total_variation > 0
    for spec in ("with:2,2", "top-sample:3,2"):
        with pytest.raises(ValueError, match=f"spechub needs two tokens at each node.*; got {spec}"):
            audit_exact("spechub", INSTANCES["flat"], drafting=spec)


@pytest.mark.parametrize("name", ["spechub", "lift:spechub"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_floats(name: str, dtype: str, tolerance: float, kind: str) -> None:
    law = get_verifier(name).law
    for instance in INSTANCES.values():
        drafting = parse_drafting(pairs(instance))
        for nodes, _ in list(drafting.outcomes(instance))[:20]:
            exact = DraftTree.from_drawn(instance, [instance.tree.path(z) for z in nodes], drafting)
            rows = [np.array(rows.tolist(), dtype=float) for rows in (exact.target, exact.draft)]
            given = [torch.tensor(each) for each in rows] if kind == "torch" else rows
            tree = DraftTree(exact.nodes, *given, drafting=drafting, dtype=dtype)
            found = np.array(law(tree).joint().tolist(), dtype=float)
            wanted = np.array(law(exact).joint().tolist(), dtype=float)
            assert np.abs(found - wanted).max() < tolerance
