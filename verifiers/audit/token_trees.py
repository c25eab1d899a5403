"""A drafted tree as flat arrays, as engines that use tree attention lay it out: what a sampler of trees is given."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from nodebudget.lp.drafting import Drafting, IidPaths

from ..drafts.nodes import PathNodes
from ..drafts.paths import DraftTree
from ..drafts.tree_nodes import TreeNodes
from ..verifier import Verifier
from .sampler_calls import MisuseError


class TokenTree(NamedTuple):
    """A drafted tree with parent indices, in level order; node 0 is the root.

    Attributes:
        tokens: (n,) ids, -1 at the root.
        parents: (n,) node numbers, -1 at the root.
        leaves: (K,) the node at which each drafted path ends; a path drafted twice is there twice.
        target_rows: (n, V), the target's law after each node.
        draft_rows: (m, V), the draft's law after each of the m nodes above the deepest level, which come first.
        copies: (n,) how often each node was drawn; at the root 1, and K where K paths start there.
        drawn: (D,) node numbers, copies repeated: what was drawn below node 0 in the order of drawing, then what was
            drawn below node 1, and so on.
        drafting: what was drafted, of which this tree is one outcome.
    """

    tokens: Any
    parents: Any
    leaves: Any
    target_rows: Any
    draft_rows: Any
    copies: Any
    drawn: Any
    drafting: Drafting


TREE_IDS = ("tokens", "parents", "leaves", "copies", "drawn")
"""The parts of a `TokenTree` that are integers."""


def flat_tree(nodes: TreeNodes, target_rows: Any, draft_rows: Any, drafting: Drafting) -> TokenTree:
    """The flat form of drafted nodes, the integers in this machine's memory; one row for each node."""
    if isinstance(nodes, PathNodes):
        leaves = nodes.path_nodes[:, -1]
    else:
        leaves = np.repeat(np.flatnonzero(nodes.ends), nodes.counts[nodes.ends])
    drawn = np.array([child for below in nodes.drawn for child in below], dtype=np.int64)
    return TokenTree(
        nodes.token, nodes.parent, leaves, target_rows, draft_rows, nodes.counts, drawn, drafting
    )


def shown_tree(verifier: Verifier, tree: TokenTree) -> DraftTree:
    """The drafted tree as a verifier of this package is shown it.

    Raises MisuseError, a ValueError, where the verifier is not defined for what was drafted.
    """
    strings: list[tuple[int, ...]] = []
    for token, parent in zip(tree.tokens.tolist(), tree.parents.tolist(), strict=True):
        strings.append((*strings[parent], token) if strings else ())
    drawn = tree.drawn.tolist()
    if verifier.needs.met(tree.drafting) and not isinstance(tree.drafting, IidPaths):
        return _with_rows(tree, strings, TreeNodes([strings[node] for node in drawn]), tree.drafting)
    depth = len(strings[-1])
    paths = tree.drafting.iid_paths(depth) if depth else None
    if paths is None or not verifier.needs.met(IidPaths(paths)):
        raise MisuseError(f"{verifier.name} needs {verifier.needs.text}; got {tree.drafting}")
    ends = _path_ends(tree.parents.tolist(), drawn, paths)[: paths if verifier.multipath else 1]
    return _with_rows(tree, strings, PathNodes([strings[end] for end in ends]), IidPaths(len(ends)))


def _with_rows(
    tree: TokenTree, strings: list[tuple[int, ...]], nodes: TreeNodes, drafting: Drafting
) -> DraftTree:
    """These nodes with the rows of the tree, which may number them otherwise."""
    number = {string: node for node, string in enumerate(strings)}
    order = [number[nodes.path(node)] for node in range(len(nodes))]
    target = tree.target_rows[np.array(order)]
    draft = tree.draft_rows[np.array(order[: nodes.inner], dtype=np.int64)]
    return DraftTree(nodes, target, draft, drafting=drafting)


def _path_ends(parents: list[int], drawn: list[int], paths: int) -> list[int]:
    """The leaves of i.i.d. paths in their order: the copies of a node draw one after the other."""
    below: dict[int, list[int]] = {}
    for node in reversed(drawn):
        below.setdefault(parents[node], []).append(node)
    ends = []
    for _ in range(paths):
        node = 0
        while node in below:
            node = below[node].pop()
        ends.append(node)
    return ends
