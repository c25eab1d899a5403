"""After a block both caches are what a fresh forward of the committed tokens gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from nodebudget.verifiers import PathNodes
from nodebudget.verifiers.decoding import SamplingLaw
from nodebudget.verifiers.decoding.caches import CachedModel
from nodebudget.verifiers.decoding.drafting import draft_paths, keep_drafted
from nodebudget.verifiers.decoding.tree_pass import keep_path, tree_logits
from tiny_pairs import gpt2, llama
from transformers import DynamicCache, PreTrainedModel

PROMPT = [3, 1, 4, 1, 5]
PATHS, LENGTH = 4, 3
MODELS = pytest.mark.parametrize("make", [llama, gpt2])
WAYS = pytest.mark.parametrize("tree_mask", [True, False], ids=["mask", "batch"])


@pytest.fixture(autouse=True)
def _without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def states(cache: DynamicCache) -> torch.Tensor:
    return torch.stack([part for layer in cache.layers for part in (layer.keys, layer.values)])


def fresh(model: PreTrainedModel, tokens: list[int]) -> torch.Tensor:
    cache = DynamicCache()
    model(torch.tensor([tokens]), cache=cache, use_cache=True)
    return states(cache)


def drafted(model: PreTrainedModel, tree_mask: bool) -> tuple[CachedModel, PathNodes]:
    cached = CachedModel(model, 8, tree_mask=tree_mask)
    cached.read(PROMPT[:-1])
    uniforms = torch.rand(PATHS, LENGTH, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    paths = draft_paths(cached, PROMPT[-1:], SamplingLaw(temperature=3), uniforms, torch.float64)
    return cached, PathNodes(paths.tokens)


@MODELS
@WAYS
def test_caches_for_every_accepted_node(make: Callable[..., PreTrainedModel], tree_mask: bool) -> None:
    target, draft = make(0), make(1)
    _, nodes = drafted(draft, tree_mask)
    assert len(nodes) > PATHS + LENGTH  # it branches, and more than at the root
    assert nodes.path_nodes[1:].max() > LENGTH
    for node in range(len(nodes)):
        accepted = list(nodes.path(node))
        cached = CachedModel(target, 8, tree_mask=tree_mask)
        cached.read(PROMPT[:-1])
        tree_logits(cached, PROMPT[-1], nodes)
        keep_path(cached, nodes, node)
        assert cached.length == len(PROMPT) + len(accepted)
        wanted = fresh(target, PROMPT + accepted)
        assert states(cached.cache).shape == wanted.shape
        assert (states(cached.cache) - wanted).abs().max() < 1e-11

        drafter, _ = drafted(draft, tree_mask)
        keep_drafted(drafter, nodes, node)
        # The draft has not read what it drew last: of a path accepted as a whole one token is missing.
        held = PROMPT + accepted[: LENGTH - 1]
        assert drafter.length == len(held)
        assert states(drafter.cache).shape == fresh(draft, held).shape
        assert (states(drafter.cache) - fresh(draft, held)).abs().max() < 1e-11
        # And it catches up when it reads on, whatever was accepted.
        following = [*PROMPT, *accepted, 6]
        row = drafter.read(following[drafter.length :])
        assert (row - draft(torch.tensor([following])).logits[0, -1]).abs().max() < 1e-11
        assert (states(drafter.cache) - fresh(draft, following)).abs().max() < 1e-11


@MODELS
def test_control_another_path_is_told_apart(make: Callable[..., PreTrainedModel]) -> None:
    target = make(0)
    _, nodes = drafted(make(1), True)
    leaf = int(nodes.path_nodes[-1, -1])
    for columns in (range(LENGTH + 1), nodes.path_nodes[-1][[0, 2, 1, 3]].tolist()):
        cached = CachedModel(target, 8, tree_mask=True)
        cached.read(PROMPT[:-1])
        tree_logits(cached, PROMPT[-1], nodes)
        cached.keep(list(columns))
        wrong = (states(cached.cache) - fresh(target, [*PROMPT, *nodes.path(leaf)])).abs().max()
        assert wrong > 1e-3


@MODELS
@WAYS
def test_draft_laws_are_those_drawn_from(make: Callable[..., PreTrainedModel], tree_mask: bool) -> None:
    draft = make(1)
    law = SamplingLaw(temperature=0.7, top_k=5)
    cached = CachedModel(draft, 8, tree_mask=tree_mask)
    uniforms = torch.rand(6, LENGTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    paths = draft_paths(cached, PROMPT, law, uniforms, torch.float64)
    nodes = PathNodes(paths.tokens)
    laws = paths.node_laws(nodes)
    assert laws.shape == (nodes.inner, 8)
    for node in range(nodes.inner):
        context = torch.tensor([[*PROMPT, *nodes.path(node)]])
        assert (laws[node] - law.rows(draft(context).logits[0, -1])).abs().max() < 1e-11
    for k in range(6):
        for i in range(LENGTH):
            below = laws[nodes.path_nodes[k, i]].cumsum(-1)
            token = int(paths.tokens[k, i])
            assert below[token] > uniforms[k, i] >= below[token] - laws[nodes.path_nodes[k, i], token] - 1e-12


def test_one_drafted_token_needs_no_branch() -> None:
    for tree_mask in (True, False):
        cached = CachedModel(llama(0), 8, tree_mask=tree_mask)
        paths = draft_paths(cached, PROMPT, SamplingLaw(), torch.rand(2, 1), torch.float64)
        nodes = PathNodes(paths.tokens)
        keep_drafted(cached, nodes, len(nodes) - 1)
        assert cached.length == len(PROMPT)
        assert cached.cache.get_seq_length() == len(PROMPT)
