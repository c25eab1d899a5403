"""One model behind a context: the logits after branches of tokens, each token of which is read once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch
from torch import Tensor

from .caches import CachedModel, input_device
from .models import ModelPair
from .tree_pass import prepare

ROWS_AT_ONCE = 128
"""Nodes that are read in one forward pass: each has a row of logits over the whole vocabulary."""


class BranchReader:
    """A model behind committed tokens that goes on along a prefix tree.

    Attributes:
        cached: the model; what it branches is behind its committed tokens, in the order in which it is read.
        columns: for each path that was read with a tree mask, its number among the branched tokens.
    """

    def __init__(self, cached: CachedModel, tokens: Sequence[int]) -> None:
        """`tokens` are all committed ones; those that the model has not read, at least one, are read with the root."""
        self.cached, self.tokens = cached, list(tokens)
        self.columns: dict[tuple[int, ...], int] = {}

    def logits(self, paths: Sequence[tuple[int, ...]]) -> Iterator[Tensor]:
        """The logits after paths, (m, V) for so many at once, in their order; the shorter ones come first.

        The parent of each path is the context, (), or was asked for before, here or in an earlier call. A pass
        takes up to `ROWS_AT_ONCE` paths: of several lengths with a tree mask, of one without.
        """
        rest = list(paths)
        if rest and rest[0] == ():
            yield self.cached.read(self.tokens[self.cached.length :])[None]
            rest = rest[1:]
        if self.cached.tree_mask:
            for start in range(0, len(rest), ROWS_AT_ONCE):
                yield self._branch(rest[start : start + ROWS_AT_ONCE])
            return
        for _, members in groupby(rest, key=len):
            level = list(members)
            for start in range(0, len(level), ROWS_AT_ONCE):
                yield self._batch(level[start : start + ROWS_AT_ONCE])

    def _branch(self, paths: Sequence[tuple[int, ...]]) -> Tensor:
        before = len(self.columns)
        self.columns.update((path, before + i) for i, path in enumerate(paths))
        visible = torch.zeros((len(paths), before + len(paths)), dtype=torch.bool)
        for row, path in enumerate(paths):
            visible[row, [self.columns[path[:length]] for length in range(1, len(path) + 1)]] = True
        depths = torch.tensor([len(path) - 1 for path in paths])
        return self.cached.branch(torch.tensor([path[-1] for path in paths]), depths, visible)

    def _batch(self, paths: Sequence[tuple[int, ...]]) -> Tensor:
        """The logits of a model that takes no tree mask, which reads every path from the start."""
        model = self.cached.model
        ids = torch.tensor([[*self.tokens, *path] for path in paths], device=input_device(model))
        logits: Tensor = model(input_ids=ids, use_cache=False).logits
        return logits[:, -1, : self.cached.vocab]


class PairReader:
    """A pair of models that read trees behind contexts.

    Attributes:
        pair: target and draft, put in evaluation mode.
        context: tokens that a context and the drafted ones may have together, None where unknown.
        tree_mask: for target and draft, whether a tree is read with a mask.
    """

    def __init__(self, pair: ModelPair) -> None:
        """Prepare; ValueError as `prepare` raises."""
        self.pair = pair
        self.context, self.tree_mask = prepare(pair.target, pair.draft)

    def behind(self, context: Sequence[int], length: int) -> tuple[BranchReader, BranchReader]:
        """Target and draft behind a context; ValueError where it and `length` more tokens do not fit into them."""
        if self.context is not None and len(context) + length > self.context:
            raise ValueError(
                f"context: {len(context)} tokens and {length} drafted ones do not fit into the {self.context} "
                f"tokens of {self.pair.name}"
            )
        target, draft = (
            BranchReader(CachedModel(model, self.pair.vocab, tree_mask=tree_mask), context)
            for model, tree_mask in zip((self.pair.target, self.pair.draft), self.tree_mask, strict=True)
        )
        return target, draft
