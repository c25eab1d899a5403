"""The rows of a tree pass are those of a plain forward of each path."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from nodebudget.verifiers import PathNodes
from nodebudget.verifiers.decoding import caches
from nodebudget.verifiers.decoding.caches import CachedModel
from nodebudget.verifiers.decoding.tree_pass import takes_tree_mask, tree_logits
from tiny_pairs import gpt2, llama
from transformers import PreTrainedModel

PREFIX = [3, 1, 4, 1, 5]
PATHS = [[2, 6, 5], [2, 6, 1], [2, 0, 5], [7, 6, 5], [2, 6, 5]]
MODELS = pytest.mark.parametrize("make", [llama, gpt2])
WAYS = pytest.mark.parametrize("tree_mask", [True, False], ids=["mask", "batch"])


@pytest.fixture(autouse=True)
def _without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def rows(model: PreTrainedModel, paths: list[list[int]], *, tree_mask: bool) -> torch.Tensor:
    cached = CachedModel(model, 8, tree_mask=tree_mask)
    cached.read(PREFIX[:-1])
    return tree_logits(cached, PREFIX[-1], PathNodes(paths))


def plain_rows(model: PreTrainedModel, nodes: PathNodes) -> torch.Tensor:
    """One forward pass from nothing for each node."""
    contexts = [torch.tensor([[*PREFIX, *nodes.path(node)]]) for node in range(len(nodes))]
    return torch.stack([model(ids).logits[0, -1] for ids in contexts])


@MODELS
@WAYS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_are_those_of_plain_forwards(
    make: Callable[..., PreTrainedModel], tree_mask: bool, dtype: torch.dtype
) -> None:
    model = make(0).to(dtype)
    nodes = PathNodes(PATHS)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-11
    assert (rows(model, PATHS, tree_mask=tree_mask) - plain_rows(model, nodes)).abs().max() < tolerance


@MODELS
@WAYS
def test_a_single_token_of_context(make: Callable[..., PreTrainedModel], tree_mask: bool) -> None:
    model = make(0)
    cached = CachedModel(model, 8, tree_mask=tree_mask)
    found = tree_logits(cached, 3, PathNodes([[1], [2]]))
    for row, context in zip(found, ([3], [3, 1], [3, 2]), strict=True):
        assert (row - model(torch.tensor([context])).logits[0, -1]).abs().max() < 1e-11


@MODELS
@WAYS
def test_a_sibling_leaves_its_cousins_untouched(
    make: Callable[..., PreTrainedModel], tree_mask: bool
) -> None:
    model = make(0)
    changed = [list(path) for path in PATHS]
    changed[1][2] = 3
    before, after = (rows(model, paths, tree_mask=tree_mask) for paths in (PATHS, changed))
    different = (before - after).abs().amax(-1) > 1e-12
    nodes, other = PathNodes(PATHS), PathNodes(changed)
    assert [nodes.path(z) for z in range(len(nodes)) if different[z]] == [(2, 6, 1)]
    assert [other.path(z) for z in range(len(other)) if different[z]] == [(2, 6, 3)]


@MODELS
def test_control_positions_along_the_sequence_are_wrong(
    make: Callable[..., PreTrainedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public implementation counts positions this way."""
    model, nodes = make(0), PathNodes(PATHS)
    honest = CachedModel.branch

    def along(
        self: CachedModel, tokens: torch.Tensor, _: torch.Tensor, visible: torch.Tensor
    ) -> torch.Tensor:
        return honest(self, tokens, torch.arange(len(tokens)), visible)

    monkeypatch.setattr(CachedModel, "branch", along)
    wrong, right = (r.softmax(-1) for r in (rows(model, PATHS, tree_mask=True), plain_rows(model, nodes)))
    distance = (wrong - right).abs().sum(-1) / 2
    assert distance[:2].max() < 1e-12  # the root and the first node have the same position either way
    assert distance[len(nodes) // 2 :].max() > 0.05
    assert not takes_tree_mask(model)


@MODELS
def test_models_that_take_a_tree_mask_are_recognised(
    make: Callable[..., PreTrainedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make(0)
    assert takes_tree_mask(model)
    assert takes_tree_mask(model.to(torch.bfloat16))
    model.to(torch.float64)
    honest = model.forward

    def deaf(attention_mask: torch.Tensor | None = None, position_ids=None, **inputs: object):  # type: ignore[no-untyped-def]
        return honest(position_ids=position_ids, **inputs)

    def refusing(attention_mask: torch.Tensor | None = None, position_ids=None, **inputs: object):  # type: ignore[no-untyped-def]
        if attention_mask is not None:
            raise ValueError("no such mask")
        return honest(**inputs)

    for forward in (deaf, refusing):
        monkeypatch.setattr(model, "forward", forward)
        assert not takes_tree_mask(model)
    monkeypatch.setattr(model, "forward", lambda attention_mask=None, **inputs: honest(**inputs))
    assert not takes_tree_mask(model)


def test_models_whose_cache_cannot_be_cropped_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llama(0)
    assert caches.context_limit(model) == 128
    model.config.layer_types = ["full_attention", "sliding_attention"]
    model.config.sliding_window = 12
    assert caches.context_limit(model) == 12
    model.config.layer_types = ["full_attention", "linear_attention"]
    with pytest.raises(ValueError, match="expected a model that keeps keys and values only"):
        caches.context_limit(model)
