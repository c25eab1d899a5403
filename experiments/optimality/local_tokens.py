"""A sparse instance over few tokens: at each node those with mass are numbered from 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from nodebudget.lp import Instance, PrefixTree


def with_local_tokens(instance: Instance) -> Instance:
    """The same instance, the tokens at each node numbered by their rank among those with mass there.

    No verifier and no program looks at a token but to compare it with others after the same context, so that
    accepted tokens and OPT_K stay what they are, while rows have the length of the largest support instead of
    the vocabulary's. In floats ratios are told apart a little more finely in a small vocabulary (see
    `nodebudget.lp.selection.ratio_order`). The laws at the leaves, which never matter for acceptance, are left out.
    """
    tree = instance.tree
    token = tree.token.copy()
    off_tree: dict[int, Mapping[int, tuple[Any, Any]]] = {}
    largest = 1
    for node in range(tree.leaves.start):
        children, rest = tree.children(node), instance.off_tree.get(node, {})
        known = np.array(sorted([*tree.token[children.start : children.stop].tolist(), *rest]))
        largest = max(largest, len(known))
        token[children.start : children.stop] = np.searchsorted(
            known, tree.token[children.start : children.stop]
        )
        if rest:
            off_tree[node] = {int(np.searchsorted(known, y)): pair for y, pair in rest.items()}
    local = PrefixTree(largest, tree.depth, tree.parent, token)
    return Instance(local, instance.target, instance.draft, None, off_tree)
