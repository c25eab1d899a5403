"""Tree drafts in the decoder: their law, the law of what comes out, caches, and greedy output."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import test_output_law
import torch
from nodebudget.lp.drafting import best_tree, parse_drafting
from nodebudget.verifiers import get_verifier
from nodebudget.verifiers.decoding import ModelPair, SamplingLaw
from nodebudget.verifiers.decoding.branch_reader import BranchReader
from nodebudget.verifiers.decoding.caches import CachedModel
from nodebudget.verifiers.decoding.drafters import parse_drafter
from nodebudget.verifiers.decoding.loop import Decoder
from nodebudget.verifiers.decoding.prompt_lookup import continuations
from nodebudget.verifiers.decoding.tree_drafting import draft_tree, draw_children, likeliest_strings
from test_context_tree import CONTEXT, read_alone
from test_loop import GREEDY, PROMPT, plain_greedy
from test_output_law import OUTPUTS, VOCAB, evidence_against, models, outputs
from tiny_pairs import alike, gpt2, llama, pair

TREES = {
    "with:2,2": ("recursive-rejection", "race"),
    "without:2,2": ("recursive-rejection", "race"),
    "top-sample:3,2": ("greedy", "univer", "race"),
    "top:2,2": ("nss", "race"),
    "delayed:1,2": ("recursive-rejection", "race"),
    "best-draft:4": ("nss", "race"),
    "lookup:2": ("nss", "race"),
}
COMBINATIONS = [(text, name) for text, names in TREES.items() for name in names]
THRESHOLD = math.log(2 * len(COMBINATIONS) / 1e-6)
LOUDER = 3
"""As many outputs as for three numbers of paths."""


def decoder(models: ModelPair, text: str, name: str, length: int = 2, **more: Any) -> Decoder:
    return Decoder(models, get_verifier(name), drafting=text, length=length, **more)


def reader(model: Any, *, mask: bool = True) -> BranchReader:
    return BranchReader(CachedModel(model, VOCAB, tree_mask=mask), CONTEXT)


@pytest.mark.parametrize("text", ["with:2,2", "without:3,2", "top-sample:3,2", "top:3,2", "delayed:1,3"])
def test_trees_are_drawn_as_the_drafting_says(text: str) -> None:
    """How often each node is drafted, against its probability on the full tree, and the laws that are shown."""
    models, sampling, count = alike(llama), SamplingLaw(0.8, top_k=5), 400
    full, drafting = read_alone(models, sampling, 2), parse_drafting(text)
    hits = drafting.single_hits(full)
    rng, times, draws = np.random.default_rng(5), Counter(), []
    with torch.inference_mode():
        for _ in range(count):
            nodes, laws = draft_tree(
                reader(models.draft), sampling, drafting, drafting.counts(2), rng, torch.float64
            )
            times.update(nodes.path(node) for node in range(1, len(nodes)))
            draws.append(int(nodes.counts[1:].sum()))
    for node in range(1, len(full.tree)):
        expected, seen = count * hits[node], times[full.tree.path(node)]
        assert abs(seen - expected) <= 5 * math.sqrt(expected * (1 - hits[node])) + 1e-9, full.tree.path(node)
    assert max(draws) == min(draws) == sum(itertools.accumulate(drafting.counts(2), lambda a, b: a * b))
    for node in range(nodes.inner):
        place = full.tree.find(nodes.path(node))
        assert laws[node].numpy() == pytest.approx(full.draft_law(place), abs=1e-6)


def test_children_run_out_and_ties_go_to_the_smaller_id() -> None:
    rows = torch.tensor([[0.0, 0.5, 0.0, 0.5], [0.25, 0.25, 0.25, 0.25]], dtype=torch.float64)
    uniforms = torch.tensor([[0.9, 0.1, 0.3], [0.6, 0.9, 0.0]], dtype=torch.float64)
    assert draft_children_of("top:3", rows, uniforms) == [[1, 3], [0, 1, 2]]
    assert draft_children_of("without:3", rows, uniforms) == [[3, 1], [2, 3, 0]]
    assert draft_children_of("with:3", rows, uniforms) == [[3, 1, 1], [2, 3, 0]]
    assert draft_children_of("top-sample:3", rows, uniforms) == [[1, 3], [0, 1, 2]]


def draft_children_of(text: str, rows: torch.Tensor, uniforms: torch.Tensor) -> list[list[int]]:
    return draw_children(parse_drafting(text), rows, uniforms)


@pytest.mark.parametrize("count", [1, 5, 30])
@pytest.mark.parametrize("mask", [True, False])
def test_likeliest_strings_are_the_best_tree_of_the_draft(count: int, mask: bool) -> None:
    models, sampling = alike(gpt2), SamplingLaw(0.6)
    full = read_alone(models, sampling, 3)
    with torch.inference_mode():
        nodes, laws = likeliest_strings(reader(models.draft, mask=mask), sampling, count, 3, torch.float64)
    found = {nodes.path(node) for node in range(1, len(nodes))}
    assert found == set(best_tree(full, count, by="draft").paths)
    for node in range(nodes.inner):
        assert laws[node].numpy() == pytest.approx(full.draft_law(full.tree.find(nodes.path(node))), abs=1e-6)


@pytest.mark.parametrize("shape", test_output_law.SHAPES)
@pytest.mark.parametrize(("text", "name"), COMBINATIONS)
def test_output_has_the_law_of_the_target(text: str, name: str, shape: str) -> None:
    made = decoder(models(shape), text, name, sampling=test_output_law.LAW)
    if shape == "gpt2":
        made.tree_mask = (False,) * len(made.tree_mask)
    assert evidence_against(shape, outputs(made, OUTPUTS)) < THRESHOLD


@pytest.mark.parametrize(
    "fault", [test_output_law.wrong_positions, test_output_law.wrong_cache], ids=["positions", "cache"]
)
@pytest.mark.parametrize("text", ["without:3,2", "best-draft:8"])
def test_control_a_fault_is_found(text: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    made = decoder(models("llama"), text, "race", sampling=test_output_law.LAW)
    assert evidence_against("llama", outputs(made, LOUDER * OUTPUTS)) > THRESHOLD


@pytest.mark.parametrize("fault", ["another drafting", "laws of other tokens"])
def test_control_what_was_not_drafted_as_told_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier that is told of draws without replacement where others were made, or of laws of other tokens."""
    from nodebudget.verifiers.decoding import drafters

    honest = drafters.draft_tree

    def draft(reader: Any, sampling: Any, drafting: Any, counts: Any, *rest: Any) -> Any:
        if fault == "another drafting":
            return honest(reader, sampling, parse_drafting("top-sample:3,2"), counts, *rest)
        nodes, laws = honest(reader, sampling, drafting, counts, *rest)
        return nodes, laws.roll(1, dims=1)

    monkeypatch.setattr(drafters, "draft_tree", draft)
    made = decoder(models("llama"), "without:3,2", "recursive-rejection", sampling=test_output_law.LAW)
    assert evidence_against("llama", outputs(made, LOUDER * OUTPUTS)) > THRESHOLD


