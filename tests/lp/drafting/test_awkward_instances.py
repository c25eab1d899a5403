"""Float optima against certified ones where floats have a hard time, for every kind of drafting."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from nodebudget.lp import Instance, solve_multi_path
from nodebudget.lp.drafting import (
    Delayed,
    Drafting,
    GivenTree,
    IidPaths,
    Likeliest,
    LikeliestAndSample,
    ListedTrees,
    WithoutReplacement,
    WithReplacement,
    best_tree,
    replacement,
)

F = Fraction
Laws = dict[tuple[int, ...], list[Fraction]]
TINY = F(1, 10**12)
KINDS = ("zeros", "ties", "one-hot", "equal", "points", "tiny")
SHAPES = ((2, 1), (3, 1), (2, 2), (3, 2))


def draftings(depth: int, instance: Instance) -> list[Drafting]:
    """One of each kind, and draws with replacement at both lengths."""
    ones = (1,) * (depth - 1)
    chain = GivenTree([(0,) * n for n in range(1, depth + 1)])
    listed = ListedTrees([(chain, F(1, 3)), (best_tree(instance, 2), F(2, 3))])
    kinds = (WithReplacement, WithoutReplacement, LikeliestAndSample, Likeliest)
    found: list[Drafting] = [kind(2, *ones) for kind in kinds]
    found += [IidPaths(3), chain, listed, WithReplacement(*(2,) * depth)]
    return [*found, Delayed(depth - 1, 2)]


def point(token: int, vocab: int) -> list[Fraction]:
    """All mass on one token."""
    return [F(int(y == token)) for y in range(vocab)]


def law(kind: str, rng: np.random.Generator, vocab: int) -> list[Fraction]:
    """One law of a kind."""
    if kind == "one-hot":
        return point(int(rng.integers(vocab)), vocab)
    weights = [int(w) for w in rng.integers(1, 4 if kind == "ties" else 13, vocab)]
    if kind == "zeros":
        weights = [w * int(keep) for w, keep in zip(weights, rng.random(vocab) < 0.6, strict=True)]
    if not any(weights) or (kind == "ties" and rng.random() < 0.5):
        weights = [1] * vocab
    out = [F(w, sum(weights)) for w in weights]
    if kind == "tiny":  # all but one have 1e-12 of what they had
        last = int(rng.integers(vocab))
        out = [q * TINY for q in out]
        out[last] = 1 - sum((q for y, q in enumerate(out) if y != last), F(0))
    return out


def awkward(number: int) -> tuple[Instance, Drafting]:
    """An instance of each kind and shape in turn, with each drafting in turn."""
    rng = np.random.default_rng(number)
    kind, (vocab, depth) = KINDS[number % len(KINDS)], SHAPES[number // len(KINDS) % len(SHAPES)]
    contexts = [(), *((y,) for y in range(vocab) if depth == 2)]
    target: Laws = {}
    draft: Laws = {}
    for context in contexts:
        if kind == "points":  # on different tokens
            token = int(rng.integers(vocab))
            target[context], draft[context] = point(token, vocab), point((token + 1) % vocab, vocab)
            continue
        target[context] = law("flat" if kind == "one-hot" and rng.random() < 0.5 else kind, rng, vocab)
        draft[context] = target[context] if kind == "equal" else law(kind, rng, vocab)
    instance = Instance.from_laws(vocab, depth, target, draft)
    chosen = draftings(depth, instance)
    return instance, chosen[number // 5 % len(chosen)]


def gap(number: int) -> Any:
    """How far the float optimum is from the certified one."""
    instance, drafting = awkward(number)
    exact = solve_multi_path(instance, drafting)
    assert exact.certified, (number, exact.verdict)
    return abs(solve_multi_path(instance.to_float(), drafting, certify=False).value - exact.value)


def test_all_kinds_meet_all_draftings() -> None:
    met = {(KINDS[n % len(KINDS)], type(awkward(n)[1])) for n in range(200)}
    assert len(met) == len(KINDS) * 8


def test_floats_and_rationals_agree() -> None:
    gaps = {number: gap(number) for number in range(200)}
    assert {number: far for number, far in gaps.items() if far > 1e-9} == {}


def test_control_a_float_oracle_that_overlooks_antichains_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = replacement.antichains_on_hull

    def overlooks(instance: Instance, budgets: Any, draws: Any, **limits: Any) -> Any:
        found = oracle(instance, budgets, draws, **limits)
        return found if instance.exact else [antichain for antichain in found if len(antichain.nodes) < 2]

    chosen = [n for n in range(200) if isinstance(awkward(n)[1], WithReplacement)]
    monkeypatch.setattr(replacement, "antichains_on_hull", overlooks)
    assert max(gap(number) for number in chosen[::2]) > 1e-3
