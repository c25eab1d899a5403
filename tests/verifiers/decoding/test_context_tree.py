"""The tree after a context has the laws that the models have when every string is read on its own."""

from __future__ import annotations

import itertools

import pytest
import torch
from nodebudget.lp import Instance
from nodebudget.verifiers.decoding import ModelPair, SamplingLaw
from nodebudget.verifiers.decoding.context_tree import TreeExpander
from tiny_pairs import alike, gpt2, llama

CONTEXT = (3, 1, 4, 1)
SAMPLINGS = [SamplingLaw(), SamplingLaw(0.8, top_k=3), SamplingLaw(1.3, top_p=0.7), SamplingLaw(0.0)]


@torch.inference_mode()
def read_alone(pair: ModelPair, sampling: SamplingLaw, length: int) -> Instance:
    """The full instance: every string of the vocabulary read from the start, without a cache."""
    laws: dict[str, dict[tuple[int, ...], list[float]]] = {"target": {}, "draft": {}}
    for depth in range(length):
        for path in itertools.product(range(pair.vocab), repeat=depth):
            for name, model in (("target", pair.target), ("draft", pair.draft)):
                logits = model(torch.tensor([[*CONTEXT, *path]])).logits[0, -1]
                laws[name][path] = sampling.rows(logits).tolist()
    return Instance.from_laws(pair.vocab, length, laws["target"], laws["draft"])


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("make", [llama, gpt2])
def test_the_tree_is_the_full_one_pruned(make: object, sampling: SamplingLaw) -> None:
    pair = alike(make)  # type: ignore[arg-type]
    full = read_alone(pair, sampling, 3)
    expander = TreeExpander(pair, sampling)
    assert expander.tree_mask == (True, True)
    live = {full.tree.path(node): node for node in range(len(full.tree)) if full.live[node]}
    for masks in ((True, True), (False, False)):
        expander.tree_mask = masks
        found = expander.expand(CONTEXT, 3, 1000)
        assert found.instance is not None
        assert (found.depth, found.first_cut) == (3, None)
        tree = found.instance.tree
        assert {tree.path(node) for node in range(len(tree))} == live.keys()
        for node in range(tree.leaves.start):
            place = live[tree.path(node)]
            for law, whole in (
                (found.instance.target_law(node), full.target_law(place)),
                (found.instance.draft_law(node), full.draft_law(place)),
            ):
                assert law == pytest.approx(whole, abs=1e-9)


def test_another_context_has_other_laws() -> None:
    """The comparison above can fail: laws after different contexts are apart."""
    pair = alike(llama)
    full = read_alone(pair, SAMPLINGS[0], 2)
    found = TreeExpander(pair, SAMPLINGS[0]).expand(CONTEXT[::-1], 2, 1000).instance
    assert found is not None
    assert max(abs(found.target_law(0) - full.target_law(0))) > 0.01


def test_a_tree_that_is_too_large_is_shorter_and_says_so() -> None:
    expander = TreeExpander(alike(llama), SamplingLaw())
    found = expander.expand(CONTEXT, 3, 200)  # 1 + 8 + 64 nodes, 585 with the third level
    assert found.instance is not None
    assert (found.depth, found.first_cut, len(found.instance.tree)) == (2, 585, 73)
    assert found.length == 3
    nothing = expander.expand(CONTEXT, 3, 8)
    assert nothing.instance is None
    assert (nothing.depth, nothing.first_cut) == (0, 9)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (((), 1, 10), "context: got 0"),
        ((CONTEXT, 0, 10), "length: got 0"),
        ((CONTEXT, 1, 0), "nodes: got 0"),
        (((1,) * 127, 2, 10), "127 tokens and 2 drafted ones do not fit into the 128 tokens"),
    ],
)
def test_bad_input(arguments: tuple[tuple[int, ...], int, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TreeExpander(alike(gpt2), SamplingLaw()).expand(*arguments)
