"""Drafting: K independent paths of length L from the draft, over one shared prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from nodebudget.verifiers.arithmetic.arrays import Arrays
from nodebudget.verifiers.drafts.nodes import PathNodes
from nodebudget.verifiers.sampling import draw
from torch import Tensor

from .caches import CachedModel
from .sampling_laws import SamplingLaw


@dataclass(frozen=True, eq=False)
class DraftedPaths:
    """Drafted paths on the device, with the very laws that they were drawn from.

    Attributes:
        tokens: (K, L) token ids.
        laws: (1 + K (L - 1), V): the law at the root, then for each depth 1 .. L - 1 the laws after the K
            paths. Paths that agree so far have the same law, to the last bit.
    """

    tokens: Tensor
    laws: Tensor

    def node_laws(self, nodes: PathNodes) -> Tensor:
        """(nodes.inner, V): the draft's law after each distinct node above the leaves."""
        path, depth = (part[: nodes.inner] for part in nodes.first_passing)
        place = torch.from_numpy(path + (depth - 1) * nodes.paths + 1)
        place[0] = 0
        return self.laws.index_select(0, place.to(self.laws.device, non_blocking=True))


def draft_paths(
    draft: CachedModel, unread: Sequence[int], law: SamplingLaw, uniforms: Tensor, dtype: torch.dtype
) -> DraftedPaths:
    """Draw K paths, independently; nothing is read from the device.

    Args:
        draft: the draft; its cache ends before `unread`.
        unread: the committed tokens that it has not read yet, at least one. After a block that was accepted
            as a whole they are two: the last drafted token was drawn but never read.
        law: how logits become laws.
        uniforms: (K, L) independent uniform numbers in [0, 1), on the host.
        dtype: of the laws.

    The draft's cache holds the branched tokens afterwards; `keep_drafted` tidies up.
    """
    count, length = uniforms.shape
    root = law.rows(draft.read(unread), dtype)[None]
    uniforms = uniforms.to(device=root.device, dtype=dtype, non_blocking=True)
    arrays = Arrays(root, str(dtype).removeprefix("torch."))
    laws, rows = [root], root.expand(count, -1)
    paths = draw(arrays, rows, uniforms[:, :1])[:, None]
    if length > 1 and not draft.tree_mask:
        draft.spread(count)
    own = torch.eye(count, dtype=torch.bool, device=draft.device)
    for depth in range(1, length):
        if draft.tree_mask:
            depths = torch.full((count,), depth - 1, device=draft.device)
            logits = draft.branch(paths[:, -1], depths, own.repeat(1, depth))
        else:
            logits = draft.branch_batch(paths[:, -1:])[:, 0]
        # A node that several paths pass has one law: that of the first path, for drawing as for verifying.
        agree = (paths[:, None] == paths[None]).all(-1)
        rows = law.rows(logits, dtype).index_select(0, agree.to(torch.uint8).argmax(1))
        laws.append(rows)
        drawn = draw(arrays, rows, uniforms[:, depth : depth + 1])
        paths = torch.cat([paths, drawn[:, None]], dim=1)
    return DraftedPaths(paths, torch.cat(laws))


def keep_drafted(draft: CachedModel, nodes: PathNodes, node: int) -> None:
    """Commit what the draft has read of the path to the accepted node; forget the rest.

    The tokens drawn last were never read, so of a path accepted as a whole one token is missing.
    """
    path = int(nodes.first_passing[0][node])
    kept = min(int(nodes.lengths[node]), nodes.depth - 1)
    if draft.tree_mask:
        draft.keep([depth * nodes.paths + path for depth in range(kept)])
    elif nodes.depth > 1:
        draft.keep_row(path, kept)
