"""The shape of any drafted tree: its distinct nodes, how often each was drawn, and in which order, as host integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from nodebudget.lp.instances.arguments import described
from nodebudget.lp.instances.trees import format_context

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Family(NamedTuple):
    """Nodes that have equally many continuations, so that one array operation serves all of them.

    Attributes:
        nodes: int array (g,).
        children: int array (g, m), for each node the child that each of its m continuations leads to.
    """

    nodes: Ints
    children: Ints


class TreeNodes:
    """The distinct nodes of a drafted tree, of unequal depths where it has them.

    Node 0 is the root. Nodes are in level order, and within a level in order of first appearance. Those above the
    deepest level are called inner, whether something was drawn below them or not.

    Attributes:
        depth: the length of the longest drafted string.
        parent: int array (n,), -1 at the root.
        token: int array (n,), the last token of each node, -1 at the root.
        lengths: int array (n,), the number of tokens from the root to each node.
        level_start: int array (depth + 2,); nodes of length d are level_start[d] .. level_start[d + 1] - 1.
        counts: int array (n,), how often each node was drawn; 1 at the root.
        children: for each inner node, its distinct children in order of first appearance.
        drawn: for each inner node, the children that were drawn, copies repeated, in the order of drawing.

    >>> nodes = TreeNodes([(1,), (0,), (1,), (0, 2)])
    >>> [nodes.path(z) for z in range(len(nodes))]
    [(), (1,), (0,), (0, 2)]
    >>> nodes.counts.tolist(), nodes.drawn
    ([1, 2, 1, 1], ((1, 2, 1), (), (3,)))
    """

    def __init__(self, strings: Any) -> None:
        """Build from the token string of each drafted node, the root left out.

        Args:
            strings: nonempty sequences of token ids, in the order of drawing; a node that was drawn several times is
                there several times, and its copies' children one copy after the other.

        Raises ValueError for a node whose parent is not among them, and for what is no token id.
        """
        listed = _read_strings(strings)
        place: dict[tuple[int, ...], int] = {(): 0}
        parent, token, lengths, counts = [-1], [-1], [0], [1]
        drawn: list[list[int]] = [[]]
        level_start = [0]
        for string in sorted(listed, key=len):  # stable: the order of drawing stays within a level
            above = place.get(string[:-1])
            if above is None:
                missing = format_context(string[:-1])
                raise ValueError(f"nodes: the node {format_context(string)!r} has no parent {missing!r}")
            if string not in place:
                while len(level_start) <= len(string):
                    level_start.append(len(parent))
                place[string] = len(parent)
                parent.append(above)
                token.append(string[-1])
                lengths.append(len(string))
                counts.append(0)
                drawn.append([])
            counts[place[string]] += 1
            drawn[above].append(place[string])
        self._set(parent, token, lengths, [*level_start, len(parent)], counts, drawn)

    def _set(
        self,
        parent: list[int],
        token: list[int],
        lengths: list[int],
        level_start: list[int],
        counts: Sequence[int],
        drawn: list[list[int]],
    ) -> None:
        self.depth = len(level_start) - 2
        self.parent: Ints = np.array(parent)
        self.token: Ints = np.array(token)
        self.lengths: Ints = np.array(lengths)
        self.level_start: Ints = np.array(level_start)
        self.counts: Ints = np.array(counts)
        self.drawn = tuple(map(tuple, drawn[: self.inner]))
        self.children = tuple(tuple(dict.fromkeys(below)) for below in self.drawn)
        for array in (self.parent, self.token, self.lengths, self.level_start, self.counts):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.parent)

    def __repr__(self) -> str:
        return f"TreeNodes({self.summary})"

    @property
    def summary(self) -> str:
        """What was drawn, for texts."""
        return f"depth={self.depth}, nodes={len(self)}, draws={int(self.counts[1:].sum())}"

    @property
    def inner(self) -> int:
        """The number of nodes above the deepest level; they are the nodes 0 .. inner - 1."""
        return int(self.level_start[self.depth])

    def path(self, node: int) -> tuple[int, ...]:
        """The tokens that lead from the root to a node."""
        return tuple(int(self.token[passed]) for passed in self.way(node)[1:])

    def way(self, node: int) -> list[int]:
        """The nodes from the root to a node."""
        way = [node]
        while way[-1] > 0:
            way.append(int(self.parent[way[-1]]))
        return way[::-1]

    @cached_property
    def ways(self) -> Ints:
        """int array (m, depth + 1): the ways to all ends, an end repeated where it is not that deep."""
        ways = [self.way(end) for end in np.flatnonzero(self.ends).tolist()]
        return np.array([way + way[-1:] * (self.depth + 1 - len(way)) for way in ways])

    @cached_property
    def first_passing(self) -> tuple[Ints, Ints]:
        """For each node, the first of `ways` that passes it, as (its number, position on the way), both (n,)."""
        first = np.zeros(len(self), dtype=np.int64)
        for number in reversed(range(len(self.ways))):
            first[self.ways[number]] = number
        return first, self.lengths

    def where_drafted(self, node: int) -> str:
        """Where a node but the root comes from, for error messages."""
        return f"nodes: the node {format_context(self.path(node))!r}"

    def as_text(self) -> str:
        """The drafted nodes, for messages."""
        return " ".join(format_context(self.path(node)) for node in range(1, len(self))) or "none"

    @cached_property
    def ends(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """bool array (n,): the nodes below which nothing was drawn."""
        ends = np.ones(len(self), dtype=bool)
        ends[[node for node, below in enumerate(self.drawn) if below]] = False
        return ends

    @cached_property
    def by_draws(self) -> tuple[Family, ...]:
        """All nodes with something drawn below, grouped by the number of draws; one continuation a draw, in order."""
        return _families(np.flatnonzero(~self.ends).tolist(), self.drawn)

    def by_draws_at(self, length: int) -> tuple[Family, ...]:
        """Those of `by_draws` that have one length."""
        level = range(int(self.level_start[length]), int(self.level_start[length + 1]))
        return _families([node for node in level if not self.ends[node]], self.drawn)

    def by_children(self, length: int) -> tuple[Family, ...]:
        """The nodes of one length with children, grouped by the number of distinct ones."""
        level = range(int(self.level_start[length]), int(self.level_start[length + 1]))
        return _families([node for node in level if not self.ends[node]], self.children)

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


def _read_strings(strings: Any) -> list[tuple[int, ...]]:
    if isinstance(strings, Set | Mapping | str) or not isinstance(strings, Iterable):
        raise ValueError(
            f"nodes: got {described(strings)}; expected the token strings of the drafted nodes in the order of "
            "drawing, such as [(0,), (1,), (0, 2)]"
        )
    out = []
    for string in listed(strings):
        tokens = listed(string)
        if not isinstance(tokens, list | tuple) or not tokens or not all(map(is_token, tokens)):
            raise ValueError(f"nodes: got {string!r}; expected a nonempty string of token ids, at least 0")
        out.append(tuple(int(y) for y in tokens))
    return out


def is_token(value: Any) -> bool:
    """Whether a value is a nonnegative integer."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


def listed(values: Any) -> Any:
    """An array or tensor as nested lists; anything else as it is."""
    return values.tolist() if hasattr(values, "tolist") else values
