"""The shape of K drafted paths: which nodes they pass, as host integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import cached_property
from typing import Any

import numpy as np
from nodebudget.lp.instances.arguments import described
from nodebudget.lp.instances.trees import format_context

from .tree_nodes import Ints, TreeNodes, is_token, listed


class PathNodes(TreeNodes):
    """The distinct nodes of K drafted paths of one length L: a drafted tree whose leaves all have that depth.

    Nodes are in level order, and within a level in order of first appearance: the node of an earlier path comes
    first. The leaves are the last nodes; the inner nodes are those above them.

    Attributes:
        path_nodes: int array (K, L + 1), the nodes of each path, root first.
        counts: int array (n,), how many of the K paths pass each node; K at the root.
        drawn: for each inner node, the next nodes of the paths that pass it, in drafting order.

    The other attributes are those of `TreeNodes`.

    >>> nodes = PathNodes([[1, 0], [2, 2], [1, 2]])
    >>> [nodes.path(z) for z in range(len(nodes))]
    [(), (1,), (2,), (1, 0), (2, 2), (1, 2)]
    >>> nodes.counts.tolist()
    [3, 2, 1, 1, 1, 1]
    """

    def __init__(self, paths: Any) -> None:
        """Build from K x L token ids: nested sequences, a numpy array, or a torch tensor (read on the host).

        Raises ValueError for no path, an empty path, paths of different lengths, or an id that is not a
        nonnegative integer.
        """
        tokens = _read_paths(paths)
        depth = len(tokens[0])
        parent, token, lengths, level_start = [-1], [-1], [0], [0, 1]
        path_nodes = np.zeros((len(tokens), depth + 1), dtype=np.int64)
        drawn: list[list[int]] = [[]]
        for d in range(depth):
            found: dict[tuple[int, int], int] = {}
            for k, path in enumerate(tokens):
                key = (int(path_nodes[k, d]), path[d])
                if key not in found:
                    found[key] = len(parent)
                    drawn.append([])
                    parent.append(key[0])
                    token.append(key[1])
                    lengths.append(d + 1)
                path_nodes[k, d + 1] = found[key]
                drawn[key[0]].append(found[key])
            level_start.append(len(parent))
        self.path_nodes: Ints = path_nodes
        path_nodes.setflags(write=False)
        counts = np.bincount(path_nodes.ravel(), minlength=len(parent)).tolist()
        self._set(parent, token, lengths, level_start, counts, drawn)

    def __repr__(self) -> str:
        return f"PathNodes(paths={self.paths}, depth={self.depth}, nodes={len(self)})"

    @property
    def summary(self) -> str:
        """What was drawn, for texts."""
        return f"paths={self.paths}, depth={self.depth}, nodes={len(self)}"

    @property
    def paths(self) -> int:
        """The number of drafted paths K, duplicates counted."""
        return len(self.path_nodes)

    def where_drafted(self, node: int) -> str:
        """Where a node but the root comes from, for error messages."""
        path, position = (int(part[node]) for part in self.first_passing)
        return f"paths: path {path}, position {position - 1}"

    def as_text(self) -> str:
        """The drafted paths, for messages."""
        return " | ".join(format_context(self.path(int(path[-1]))) for path in self.path_nodes)

    @cached_property
    def ways(self) -> Ints:
        """`path_nodes`: one way for each path, one that was drafted twice included twice."""
        return self.path_nodes


def _read_paths(paths: Any) -> list[list[int]]:
    if isinstance(paths, Set | Mapping | str) or not isinstance(paths, Iterable):
        raise ValueError(
            f"paths: got {described(paths)}; expected K x L token ids: K independent draws from the draft in drafting "
            "order, a path that was drafted twice given twice"
        )
    every = [listed(path) for path in listed(paths)]
    if not every:
        raise ValueError("paths: got no path; expected K >= 1 drafted paths")
    for k, path in enumerate(every):
        if not isinstance(path, list | tuple) or not path:
            raise ValueError(f"paths: path {k} is {path!r}; expected K x L token ids with L >= 1")
        if len(path) != len(every[0]):
            raise ValueError(
                f"paths: path {k} has {len(path)} tokens and path 0 has {len(every[0])}; "
                "expected paths of one length"
            )
        for i, y in enumerate(path):
            if not is_token(y):
                raise ValueError(f"paths: path {k}, position {i}: got {y!r}; expected a token id, at least 0")
    return [[int(y) for y in path] for path in every]
