"""The rows of drafted nodes, looked up in an instance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from nodebudget.lp.instances.instance import Instance
from nodebudget.lp.instances.trees import format_context

from ..arithmetic.arrays import Array
from .nodes import PathNodes
from .read_rows import undrafted
from .tree_nodes import TreeNodes


def instance_rows(instance: Instance, nodes: TreeNodes, *, from_draft: bool = True) -> tuple[Array, Array]:
    """(n, V) and (nodes.inner, V): the target's and the draft's laws at drafted nodes, exact where the instance is.

    Below a node that a sparse instance does not have they are uniform; they do not matter there.

    Raises ValueError for paths that are not of the instance's depth, a longer string than that, a token outside its
    vocabulary, and with `from_draft` a drafted token to which the draft gives probability zero.
    """
    if isinstance(nodes, PathNodes) and nodes.depth != instance.depth:
        raise ValueError(f"paths: got {nodes.depth} tokens a path; expected the depth, {instance.depth}")
    if nodes.depth > instance.depth:
        raise ValueError(
            f"nodes: got strings of {nodes.depth} tokens; expected at most the depth, {instance.depth}"
        )
    if nodes.token.max() >= instance.vocab:
        node = int(np.argmax(nodes.token >= instance.vocab))
        outside = f"token {nodes.token[node]} is outside the vocabulary 0..{instance.vocab - 1}"
        raise ValueError(f"{nodes.where_drafted(node)}: {outside}")
    target, draft = [], []
    uniform = [Fraction(1, instance.vocab) if instance.exact else 1.0 / instance.vocab] * instance.vocab
    places: list[int | None] = []
    for node in range(len(nodes)):
        place = _place(instance, nodes, node, places, from_draft)
        places.append(place)
        target.append(uniform if place is None else instance.target_law(place))
        if node < nodes.inner:
            draft.append(uniform if place is None else instance.draft_law(place))
        if node and from_draft and not draft[nodes.parent[node]][nodes.token[node]] > 0:
            raise ValueError(undrafted(nodes, node))
    kind = object if instance.exact else np.float64
    shape = (-1, instance.vocab)
    return np.array(target, dtype=kind).reshape(shape), np.array(draft, dtype=kind).reshape(shape)


def _place(
    instance: Instance, nodes: TreeNodes, node: int, places: list[int | None], from_draft: bool
) -> int | None:
    """The instance's node of a drafted node, None where a sparse instance has none."""
    if node == 0:
        return 0
    above = places[nodes.parent[node]]
    if above is None:
        return None
    token = int(nodes.token[node])
    below = instance.tree.child(above, token)
    if below is not None:
        return below
    if instance.target_law(above)[token] > 0 and (instance.draft_law(above)[token] > 0 or not from_draft):
        who = "both models give" if from_draft else "the target gives"
        raise ValueError(
            f"the instance has no node {format_context(nodes.path(node))!r}, to which {who} "
            "probability; expected a tree that has every such node"
        )
    return None
