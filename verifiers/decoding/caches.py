"""A causal language model with the keys and values of what it has read, in one place for both models."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from .flops import ForwardCost


class CachedModel:
    """A model and its cache: the committed tokens first, behind them what branches off from there.

    A branch is read either with a tree mask, where every branched token is one more column of the cache and
    sees the committed tokens and its own ancestors, or as a batch, where the cache is repeated once per path.
    `keep` and `keep_row` turn the accepted part of a branch into committed tokens and forget the rest.

    Attributes:
        length: number of committed tokens in the cache.
        peak_bytes: the largest size of keys and values so far, over all layers.
        flops: estimated floating-point operations so far (see `ForwardCost`).
    """

    def __init__(self, model: PreTrainedModel, vocab: int, *, tree_mask: bool) -> None:
        """Start with an empty cache.

        Args:
            model: a causal language model of transformers.
            vocab: logits beyond this many tokens are cut off.
            tree_mask: whether `branch` may be used; False for a model that takes no 4-D mask.
        """
        self.model, self.vocab, self.tree_mask = model, vocab, tree_mask
        self.cache = DynamicCache()
        self.length = 0
        self.peak_bytes = 0
        self.flops = 0.0
        self._branched = 0
        self._cost = ForwardCost.of(model)
        self._takes_logits_to_keep = takes_argument(model, "logits_to_keep")

    @property
    def device(self) -> torch.device:
        """Where token ids go in."""
        return input_device(self.model)

    def read(self, tokens: Sequence[int]) -> Tensor:
        """Commit tokens, at least one, and return the logits (V,) after the last of them."""
        ids = torch.tensor([list(tokens)]).to(self.device, non_blocking=True)
        extra = {"logits_to_keep": 1} if self._takes_logits_to_keep else {}
        logits = self._forward(ids, rows=1, **extra)[0, -1]
        self.length += len(tokens)
        return logits

    def branch(self, tokens: Tensor, depths: Tensor, visible: Tensor) -> Tensor:
        """Read branched tokens with a tree mask: (m, V) logits, one row after each.

        Args:
            tokens: (m,) token ids.
            depths: (m,) how many branched tokens lie above each; its position is `length` plus that.
            visible: (m, b + m) booleans, which of the b branched tokens before and of these m each one sees.
                Every token sees itself, and all committed ones.
        """
        device = self.device
        hidden = torch.zeros(visible.shape, dtype=self.model.dtype, device=device)
        hidden.masked_fill_(~visible.to(device, non_blocking=True), torch.finfo(self.model.dtype).min)
        committed = hidden.new_zeros((len(tokens), self.length))
        mask = torch.cat([committed, hidden], dim=1)[None, None]
        ids = tokens[None].to(device, non_blocking=True)
        positions = (depths.to(device, non_blocking=True) + self.length)[None]
        logits = self._forward(ids, rows=len(tokens), attention_mask=mask, position_ids=positions)[0]
        self._branched += len(tokens)
        return logits

    def spread(self, count: int) -> None:
        """Repeat the cache `count` times, for branches that are read as a batch."""
        self.cache.batch_repeat_interleave(count)

    def branch_batch(self, tokens: Tensor) -> Tensor:
        """Read (B, t) tokens, each row going on where the cache's row ends: (B, t, V) logits."""
        logits = self._forward(tokens.to(self.device, non_blocking=True), rows=tokens.numel())
        self._branched += tokens.shape[1]
        return logits

    def keep(self, columns: Sequence[int]) -> None:
        """Commit branched tokens, given as columns behind the committed ones in path order; forget the rest."""
        if list(columns) != list(range(len(columns))):
            places = torch.tensor([self.length + column for column in columns])
            per_device: dict[torch.device, Tensor] = {}
            for layer in self._layers():
                device = layer.keys.device
                if device not in per_device:
                    per_device[device] = places.to(device, non_blocking=True)
                # In place: the cache is a fresh tensor after every forward pass, and a path is short.
                for states in (layer.keys, layer.values):
                    kept = states.index_select(-2, per_device[device])
                    states[..., self.length : self.length + len(columns), :] = kept
        self._crop(len(columns))

    def keep_row(self, row: int, count: int) -> None:
        """Commit the first `count` branched tokens of one row of the batch; forget the other rows."""
        for layer in self._layers():
            layer.keys, layer.values = layer.keys[row : row + 1], layer.values[row : row + 1]
        self._crop(count)

    def _crop(self, kept: int) -> None:
        self.cache.crop(kept - self._branched)
        self.length += kept
        self._branched = 0

    def _layers(self) -> list[Any]:
        layers: list[Any] = list(self.cache.layers)
        return [layer for layer in layers if layer.is_initialized]

    def _forward(self, ids: Tensor, *, rows: int, **arguments: Any) -> Tensor:
        output = self.model(input_ids=ids, cache=self.cache, use_cache=True, **arguments)
        self.flops += self._cost.flops(ids.numel(), self.length + self._branched + ids.shape[1], rows)
        size = sum(part.nbytes for layer in self._layers() for part in (layer.keys, layer.values))
        self.peak_bytes = max(self.peak_bytes, size)
        logits: Tensor = output.logits
        return logits[..., : self.vocab]


def context_limit(model: PreTrainedModel) -> int | None:
    """How many tokens a model can read at most; None where its configuration says nothing.

    Raises:
        ValueError: for a model whose state is more than keys and values (recurrent layers), which cannot be
            taken back to an accepted path.
    """
    limits = [getattr(model.config.get_text_config(), "max_position_embeddings", None)]
    for layer in DynamicCache(config=model.config).layers:
        if isinstance(layer, DynamicSlidingWindowLayer):
            # Within its window such a layer is like any other, and that is all that is supported.
            limits.append(layer.sliding_window)
        elif type(layer) is not DynamicLayer:
            raise ValueError(
                f"{type(model).__name__} keeps {type(layer).__name__} states; expected a model that keeps keys "
                "and values only, which can be cropped to an accepted path"
            )
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None


def input_device(model: PreTrainedModel) -> torch.device:
    """The device of the embeddings, where token ids go in; with `device_map` other layers may be elsewhere."""
    table: Any = model.get_input_embeddings().weight
    device: torch.device = table.device
    return device


def takes_argument(model: PreTrainedModel, name: str) -> bool:
    """Whether the model's forward pass has an argument of that name."""
    return name in inspect.signature(model.forward).parameters
