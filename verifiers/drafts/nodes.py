"""The shape of a drafted tree: which nodes K paths pass, as host integers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from nodebudget.lp.instances.arguments import described

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Family(NamedTuple):
    """Nodes that have equally many continuations, so that one array operation serves all of them.

    Attributes:
        nodes: int array (g,).
        children: int array (g, m), for each node the child that each of its m continuations leads to.
    """

    nodes: Ints
    children: Ints


class PathNodes:
    """The distinct nodes of K drafted paths of one length L.

    Node 0 is the root. Nodes are in level order, and within a level in order of first appearance: the node of
    an earlier path comes first. The leaves are the last nodes; the nodes above them are called inner.

    Attributes:
        depth: the common length L of the paths.
        parent: int array (n,), -1 at the root.
        token: int array (n,), the last token of each node, -1 at the root.
        lengths: int array (n,), the number of tokens from the root to each node.
        level_start: int array (L + 2,); nodes of length d are level_start[d] .. level_start[d + 1] - 1.
        path_nodes: int array (K, L + 1), the nodes of each path, root first.
        counts: int array (n,), how many of the K paths pass each node.
        children: for each inner node, its distinct children in order of first appearance.

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
        self.depth = len(tokens[0])
        parent, token, lengths, level_start = [-1], [-1], [0], [0, 1]
        path_nodes = np.zeros((len(tokens), self.depth + 1), dtype=np.int64)
        children: list[list[int]] = [[]]
        for d in range(self.depth):
            found: dict[tuple[int, int], int] = {}
            for k, path in enumerate(tokens):
                key = (int(path_nodes[k, d]), path[d])
                if key not in found:
                    found[key] = len(parent)
                    children[key[0]].append(len(parent))
                    children.append([])
                    parent.append(key[0])
                    token.append(key[1])
                    lengths.append(d + 1)
                path_nodes[k, d + 1] = found[key]
            level_start.append(len(parent))
        self.parent: Ints = np.array(parent)
        self.token: Ints = np.array(token)
        self.lengths: Ints = np.array(lengths)
        self.level_start: Ints = np.array(level_start)
        self.path_nodes: Ints = path_nodes
        self.counts: Ints = np.bincount(path_nodes.ravel(), minlength=len(parent))
        self.children = tuple(tuple(below) for below in children[: level_start[self.depth]])
        for array in (self.parent, self.token, self.lengths, self.level_start, self.path_nodes, self.counts):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.parent)

    def __repr__(self) -> str:
        return f"PathNodes(paths={self.paths}, depth={self.depth}, nodes={len(self)})"

    @property
    def paths(self) -> int:
        """The number of drafted paths K, duplicates counted."""
        return len(self.path_nodes)

    @property
    def inner(self) -> int:
        """The number of nodes above the leaves; they are the nodes 0 .. inner - 1."""
        return int(self.level_start[self.depth])

    def path(self, node: int) -> tuple[int, ...]:
        """The tokens that lead from the root to a node."""
        tokens = []
        while node > 0:
            tokens.append(int(self.token[node]))
            node = int(self.parent[node])
        return tuple(reversed(tokens))

    def where_drafted(self, node: int) -> str:
        """Where a node but the root comes from, for error messages."""
        path, position = (int(part[node]) for part in self.first_passing)
        return f"paths: path {path}, position {position - 1}"

    @cached_property
    def first_passing(self) -> tuple[Ints, Ints]:
        """For each node, the first path that passes it, as (path number, position on the path), both (n,)."""
        path = np.zeros(len(self), dtype=np.int64)
        for k in reversed(range(self.paths)):
            path[self.path_nodes[k]] = k
        return path, self.lengths

    @cached_property
    def by_paths(self) -> tuple[Family, ...]:
        """All inner nodes, grouped by how many paths pass; one continuation per path, in drafting order."""
        drafted: list[list[int]] = [[] for _ in range(self.inner)]
        for path in self.path_nodes:
            for node, child in itertools.pairwise(path.tolist()):
                drafted[node].append(child)
        return _families(range(self.inner), drafted)

    def by_children(self, length: int) -> tuple[Family, ...]:
        """The nodes of one length, grouped by their number of distinct children."""
        return _families(range(self.level_start[length], self.level_start[length + 1]), self.children)

    @cached_property
    def post_order(self) -> Ints:
        """All nodes, each after everything below it, children in order of first appearance."""
        order: list[int] = []
        stack = [0]
        while stack:
            node = stack.pop()
            order.append(node)
            if node < self.inner:
                stack.extend(self.children[node])
        return np.array(order[::-1])


def _families(nodes: Sequence[int], continuations: Sequence[Sequence[int]]) -> tuple[Family, ...]:
    groups: dict[int, list[int]] = {}
    for node in nodes:
        groups.setdefault(len(continuations[node]), []).append(node)
    return tuple(
        Family(np.array(members), np.array([continuations[node] for node in members]))
        for members in groups.values()
    )


def _read_paths(paths: Any) -> list[list[int]]:
    if isinstance(paths, Set | Mapping | str) or not isinstance(paths, Iterable):
        raise ValueError(
            f"paths: got {described(paths)}; expected K x L token ids: K independent draws from the draft in drafting "
            "order, a path that was drafted twice given twice"
        )
    listed = [_listed(path) for path in _listed(paths)]
    if not listed:
        raise ValueError("paths: got no path; expected K >= 1 drafted paths")
    for k, path in enumerate(listed):
        if not isinstance(path, list | tuple) or not path:
            raise ValueError(f"paths: path {k} is {path!r}; expected K x L token ids with L >= 1")
        if len(path) != len(listed[0]):
            raise ValueError(
                f"paths: path {k} has {len(path)} tokens and path 0 has {len(listed[0])}; "
                "expected paths of one length"
            )
        for i, y in enumerate(path):
            if isinstance(y, bool) or not isinstance(y, int | np.integer) or y < 0:
                raise ValueError(f"paths: path {k}, position {i}: got {y!r}; expected a token id, at least 0")
    return [[int(y) for y in path] for path in listed]


def _listed(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values
