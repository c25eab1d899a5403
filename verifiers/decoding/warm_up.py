"""A verifier's first law, before any block is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from nodebudget.verifiers.drafts.nodes import PathNodes
from nodebudget.verifiers.drafts.paths import DraftTree
from nodebudget.verifiers.drafts.tree_nodes import TreeNodes
from nodebudget.verifiers.sampling import sample

from .drafters import Drafter, Grown

if TYPE_CHECKING:
    from .loop import Decoder


def warm_up(decoder: Decoder) -> None:
    """Let a verifier of the package load its compiled code before any block is timed."""
    assert decoder.verifier is not None
    assert decoder.drafter is not None
    vocab, device = decoder.pair.vocab, decoder.pair.target.device
    nodes = _example(decoder.drafter, vocab)
    with torch.inference_mode():
        # Models that differ, so that nothing is certain; all of the draft's tokens are equally likely.
        ramp = torch.arange(1, vocab + 1, dtype=getattr(torch, decoder.dtype), device=device)
        target, draft = (
            (law / law.sum()).expand(count, vocab).contiguous()
            for law, count in ((ramp, len(nodes)), (torch.ones_like(ramp), nodes.inner))
        )
        drafting = decoder.drafter.drafting
        law = decoder.verifier.law(DraftTree(nodes, target, draft, drafting=drafting, dtype=decoder.dtype))
        sample(law, np.random.default_rng(0))


def _example(drafter: Drafter, vocab: int) -> TreeNodes:
    """A small tree that may have been drafted from a draft that knows nothing."""
    if drafter.paths:
        return PathNodes([[0, 0], [1, 0]][: drafter.paths])
    if not isinstance(drafter, Grown):
        return TreeNodes([(0,)])
    level: list[tuple[int, ...]] = [()]
    strings: list[tuple[int, ...]] = []
    for count in drafter.counts:
        level = [(*path, token) for path in level for token in range(min(count, vocab))]
        strings += level
    return TreeNodes(strings)
