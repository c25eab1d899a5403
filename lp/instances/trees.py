"""Prefix trees: the strings that a draft can propose, as arrays in level order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..numbers.rationals import Array, is_exact, shortened
from .arguments import check_kind

if TYPE_CHECKING:
    import networkx as nx

NODE_LIMIT = 20_000_000
"""Largest tree that is built; a larger one is refused before any memory is taken."""


VOCAB_LIMIT = 1_000_000
"""Largest vocabulary."""

DEPTH_LIMIT = 100_000
"""Largest string length of a tree."""


class PrefixTree:
    """A tree of token strings of length at most `depth` over the tokens 0 .. `vocab` - 1.

    Node 0 is the root (the empty string). Nodes are in level order, the children of a node are contiguous
    and sorted by token, so that a pass up or down the tree is one array operation per level.

    Attributes:
        vocab: vocabulary size V.
        depth: largest string length L; a sparse tree may have no node that deep.
        parent: int array (n,), the parent of each node; -1 for the root.
        token: int array (n,), the last token of each node; -1 for the root.
        level_start: int array (L + 2,); nodes of length d are level_start[d] .. level_start[d + 1] - 1.
        first_child, child_count: int arrays (n,).
    """

    def __init__(self, vocab: int, depth: int, parent: Array, token: Array) -> None:
        """Build from level-order arrays; `full` and `grow` are the usual ways to make a tree.

        Raises ValueError if vocab < 1, depth < 1, or the arrays are not in level order with sorted children.
        """
        check_shape(vocab, depth)
        self.vocab = vocab
        self.depth = depth
        self.parent = np.asarray(parent, dtype=np.int64)
        self.token = np.asarray(token, dtype=np.int64)
        count = len(self.parent)
        if len(self.token) != count or count == 0 or self.parent[0] != -1 or self.token[0] != -1:
            raise ValueError(
                "a tree needs equally long parent and token arrays that start with the root (-1, -1)"
            )
        inner_parent, inner_token = self.parent[1:], self.token[1:]
        if np.any(inner_parent < 0) or np.any(inner_parent >= np.arange(1, count)):
            raise ValueError("every node must come after its parent")
        if np.any((inner_token < 0) | (inner_token >= vocab)):
            raise ValueError(f"tokens must lie in 0..{vocab - 1}")
        keys = inner_parent * vocab + inner_token
        if np.any(np.diff(keys) <= 0):
            raise ValueError("nodes must be in level order, the children of a node sorted by token")
        self.level_start = self._level_starts(inner_parent)
        self.child_count = np.bincount(inner_parent, minlength=count)
        self.first_child = 1 + np.concatenate(([0], np.cumsum(self.child_count)[:-1]))
        for array in (self.parent, self.token, self.level_start, self.child_count, self.first_child):
            array.setflags(write=False)

    def _level_starts(self, inner_parent: Array) -> Array:
        """Level boundaries: a level ends where parents reach the level itself (parents are sorted)."""
        starts = [0, 1]
        for _ in range(self.depth):
            starts.append(1 + int(np.searchsorted(inner_parent, starts[-1])))
        if starts[-1] != len(inner_parent) + 1:
            raise ValueError(f"a node is deeper than the depth {self.depth}")
        return np.array(starts, dtype=np.int64)

    @classmethod
    def full(cls, vocab: int, depth: int) -> PrefixTree:
        """The tree of all strings of length at most `depth`.

        >>> len(PrefixTree.full(2, 3))
        15
        """
        check_shape(vocab, depth)
        count = full_size(vocab, depth)
        nodes = np.arange(1, count)
        parent = np.concatenate(([-1], (nodes - 1) // vocab))
        token = np.concatenate(([-1], (nodes - 1) % vocab))
        return cls(vocab, depth, parent, token)

    @classmethod
    def grow(cls, vocab: int, depth: int, children: Callable[[tuple[int, ...]], Iterable[int]]) -> PrefixTree:
        """A sparse tree: `children(context)` gives the tokens that follow a context shorter than `depth`.

        >>> tree = PrefixTree.grow(5, 2, lambda context: [1, 4] if not context else [context[-1]])
        >>> [tree.path(node) for node in range(len(tree))]
        [(), (1,), (4,), (1, 1), (4, 4)]
        """
        check_shape(vocab, depth)
        parent, token = [-1], [-1]
        level: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        for _ in range(depth):
            below = []
            for node, context in level:
                for y in sorted({int(y) for y in children(context)}):
                    below.append((len(parent), (*context, y)))
                    parent.append(node)
                    token.append(y)
                    if len(parent) > NODE_LIMIT:
                        raise ValueError(f"the sparse tree has more than {NODE_LIMIT} nodes")
            level = below
        return cls(vocab, depth, np.array(parent), np.array(token))

    def __len__(self) -> int:
        return len(self.parent)

    def __repr__(self) -> str:
        return f"PrefixTree(vocab={self.vocab}, depth={self.depth}, nodes={len(self)})"

    def level(self, length: int) -> slice:
        """The nodes of one string length, as a slice of node numbers."""
        return slice(int(self.level_start[length]), int(self.level_start[length + 1]))

    @property
    def leaves(self) -> range:
        """The nodes of length `depth`, where a drafted path ends."""
        return range(int(self.level_start[self.depth]), len(self))

    @property
    def lengths(self) -> Array:
        """int array (n,): the string length of each node."""
        return np.repeat(np.arange(self.depth + 1), np.diff(self.level_start))

    def children(self, node: int) -> range:
        """The children of a node, in order of their tokens."""
        first = int(self.first_child[node])
        return range(first, first + int(self.child_count[node]))

    def path(self, node: int) -> tuple[int, ...]:
        """The token string of a node."""
        tokens = []
        while node > 0:
            tokens.append(int(self.token[node]))
            node = int(self.parent[node])
        return tuple(reversed(tokens))

    def child(self, node: int, token: int) -> int | None:
        """The child of a node that a token leads to, or None where the tree does not have it."""
        below = self.children(node)
        place = below.start + int(np.searchsorted(self.token[below.start : below.stop], token))
        return place if place < below.stop and self.token[place] == token else None

    def find(self, tokens: Sequence[int]) -> int | None:
        """The node of a token string, or None where the tree does not have it."""
        node = 0
        for y in tokens:
            below = self.child(node, y)
            if below is None:
                return None
            node = below
        return node

    def sum_children(self, values: Array, length: int) -> Array:
        """For each node of one string length, the sum of `values` over its children (0 without any).

        `values` has one entry per node along its last axis.
        """
        nodes, (parents, starts) = self.level(length), self._families[length]
        out = np.zeros((*values.shape[:-1], nodes.stop - nodes.start), dtype=values.dtype)
        if len(parents):
            out[..., parents] = np.add.reduceat(values[..., self.level(length + 1)], starts, axis=-1)
        return out

    @cached_property
    def _families(self) -> list[tuple[Array, Array]]:
        """For each string length, the nodes with children and their first children, counted from their levels."""
        out = []
        for length in range(self.depth):
            nodes = self.level(length)
            parents = np.flatnonzero(self.child_count[nodes])
            out.append((parents, self.first_child[nodes][parents] - self.level_start[length + 1]))
        return out

    def sum_children_everywhere(self, values: Array) -> Array:
        """For every node, the sum of `values` over its children."""
        below = [self.sum_children(values, d) for d in range(self.depth)]
        return np.concatenate([*below, np.zeros(len(self.leaves), dtype=values.dtype)])

    def multiply_down(self, values: Array) -> Array:
        """For every node, the product of `values` along the path from the root, the root's own included."""
        out = values.copy()
        for d in range(1, self.depth + 1):
            nodes = self.level(d)
            out[nodes] = out[self.parent[nodes]] * values[nodes]
        return out

    def restrict(self, keep: Array) -> tuple[PrefixTree, Array]:
        """The subtree of the nodes where the bool array `keep` holds, and their old numbers.

        Raises ValueError unless `keep` holds at the root and, with a node, at its parent.
        """
        if not keep[0] or np.any(keep[1:] & ~keep[self.parent[1:]]):
            raise ValueError("a subtree must contain the root and, with each node, its parent")
        old = np.flatnonzero(keep)
        new = np.cumsum(keep) - 1
        parent = np.where(self.parent[old] >= 0, new[self.parent[old]], -1)
        return PrefixTree(self.vocab, self.depth, parent, self.token[old]), old

    def to_networkx(self, **values: Array) -> nx.DiGraph:
        """The tree as a networkx digraph: nodes are token strings, with each named array as an attribute."""
        import networkx as nx

        graph = nx.DiGraph()
        paths = [self.path(node) for node in range(len(self))]
        for node, path in enumerate(paths):
            graph.add_node(path, **{name: array[node] for name, array in values.items()})
            if node:
                graph.add_edge(path[:-1], path, token=path[-1])
        return graph


