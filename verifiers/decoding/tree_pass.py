"""The target's pass over a drafted tree: the logits after every distinct node, in one forward pass."""

from __future__ import annotations

import numpy as np
import torch
from nodebudget.verifiers.drafts.nodes import PathNodes
from nodebudget.verifiers.drafts.tree_nodes import TreeNodes
from torch import Tensor
from transformers import PreTrainedModel

from .caches import CachedModel, context_limit, takes_argument


def tree_logits(target: CachedModel, last: int, nodes: TreeNodes) -> Tensor:
    """(n, V): the target's logits after each node, in the order of `nodes`.

    With a tree mask the distinct nodes are read once each, in one sequence: a node sees the committed tokens,
    the nodes above it and itself, and its position is its depth, counted on from the committed tokens. (With
    positions counted along the sequence instead every path but the first would be scored as if it came
    later.) A model that takes no such mask reads the ways from the root to the ends as a batch. Both give the same
    rows.

    Args:
        target: the target; its cache ends before `last`.
        last: the last committed token, whose place in the tree is the root.
        nodes: the drafted tree.
    """
    if target.tree_mask:
        tokens = torch.from_numpy(np.concatenate([[last], nodes.token[1:]]))
        return target.branch(tokens, torch.tensor(nodes.lengths), torch.from_numpy(_seen(nodes)))
    target.spread(len(nodes.ways))
    paths = nodes.token[nodes.ways]
    paths[:, 0] = last
    logits = target.branch_batch(torch.from_numpy(paths))
    way, position = nodes.first_passing
    flat = torch.from_numpy(way * (nodes.depth + 1) + position)
    return logits.flatten(0, 1).index_select(0, flat.to(logits.device, non_blocking=True))


def keep_path(target: CachedModel, nodes: TreeNodes, node: int) -> None:
    """Commit the root's token and the path to the accepted node; forget the rest of the tree."""
    if target.tree_mask:
        target.keep(nodes.way(node))
    else:
        target.keep_row(int(nodes.first_passing[0][node]), int(nodes.lengths[node]) + 1)


@torch.inference_mode()
def prepare(*models: PreTrainedModel) -> tuple[int | None, tuple[bool, ...]]:
    """Put models into evaluation mode; how many tokens they can all hold (None where unknown), and which take a mask.

    Raises ValueError for a model whose cache cannot be cropped.
    """
    limits = [limit for model in models if (limit := context_limit(model)) is not None]
    for model in models:
        model.eval()
    return (min(limits) if limits else None), tuple(takes_tree_mask(model) for model in models)


def takes_tree_mask(model: PreTrainedModel) -> bool:
    """Whether a model scores a small tree right when it is read with a tree mask.

    Models with a 4-D mask and positions as arguments may still ignore them (some attention kernels do), so
    the rows are compared with those of the paths read as a batch. The measure is how far rows of different
    nodes are apart.
    """
    if not (takes_argument(model, "position_ids") and takes_argument(model, "attention_mask")):
        return False
    vocab = int(model.config.get_text_config().vocab_size)
    limit = context_limit(model)
    if vocab < 2 or (limit is not None and limit < 5):
        return False
    nodes = PathNodes([[0, 1], [1, 0]])
    rows = []
    for tree_mask in (False, True):
        cached = CachedModel(model, vocab, tree_mask=tree_mask)
        cached.read([1, 0])
        try:
            rows.append(tree_logits(cached, 1, nodes).float())
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError):
            if not tree_mask:
                raise
            return False
    plain, masked = rows
    apart = (plain[1:] - plain[:1]).abs().amax()
    return bool((plain - masked).abs().amax() < 0.05 * apart)


def _seen(nodes: TreeNodes) -> np.ndarray:
    """(n, n): which nodes lie on the path to each node, itself included."""
    seen = np.eye(len(nodes), dtype=bool)
    for node in range(1, len(nodes)):
        seen[node] |= seen[nodes.parent[node]]
    return seen
