"""The hulls of `hulls.py` in floats: all nodes of a level at once, in numpy.

The same vertices up to rounding, twenty times as fast on trees of thousands of nodes. `hulls.py` says what is computed,
and is the reference.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..instances.trees import PrefixTree
from ..numbers.rationals import Array
from .hulls import ITSELF, NOTHING


class Level(NamedTuple):
    """The hulls of the nodes of a level, one node after the other.

    Attributes:
        first: int array (nodes + 1,): where the vertices of each node begin.
        hit, budget, taken: the vertices, as in `Vertex`.
        edges: int array: for each node after the other the children whose next edge is taken, in order, as places on
            the next level.
        owner: int array: the node of each edge, as a place on this level.
        rank: int array: the place of each edge among those of its node.
        edge_first: int array (nodes + 1,): where the edges of each node begin.
    """

    first: Array
    hit: Array
    budget: Array
    taken: Array
    edges: Array
    owner: Array
    rank: Array
    edge_first: Array


class FloatHulls:
    """The hulls of all nodes; the arguments are those of `subtree_hulls`, as float arrays."""

    def __init__(self, tree: PrefixTree, budgets: Array, draft: Array, draws: Sequence[int]) -> None:
        self._tree = tree
        self._starts = [tree.level(length).start for length in range(tree.depth + 1)]
        self._known: dict[tuple[int, int], tuple[int, ...]] = {}  # antichains that were asked for
        nothing = np.empty(0, dtype=np.int64)
        self._levels: list[Level] = []  # from the leaves up
        for length in range(tree.depth, -1, -1):
            nodes = tree.level(length)
            count = nodes.stop - nodes.start
            if length == tree.depth:
                edges = owner = nothing
                width = gain = np.empty(0)
            else:
                below = self._levels[-1]
                edges, owner, width, gain = _edges(tree, below, length, draft)
            edge_first = np.searchsorted(owner, np.arange(count + 1))
            rank = np.arange(len(owner)) - edge_first[owner]
            hit, budget = _cumulated(width, gain, edge_first)
            k = draws[length] if length < tree.depth else 1
            if k > 1:
                with np.errstate(divide="ignore"):
                    hit = -np.expm1(k * np.log1p(-np.minimum(hit, 1.0)))
            taken = np.concatenate((rank + 1, np.full(count, NOTHING)))
            spots = np.concatenate((owner, np.arange(count)))
            order = np.lexsort(
                (taken, spots)
            )  # NOTHING is the least: each node begins with its empty antichain
            hit = np.concatenate((hit, np.zeros(count)))[order]
            budget = np.concatenate((budget, np.zeros(count)))[order]
            vertices = _with_themselves(
                *_hull(hit, budget, taken[order], spots[order]), budgets[nodes] if length else np.zeros(1)
            )
            self._levels.append(Level(*vertices, edges, owner, rank, edge_first))
        self._levels.reverse()

    def hull(self, z: int = 0) -> tuple[Array, Array, Array]:
        """float arrays `hit` and `budget` and the int array `taken` of the vertices of a node."""
        length, place = self._where(z)
        level = self._levels[length]
        own = slice(*level.first[place : place + 2].tolist())
        return level.hit[own], level.budget[own], level.taken[own]

    def antichain(self, vertex: int, z: int = 0) -> tuple[int, ...]:
        """The nodes of the antichain of a vertex of the hull of z, increasing."""
        if (z, vertex) in self._known:
            return self._known[z, vertex]
        start, place = self._where(z)
        first, vertices = place, np.array([vertex])  # of the nodes below z on a level, which are neighbours
        found: list[int] = []
        for length in range(start, self._tree.depth + 1):
            level, last = self._levels[length], first + len(vertices)
            taken = level.taken[level.first[first:last] + vertices]
            found += (np.flatnonzero(taken == ITSELF) + self._starts[length] + first).tolist()
            if length < self._tree.depth:
                own = slice(*level.edge_first[[first, last]].tolist())
                used = level.edges[own][level.rank[own] < taken[level.owner[own] - first]]
                parents = self._tree.parent[self._tree.level(length + 1)]
                ends = np.searchsorted(parents, [first + self._starts[length], last + self._starts[length]])
                first, after = ends.tolist()
                vertices = np.bincount(used - first, minlength=after - first)
        self._known[z, vertex] = tuple(found)
        return self._known[z, vertex]

    def _where(self, z: int) -> tuple[int, int]:
        """The length of a node, and its place on its level."""
        length = bisect(self._starts, z) - 1
        return length, z - self._starts[length]


def _edges(tree: PrefixTree, below: Level, length: int, draft: Array) -> tuple[Array, Array, Array, Array]:
    """The edges at the nodes of a length, steepest first: children, nodes, widths and gains."""
    sizes = np.diff(below.first) - 1
    child = np.repeat(np.arange(len(sizes)), sizes)
    end = np.arange(len(child)) + child + 1  # the end of each edge among the vertices
    nodes = tree.level(length + 1)
    owner = tree.parent[nodes][child] - tree.level(length).start
    width = draft[nodes][child] * (below.hit[end] - below.hit[end - 1])
    gain = below.budget[end] - below.budget[end - 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.lexsort((-(gain / width), owner))
    return child[order], owner[order], width[order], gain[order]


def _cumulated(width: Array, gain: Array, first: Array) -> tuple[Array, Array]:
    """Sums of widths and gains from the first edge of each node on (differences of longer sums would cancel)."""
    sums = np.stack((width, gain))
    sizes = np.diff(first)
    starts, longest = first[:-1][sizes > 1], int(sizes.max(initial=0))
    if longest < len(starts):
        for step in range(1, longest):
            there = first[:-1][sizes > step] + step
            sums[:, there] += sums[:, there - 1]
    else:
        for start, stop in zip(starts.tolist(), (starts + sizes[sizes > 1]).tolist(), strict=True):
            sums[:, start:stop] = sums[:, start:stop].cumsum(axis=1)
    return sums[0], sums[1]


def _hull(hit: Array, budget: Array, taken: Array, spot: Array) -> tuple[Array, Array, Array, Array]:
    """The points of each node that are vertices of the upper left hull of its points.

    Of neighbours at most one is taken away at a time: both of two nearly equal points may seem to be of no use.
    """
    idle = parity = 0
    while idle < 2 and len(hit) > 2:
        middle = np.arange(1 + parity, len(hit) - 1, 2)
        before, after = middle - 1, middle + 1
        rise, run = budget[after] - budget[before], hit[after] - hit[before]
        below = (budget[middle] - budget[before]) * run <= rise * (hit[middle] - hit[before])
        below &= (spot[before] == spot[middle]) & (spot[after] == spot[middle])
        idle, parity = (0 if below.any() else idle + 1), 1 - parity
        if idle == 0:
            keep = np.ones(len(hit), dtype=bool)
            keep[middle[below]] = False
            hit, budget, taken, spot = hit[keep], budget[keep], taken[keep], spot[keep]
    return hit, budget, taken, spot


def _with_themselves(
    hit: Array, budget: Array, taken: Array, spot: Array, own: Array
) -> tuple[Array, Array, Array, Array]:
    """The hulls with the points (1, D(z)) of the nodes themselves, where these are vertices; where each begins."""
    count = len(own)
    first = np.searchsorted(spot, np.arange(count + 1))
    extra = own > budget[first[1:] - 1]
    # The last vertex before (1, D(z)) is the one from which it is seen under the least slope.
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(hit < 1, (own[spot] - budget) / (1 - hit), np.inf)
    least = np.minimum.reduceat(slope, first[:-1])
    at = np.flatnonzero(slope == least[spot])
    tangent = at[np.searchsorted(spot[at], np.arange(count))]
    keep = ~extra[spot] | (np.arange(len(hit)) <= tangent[spot])
    spots = np.concatenate((spot[keep], np.flatnonzero(extra)))
    order = np.argsort(spots, kind="stable")
    added = int(extra.sum())
    return (
        np.searchsorted(spots[order], np.arange(count + 1)),
        np.concatenate((hit[keep], np.ones(added)))[order],
        np.concatenate((budget[keep], own[extra]))[order],
        np.concatenate((taken[keep], np.full(added, ITSELF)))[order],
    )
