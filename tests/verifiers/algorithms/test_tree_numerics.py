"""Verifiers of drafted trees in floats: the law in rationals, up to rounding, with many children and many copies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from nodebudget.lp.drafting.specs import parse_drafting
from nodebudget.verifiers import DraftTree, TreeNodes, get_verifier

VOCAB = 20
NAMES = {
    "with:64,2": ("nss", "recursive-rejection", "lift:recursive-rejection", "lift:nss"),
    "without:16,4": ("nss", "recursive-rejection", "lift:recursive-rejection"),
    "top-sample:16,4": ("nss", "greedy", "univer"),
}
CASES = [(spec, name, kind) for spec, names in NAMES.items() for name in names for kind in ("flat", "peaked")]


def rows(rng: np.random.Generator, count: int, kind: str) -> np.ndarray[Any, Any]:
    """Random laws; peaked ones have entries from 1e-9 up, and a few zeros."""
    logits = rng.normal(size=(count, VOCAB)) * (8 if kind == "peaked" else 1)
    laws = np.exp(logits - logits.max(axis=1, keepdims=True))
    if kind == "peaked":
        laws[rng.random(laws.shape) < 0.1] = 0
        laws[:, 0] += 0.1
    return laws / laws.sum(axis=1, keepdims=True)


def drawn_tree(spec: str, kind: str, seed: int) -> tuple[TreeNodes, Any, Any, Any]:
    """A tree drawn from random laws, and its rows at its nodes, of target and draft."""
    rng = np.random.default_rng(seed)
    drafting = parse_drafting(spec)
    counts = drafting.children
    root, below = rows(rng, 1, kind), rows(rng, VOCAB, kind)

    def draw(law: np.ndarray[Any, Any], count: int) -> list[int]:
        live = np.flatnonzero(law > 0)
        if spec.startswith("with:"):
            return rng.choice(VOCAB, size=count, p=law).tolist()
        if spec.startswith("without:"):
            return rng.choice(VOCAB, size=min(count, len(live)), replace=False, p=law).tolist()
        likely = sorted(live.tolist(), key=lambda y: (-law[y], y))
        top, rest = likely[: count - 1], likely[count - 1 :]
        if not rest:
            return top
        return [*top, int(rng.choice(rest, p=law[rest] / law[rest].sum()))]

    strings = [(y,) for y in draw(root[0], counts[0])]
    strings += [(y, x) for (y,) in list(strings) for x in draw(below[y], counts[1])]
    nodes = TreeNodes(strings)
    draft = np.array([root[0] if not node else below[nodes.token[node]] for node in range(nodes.inner)])
    target = rows(rng, len(nodes), kind)
    near = rng.random(len(draft)) < 0.5
    target[: len(draft)][near] = 0.7 * target[: len(draft)][near] + 0.3 * draft[near]
    return nodes, target / target.sum(axis=1, keepdims=True), draft, drafting


def joint(name: str, nodes: TreeNodes, target: Any, draft: Any, drafting: Any, **options: Any) -> Any:
    tree = DraftTree(nodes, target, draft, drafting=drafting, check=False, **options)
    return np.asarray(get_verifier(name).law(tree).joint())


@pytest.mark.parametrize(("spec", "name", "kind"), CASES)
def test_floats_are_near_the_rationals(spec: str, name: str, kind: str) -> None:
    nodes, target, draft, drafting = drawn_tree(spec, kind, seed=len(spec))
    exact = [np.vectorize(Fraction, otypes=[object])(part) for part in (target, draft)]
    exact = [part / part.sum(axis=1)[:, None] for part in exact]
    wanted = joint(name, nodes, *exact, drafting)
    assert wanted.sum() == 1
    wanted = wanted.astype(np.float64)
    double = joint(name, nodes, target, draft, drafting)
    assert np.abs(double - wanted).max() < 1e-12
    tensors = [torch.from_numpy(part) for part in (target, draft)]
    assert np.abs(joint(name, nodes, *tensors, drafting) - wanted).max() < 1e-12
    single = joint(name, nodes, target, draft, drafting, dtype="float32")
    assert single.dtype == np.float32
    assert np.abs(single - wanted).max() < 1e-5


def test_control_another_rule_is_far_away() -> None:
    """What is compared has weight: without the loss of drawn tokens the law is another one."""
    nodes, target, draft, drafting = drawn_tree("without:16,4", "flat", seed=12)
    right = joint("recursive-rejection", nodes, target, draft, drafting)
    wrong = joint("recursive-rejection", nodes, target, draft, parse_drafting("with:16,4"))
    assert np.abs(right - wrong).max() > 1e-3
