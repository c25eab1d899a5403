"""All that a draft can propose after a context and the target can keep: both models' laws on a prefix tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from nodebudget.lp import Instance
from torch import Tensor

from .branch_reader import PairReader
from .models import ModelPair
from .sampling_laws import SamplingLaw

Laws = dict[tuple[int, ...], dict[int, float]]


@dataclass(frozen=True, eq=False)
class ContextTree:
    """The prefix tree of tokens with mass under both models, or under the draft, after a context.

    Attributes:
        context: the context's token ids.
        instance: both models' laws, sparse, in floats; None where not even the first level fitted.
        length: drafted tokens that were asked for.
        first_cut: nodes that the tree would have had with one more level, where `nodes` did not allow it;
            None for a tree of the full length.
    """

    context: tuple[int, ...]
    instance: Instance | None
    length: int
    first_cut: int | None

    @property
    def depth(self) -> int:
        """Drafted tokens that the tree has, `length` or fewer."""
        return 0 if self.instance is None else self.instance.depth


class TreeExpander(PairReader):
    """A model pair with a sampling law, ready to expand trees."""

    def __init__(self, pair: ModelPair, sampling: SamplingLaw) -> None:
        """Prepare; both models are put in evaluation mode."""
        super().__init__(pair)
        self.sampling = sampling

    @torch.inference_mode()
    def expand(
        self, context: Sequence[int], length: int, nodes: int, *, drafted: bool = False
    ) -> ContextTree:
        """The tree after a context, level by level, one forward pass of each model for a level or a part of it.

        The laws are never cut: a tree that would have more than `nodes` nodes is made shorter as a whole, and
        says so. Tokens with mass under one model only have no node, but keep their mass.

        Args:
            context: token ids, at least one.
            length: drafted tokens L.
            nodes: most nodes of the tree, the root included.
            drafted: keep all nodes with draft mass, those included that the target cannot say.

        Raises:
            ValueError: for a length or a number of nodes below 1, an empty context, or one that leaves no room.
        """
        for name, value in (("length", length), ("nodes", nodes), ("context", len(context))):
            if value < 1:
                raise ValueError(f"{name}: got {value}; expected at least 1")
        readers = self.behind(context, length)
        laws: tuple[Laws, Laws] = ({}, {})
        level: list[tuple[int, ...]] = [()]
        count, depth, first_cut = 1, 0, None
        while depth < length:
            found = [
                [law for rows in reader.logits(level) for law in _sparse(self.sampling.rows(rows))]
                for reader in readers
            ]
            below = [
                (*path, token)
                for path, target, draft in zip(level, *found, strict=True)
                for token in sorted(draft.keys() if drafted else target.keys() & draft.keys())
            ]
            if count + len(below) > nodes:
                first_cut = count + len(below)
                break
            for table, rows in zip(laws, found, strict=True):
                table.update(zip(level, rows, strict=True))
            level, count, depth = below, count + len(below), depth + 1
        instance = None
        if depth:
            instance = Instance.from_laws(self.pair.vocab, depth, *laws, sparse=True, drafted=drafted)
        return ContextTree(tuple(context), instance, length, first_cut)


def _sparse(rows: Tensor) -> list[dict[int, float]]:
    """Rows of laws as the tokens that have mass."""
    laws = []
    for row in rows:
        tokens = row.nonzero()[:, 0]
        laws.append(dict(zip(tokens.tolist(), row[tokens].tolist(), strict=True)))
    return laws
