"""Recycling: lossless where what is drafted below a correction token was not looked at, and only there."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from nodebudget.lp import random_instance
from nodebudget.verifiers import DraftTree, get_verifier
from nodebudget.verifiers.audit import audit_exact
from nodebudget.verifiers.registry import recycle

NAMES = ("token", "bv", "gbv")
INSTANCES = {
    "flat": (random_instance("flat", 3, 2, seed=3), 2),
    "three tokens": (random_instance("flat", 2, 3, seed=3), 2),
    "zeros": (random_instance("flat", 3, 2, seed=8, zeros=0.3), 3),
    "p = q": (random_instance("identical", 3, 2, seed=3), 2),
    "one-hot": (random_instance("flat", 3, 2, seed=9, zeros=1.0), 3),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", INSTANCES)
def test_lossless_and_never_below_the_verifier_itself(name: str, case: str) -> None:
    instance, paths = INSTANCES[case]
    found, alone = (audit_exact(each, instance, paths) for each in (f"recycle:{name}", name))
    assert found.lossless, found.faults
    assert alone.accepted_tokens <= found.accepted_tokens <= found.optimum


def test_of_one_path_there_is_nothing_to_recycle() -> None:
    instance, _ = INSTANCES["flat"]
    for name in NAMES:
        found, alone = (audit_exact(each, instance, 1) for each in (f"recycle:{name}", name))
        assert (found.joint == alone.joint).all()


def test_of_one_token_and_two_paths_by_hand() -> None:
    """BV: what is left of p, where the other path has it. GBV: the same, where a better token was picked and failed."""
    for seed in range(3):
        instance = random_instance("flat", 3, 1, seed=seed)
        p, q = (dict(enumerate(law(0))) for law in (instance.target_law, instance.draft_law))
        by_hand = sum(min(p[y], q[y]) + max(0, p[y] - q[y]) * q[y] for y in p)
        assert audit_exact("recycle:bv", instance, 2).accepted_tokens == by_hand
        ranked = sorted((y for y in q if q[y]), key=lambda y: (-p[y] / q[y], y))
        nu = {y: q[y] * (q[y] + 2 * sum(q[x] for x in ranked[rank + 1 :])) for rank, y in enumerate(ranked)}
        left = sum(max(0, p[y] - nu.get(y, 0)) for y in p)
        value = sum((min(p[y], nu[y]) for y in ranked), Fraction(0))
        for rank, y in enumerate(ranked):
            failed = sum(2 * q[x] * q[y] * max(0, nu[x] - p[x]) / nu[x] for x in ranked[:rank])
            value += failed * max(0, p[y] - nu[y]) / left if left else 0
        assert audit_exact("recycle:gbv", instance, 2).accepted_tokens == value


def test_control_scores_look_at_what_is_below() -> None:
    """`mixed` picks by scores in which later tokens have a part: recycled it is not lossless, so it is refused."""
    instance, paths = INSTANCES["three tokens"]
    mixed = get_verifier("mixed")
    found = audit_exact(recycle(replace(mixed, blind_below=True)), instance, paths)
    assert not found.lossless
    assert found.total_variation > 0
    for name in ("mixed", "spectr", "traversal", "lift:nss"):
        with pytest.raises(ValueError, match=f"recycle: got {name}, which .* expected one of token, bv, gbv"):
            recycle(name)
    with pytest.raises(ValueError, match=r"recycle:bv needs i\.i\.d\. paths; got without:2,2"):
        audit_exact("recycle:bv", INSTANCES["flat"][0], drafting="without:2,2")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_floats(name: str, dtype: str, tolerance: float, kind: str) -> None:
    law = recycle(name).law
    for instance, paths in INSTANCES.values():
        for seed in range(6):
            exact = DraftTree.from_instance(instance, instance.draw_paths(paths, seed))
            rows = [np.array(rows.tolist(), dtype=float) for rows in (exact.target, exact.draft)]
            given = [torch.tensor(each) for each in rows] if kind == "torch" else rows
            joint = law(DraftTree(exact.nodes, *given, dtype=dtype)).joint()
            assert isinstance(joint, torch.Tensor if kind == "torch" else np.ndarray)
            found, wanted = (np.array(each.tolist(), dtype=float) for each in (joint, law(exact).joint()))
            assert np.abs(found - wanted).max() < tolerance
