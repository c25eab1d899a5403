"""Orders of nodes as rules: the first node of an order that is drafted is picked (statement 13.5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..instances.instance import Instance
from ..numbers.rationals import Array, fast, fill, is_exact, settled
from .grown import GrownTree
from .supports import support


def first_drafted(instance: Instance, drafting: GrownTree, order: Array) -> Array:
    """array (n,): Pr[z is the first node of an order that is in the drafted tree].

    They are what each node adds to F of those before it. So the sum over the nodes at and below an antichain A, or over
    any other set that is hit whenever A is, is at most F(A).

    Args:
        instance: exact or float.
        drafting: a tree grown node by node.
        order: int array of different nodes without the root. A node after one of its ancestors is never the first.
    """
    tree, counts = instance.tree, drafting.counts(instance.depth)
    zero = fast(instance.draft[:1])[0] * 0
    place = np.full(len(tree), -1)
    place[order] = np.arange(len(order))
    lengths = tree.lengths
    events: dict[
        int, Array
    ] = {}  # of each node: the places in the order, rising, of the nodes at and below it
    hits: dict[
        int, Array
    ] = {}  # and Pr[one of those up to there is hit | z is drafted], from none of them on
    for z in range(len(tree) - 1, -1, -1):
        own, below = place[z : z + 1][place[z : z + 1] >= 0], tree.children(z)
        here = np.sort(np.concatenate([own, *(events[c] for c in below)]))
        found = _array([zero] * (len(here) + 1))
        if len(here) > len(own):
            at = support(instance, z)
            known = [zero if c is None else hits[c][_reached(events[c], here)] for c in at.children]
            found = np.broadcast_to(drafting.hit_at(at, counts[lengths[z]], known), found.shape).copy()
        if len(own):
            found[1 + int(np.searchsorted(here, own[0])) :] = zero + 1
        for child in below:
            del events[child], hits[child]
        events[z], hits[z] = here, found
    out = _array([zero] * len(tree))
    out[order] = np.diff(hits[0])
    return settled(out) if is_exact(out) else out


def _reached(events: Array, times: Array) -> Array:
    """How many of the events of a subtree lie at or before each time, and before all of them."""
    return np.concatenate(([0], np.searchsorted(events, times, side="right")))


def _array(values: list[Any]) -> Array:
    exact = not isinstance(values[0], float | np.floating)
    return fill(values) if exact else np.array(values, dtype=np.float64)
