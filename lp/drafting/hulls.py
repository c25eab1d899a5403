"""Hulls of how likely subtrees are hit and what they are worth: where draws with replacement are violated most.

For an antichain A let h(z) be the probability that what is drafted below one copy of z meets A there, given that z is
drafted, and D the sum of the budgets of A at and below z. At a node with k draws, h(z) = 1 - (1 - sum q(y|z) h(zy))^k.
This is concave in each h(zy), so that the violation D(A) - h(root) is convex. Its largest value is therefore found
among the vertices of the upper left hull of the pairs (h, D) that each subtree can attain (statement 13.7). The hull of
a node is the Minkowski sum of its children's, edges merged by slope, with h taken to 1 - (1 - h)^k, and with the point
(1, D(z)) of A = {z}.

In exact arithmetic the hulls are exact. `float_hulls.py` has them in floats, for large trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..instances.trees import PrefixTree
from .iid_paths import hit_probability

NOTHING, ITSELF = -1, -2
"""What a vertex takes of a subtree, where it is not a number of edges: no node, or its root alone."""


class Vertex(NamedTuple):
    """A vertex of the hull of a subtree: how likely the antichain is hit, its budgets, and what it consists of."""

    hit: Any
    budget: Any
    taken: int


class Hull(NamedTuple):
    """The upper left hull of a subtree, from the empty antichain on.

    Attributes:
        vertices: rising in `hit` and in `budget`.
        edges: the children whose next edge is taken, in order; a vertex that takes s edges has the first s.
    """

    vertices: list[Vertex]
    edges: list[int]


def subtree_hulls(
    tree: PrefixTree, budgets: Sequence[Any], draft: Sequence[Any], draws: Sequence[int]
) -> list[Hull]:
    """The hulls of all nodes, the root's without the antichain of the root itself.

    Args:
        tree: the prefix tree.
        budgets: (n,) nonnegative node budgets, as a list of numbers of one kind; 0 where q(z) is.
        draft: (n,), q(y|z) of each node, likewise.
        draws: the number of draws at a node of each length, from the root on.
    """
    one = draft[0]
    zero = one * 0
    hulls: list[Hull] = [None] * len(tree)  # type: ignore[list-item]
    first, count = tree.first_child.tolist(), tree.child_count.tolist()
    lengths = tree.lengths.tolist()
    for z in range(len(tree) - 1, -1, -1):
        edges = []
        for child in range(first[z], first[z] + count[z]):
            share = draft[child]
            corners = hulls[child].vertices
            before = corners[0]
            for corner in corners[1:]:
                width, gain = share * (corner.hit - before.hit), corner.budget - before.budget
                edges.append((gain / width, width, gain, child))
                before = corner
        edges.sort(key=lambda edge: edge[0], reverse=True)
        k = draws[lengths[z]] if edges else 1
        hit, budget = zero, zero
        vertices = [Vertex(zero, zero, NOTHING)]
        for taken, (_, width, gain, _) in enumerate(edges, 1):
            hit, budget = hit + width, budget + gain
            _append(vertices, Vertex(hit if k == 1 else hit_probability(hit, k), budget, taken))
        if z and budgets[z] > vertices[-1].budget:
            _append(vertices, Vertex(one, budgets[z], ITSELF))
        hulls[z] = Hull(vertices, [edge[3] for edge in edges])
    return hulls


def _append(vertices: list[Vertex], new: Vertex) -> None:
    """Add a vertex of more budget to a hull; those that are no vertices any more go."""
    while len(vertices) > 1:
        before, last = vertices[-2], vertices[-1]
        if (last.budget - before.budget) * (new.hit - before.hit) > (new.budget - before.budget) * (
            last.hit - before.hit
        ):
            break
        vertices.pop()
    vertices.append(new)


def antichain_of(hulls: list[Hull], vertex: Vertex, z: int = 0) -> list[int]:
    """The nodes of the antichain of a vertex of the hull of z, increasing."""
    found, open_ = [], [(z, vertex)]
    while open_:
        z, vertex = open_.pop()
        if vertex.taken == ITSELF:
            found.append(z)
            continue
        if vertex.taken == NOTHING:
            continue
        places: dict[int, int] = {}
        for child in hulls[z].edges[: vertex.taken]:
            places[child] = places.get(child, 0) + 1
        open_ += [(child, hulls[child].vertices[place]) for child, place in places.items()]
    return sorted(found)