@pytest.mark.parametrize("make", [llama, gpt2])
@pytest.mark.parametrize(("text", "name"), COMBINATIONS)
def test_greedy_output_is_plain_greedy_output(text: str, name: str, make: Any) -> None:
    models = alike(make)
    made = decoder(models, text, name, sampling=GREEDY)
    generation = made.decode(PROMPT, max_new_tokens=30)
    assert list(generation.tokens) == plain_greedy(models.target, 30)
    assert max(block.accepted for block in generation.blocks) > 0


@pytest.mark.parametrize("masks", [(True, True), (False, False), (True, False)])
@pytest.mark.parametrize("text", ["with:2,2,1", "without:1,2,1", "delayed:1,2"])
def test_identical_models_accept_everything(text: str, masks: tuple[bool, bool]) -> None:
    """A hole in a cache would show here."""
    model = llama(0)
    made = decoder(pair(model, model), text, "recursive-rejection", length=3)
    made.tree_mask = masks
    generation = made.decode(PROMPT, max_new_tokens=40)
    if text != "without:1,2,1":  # of different siblings all but one were not drawn by the target
        assert [block.accepted for block in generation.blocks] == [3] * 10
    assert all(block.expected_accepted > 1 for block in generation.blocks)


@pytest.mark.parametrize("text", ["without:2,2", "best-draft:5", "lookup:2"])
def test_both_ways_of_reading_a_tree_give_the_same_output(text: str) -> None:
    tokens = set()
    for masks in itertools.product((True, False), repeat=2):
        made = decoder(alike(gpt2), text, "race")
        made.tree_mask = masks[: len(made.tree_mask)]
        tokens.add(made.decode(PROMPT, max_new_tokens=40, seed=5).tokens)
    assert len(tokens) == 1


def test_a_lookup_asks_no_draft_and_finds_repetitions() -> None:
    models = alike(llama)
    made = decoder(models, "lookup:2", "nss", length=3, sampling=GREEDY)
    generation = made.decode([1, 2, 3] * 4, max_new_tokens=40)
    assert generation.draft_flops == 0
    assert generation.blocks[0].length == 3
    assert continuations([1, 2, 3], 2, 3) == []
    assert continuations([4, 4, 4, 4], 2, 3) == [(4,), (4, 4)]


def test_the_context_is_used_to_its_end() -> None:
    made = decoder(alike(gpt2), "without:2,1,1,1", "recursive-rejection", length=4)
    generation = made.decode([1] * 125, max_new_tokens=3)
    assert len(generation.tokens) == 3
    assert generation.blocks[0].length == 3
    delayed = decoder(alike(gpt2), "delayed:2,2", "recursive-rejection", length=4)
    assert len(delayed.decode([1] * 120, max_new_tokens=8).tokens) == 8


def test_blocks_say_what_was_drawn() -> None:
    made = decoder(alike(llama), "with:3,2", "recursive-rejection")
    for block in made.decode(PROMPT, max_new_tokens=12).blocks:
        assert (block.paths, block.length, block.drawn) == (0, 2, 3 + 6)
        assert block.nodes <= 9
        assert sum(block.expected_by_length) == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "length", "said"),
    [
        (
            "without:2,1",
            3,
            "drafting without:2,1: it has counts for 2 lengths; expected one for each of the depth, 3",
        ),
        ("best-draft:0", 3, "got 'best-draft:0'; expected a number from 1 to 9999"),
        ("best-draft:4", None, "it does not say how many tokens; expected a length, too"),
        ("tree:x.json", 2, "got 'tree:x.json'; expected iid:4, with:2,2"),
        ("delayed:2,2", 2, "the trunk is as long as the depth"),
    ],
)
def test_specs_that_are_none(text: str, length: int | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_drafter(text, length)


def test_a_verifier_that_is_not_defined_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gbv needs i\.i\.d\. paths; got without:2,1"):
        decoder(alike(llama), "without:2,1", "gbv")
    assert decoder(alike(llama), "with:3,1", "gbv").drafter.paths == 3  # paths under another name