def full_size(vocab: int, depth: int) -> int:
    """The number of strings of length at most `depth`; ValueError where it is above `NODE_LIMIT`."""
    total = level = 1
    for _ in range(depth):
        level *= vocab
        total += level
        if total > NODE_LIMIT:
            raise ValueError(
                f"the full tree with vocabulary {vocab} and depth {depth} has more than {NODE_LIMIT} nodes, the "
                "most that are built (use a sparse tree)"
            )
    return total


def check_tree(tree: object) -> None:
    """Raise ValueError for anything but a `PrefixTree`."""
    check_kind("tree", tree, PrefixTree, "a PrefixTree, such as instance.tree")


def check_shape(vocab: int, depth: int) -> None:
    """Raise ValueError unless vocab and depth are positive integers within `VOCAB_LIMIT` and `DEPTH_LIMIT`."""
    for name, value, limit in (("vocab", vocab, VOCAB_LIMIT), ("depth", depth, DEPTH_LIMIT)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name}: got {shortened(value)}; expected an integer of at least 1")
        if value > limit:
            raise ValueError(f"{name}: got {approximately(value)}; expected at most {limit}")


def approximately(count: int) -> str:
    """A count in words: in full up to a trillion, by its power of ten above."""
    return str(count) if count < 10**12 else f"about 1e{int(count.bit_length() * 0.30103)}"


def format_context(tokens: Sequence[int]) -> str:
    """A token string as the instance format writes it: comma-joined ids, empty for the root."""
    return ",".join(str(y) for y in tokens)


def maximum(first: Array, second: Array) -> Array:
    """Entrywise maximum of two arrays of the same kind, exact or float."""
    if is_exact(first) or is_exact(second):
        return np.where(np.asarray(first >= second, dtype=bool), first, second)
    return np.maximum(first, second)
