"""The race in compiled code: the search, and the walk that keeps no table of tokens, against what is to be read."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from nodebudget.experiments.benchmarks.bench_trees import drawn_tree
from nodebudget.lp.drafting import Drafting, IidPaths, WithoutReplacement
from nodebudget.lp.drafting.supports import Support
from nodebudget.lp.selection import fair_orders, races
from nodebudget.lp.selection.race_entries import SINGLE, entries
from nodebudget.lp.selection.races import Draws
from nodebudget.verifiers import DraftTree, get_verifier, sample
from nodebudget.verifiers.drafts import given_rows

RACE = get_verifier("race")
VOCAB = 400


def random_draws(rng: Any) -> tuple[Draws, Any, Any]:
    tokens, levels = int(rng.integers(2, 50)), 16
    draft = np.sort(rng.dirichlet(np.full(tokens, 0.5)) + 1e-9)[::-1]
    below = Support((-1,) * tokens, tuple((draft / draft.sum()).tolist()), (None,) * tokens)
    masses = np.sort(rng.random(levels))
    draws = Draws(IidPaths(2), below, int(rng.integers(1, 5)), levels)
    return draws, rng.dirichlet(np.full(tokens, 0.5)), masses / masses.sum()


def test_the_search_is_the_same_in_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    cases = [random_draws(rng) for _ in range(30)]
    fast = [fair_orders.fair_order(*case) for case in cases]
    monkeypatch.setattr(fair_orders, "compiled", lambda: None)
    fair_orders._found.cache_clear()
    for case, order in zip(cases, fast, strict=True):
        assert (fair_orders.fair_order(*case) == order).all()
    monkeypatch.setattr(fair_orders, "GRID", 4)  # another search finds other weights
    fair_orders._found.cache_clear()
    assert any(
        (fair_orders.fair_order(*case) != order).any() for case, order in zip(cases, fast, strict=True)
    )
    fair_orders._found.cache_clear()


def given(spec: str, scale: float, kept: int) -> tuple[Any, Any, Any, Drafting]:
    """A drawn tree; of the target's law all tokens, or the likeliest."""
    nodes, target, draft, drafting = drawn_tree(spec, VOCAB, scale, 0.5)
    for row in target:
        row[row < np.sort(row)[-kept]] = 0
    return (
        nodes,
        target / target.sum(axis=1, keepdims=True),
        draft / draft.sum(axis=1, keepdims=True),
        drafting,
    )


@pytest.mark.parametrize("kept", [VOCAB, 60])
@pytest.mark.parametrize("scale", [1.0, 4.0])
@pytest.mark.parametrize("spec", ["iid:3", "with:2,2", "top-sample:3,2", "without:2,2"])
def test_the_walk_is_that_with_tables(
    spec: str, scale: float, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes, target, draft, drafting = given(spec, scale, kept)
    tree = partial(DraftTree, nodes, target, draft, drafting=drafting)
    fast = RACE.law(tree())
    tensors = DraftTree(nodes, torch.from_numpy(target), torch.from_numpy(draft), drafting=drafting)
    assert np.abs(RACE.law(tensors).joint().numpy() - fast.joint()).max() < 1e-12
    assert np.abs(RACE.law(tree(dtype="float32")).joint() - fast.joint()).max() < 1e-5
    monkeypatch.setattr(given_rows, "_compiled", lambda: None)
    monkeypatch.setattr(races, "compiled", lambda: None)
    assert np.abs(RACE.law(tree()).joint() - fast.joint()).max() < 1e-12
    other = RACE.law(DraftTree(nodes, target[:, ::-1].copy(), draft, drafting=drafting))
    assert np.abs(other.joint() - fast.joint()).max() > 1e-3  # the comparison can fail


def test_a_large_vocabulary_takes_little_memory() -> None:
    """Two draws without replacement from 50,000 tokens race in buckets."""
    nodes, target, draft, drafting = drawn_tree("without:2,2", 50_000, 1.0, 0.5)
    law = RACE.law(DraftTree(nodes, target, draft, drafting=drafting))
    assert law.stop.sum() == pytest.approx(1)
    accepted, _ = sample(law, np.random.default_rng(0))
    assert len(accepted) <= 2


def test_three_draws_without_replacement_want_few_tokens() -> None:
    nodes, target, draft, drafting = drawn_tree("without:3,2", 2_000, 1.0, 0.5)
    with pytest.raises(
        ValueError, match="3 draws without replacement from 2000 tokens; expected two, or so few"
    ):
        RACE.law(DraftTree(nodes, target, draft, drafting=drafting))


def test_the_moments_of_a_bucket_are_those_of_its_tokens() -> None:
    """Of two draws, that a bucket is hit: by its moments, and by its tokens one by one."""
    rng = np.random.default_rng(1)
    target, draft = rng.dirichlet(np.ones(SINGLE + 20), size=2)
    found = entries(WithoutReplacement(2, 1), target, draft, 2)
    draws = Draws(WithoutReplacement(2, 1), found.below, 2, 4, found.moments)
    for bucket in range(len(found.below.tokens)):
        inside = found.place == bucket
        off = draft[~inside]
        missed = (off[:, None] * off[None] / (1 - off[:, None]))[~np.eye(len(off), dtype=bool)].sum()
        alone = np.zeros((len(found.below.tokens), 1))
        alone[bucket] = 1
        assert draws.hit(alone)[0] == pytest.approx(1 - missed, abs=1e-12)
