"""Hulls of a level at once in floats against those node by node."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from nodebudget.lp import Instance, random_instance
from nodebudget.lp.drafting import WithReplacement, hull_oracle
from nodebudget.lp.drafting import float_hulls as float_hulls_module
from nodebudget.lp.drafting.float_hulls import FloatHulls
from nodebudget.lp.drafting.hulls import antichain_of, subtree_hulls
from nodebudget.lp.numbers.rationals import Array

SHAPES = ((3, 2, (2, 2)), (3, 2, (1, 3)), (4, 3, (2, 1, 3)), (2, 5, (2, 1, 2, 3, 1)), (5, 1, (4,)))


def budgets_of(instance: Instance, rng: np.random.Generator, rounded: bool) -> Array:
    """Random budgets, not target-matching; rounded ones have ties and zeros."""
    out = instance.joint_target * rng.uniform(0, 1.5, len(instance.tree)) ** rng.choice([0.1, 1.0, 3.0])
    out = np.round(out, 2) if rounded else out
    out[instance.joint_draft == 0] = 0
    out[0] = 1
    return out


def differences(instance: Instance, budgets: Array, draws: Sequence[int]) -> list[str]:
    """Where the two differ: vertices, and the antichains of all nodes."""
    tree, found = instance.tree, []
    plain = subtree_hulls(tree, budgets.tolist(), instance.draft.tolist(), draws)
    fast = FloatHulls(tree, budgets, instance.draft, draws)
    for z in range(len(tree)):
        hit, budget, taken = fast.hull(z)
        vertices = plain[z].vertices
        if len(vertices) != len(hit):
            found.append(f"{z}: {len(vertices)} vertices and {len(hit)}")
            continue
        same = np.allclose([v.hit for v in vertices], hit, rtol=1e-12, atol=0)
        same &= np.allclose([v.budget for v in vertices], budget, rtol=1e-12, atol=0)
        same &= all(tuple(antichain_of(plain, v, z)) == fast.antichain(i, z) for i, v in enumerate(vertices))
        if not same or [v.taken for v in vertices] != taken.tolist():
            found.append(f"{z}: {vertices} and {hit}, {budget}, {taken}")
    return found


def all_differences() -> list[str]:
    rng = np.random.default_rng(0)
    found = []
    for (vocab, depth, draws), seed, zeros in itertools.product(SHAPES, range(6), (0.0, 0.3)):
        instance = random_instance("flat", vocab, depth, seed, zeros=zeros).to_float()
        found += differences(instance, budgets_of(instance, rng, seed % 2 == 1), draws)
    return found


def test_the_same_vertices_and_antichains() -> None:
    assert all_differences() == []


def test_control_hulls_that_lose_a_vertex_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_all = lambda hit, budget, taken, spot: (hit, budget, taken, spot)  # noqa: E731
    monkeypatch.setattr(float_hulls_module, "_hull", keep_all)
    assert all_differences()


@pytest.mark.parametrize("limit", [None, 3])
def test_the_oracle_says_the_same_either_way(limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, broken = np.random.default_rng(1), 0
    for seed in range(8):
        instance = random_instance("flat", 4, 3, seed).to_float()
        budgets = np.minimum(1.0, budgets_of(instance, rng, False) * 1.5)
        answers = []
        for size in (0, len(instance.tree) + 1):
            monkeypatch.setattr(hull_oracle, "LARGE_TREE", size)
            answers.append(WithReplacement(2, 1, 2).violated(instance, budgets, limit=limit))
        assert [a.nodes for a in answers[0]] == [a.nodes for a in answers[1]]
        assert np.allclose([a.budget for a in answers[0]], [a.budget for a in answers[1]], rtol=1e-12)
        broken += len(answers[0])
    assert broken > 8


def test_nearly_equal_points_do_not_take_each_other_away() -> None:
    """A vertex and its twin of a rounding error: one of them stays."""
    hit = np.array([0.0, 0.1, np.nextafter(0.1, 1), 1.0])
    budget = np.array([0.0, 0.5, np.nextafter(0.5, 1), 0.6])
    kept, *_ = float_hulls_module._hull(hit, budget, np.arange(4), np.zeros(4, dtype=np.int64))
    assert any(abs(x - 0.1) < 1e-9 for x in kept)
