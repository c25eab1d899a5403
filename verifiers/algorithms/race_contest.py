"""Which path of a drafted tree wins the races: the chances, averaged over the scores (statement 16.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from nodebudget.lp.selection.races import Race

from ..arithmetic.arrays import Array
from ..drafts.tree_nodes import TreeNodes

Below = dict[int, Array]
"""Of one copy of a node: for each end of the tree below it, (M,), how likely that wins, with each level of the node."""


def picked(nodes: TreeNodes, races: Sequence[Race | None], entry: Sequence[Array], fresh: Array) -> Array:
    """(n,): how likely the picked path ends at each node.

    In one pass from the leaves up. Every copy has a subtree of its own: the copies of a node share what was drawn below
    it out evenly, in the order of drawing.

    Args:
        nodes: the drafted tree.
        races: for each node above the deepest level its race, None where nothing was drawn below it.
        entry: for each of these the entry of each token in its race, (V,).
        fresh: (M,), how likely a fresh score has each level.
    """
    chances = np.repeat(fresh[:1] * 0, len(nodes))
    tables: dict[int, list[Below]] = {}
    for node in range(len(nodes) - 1, -1, -1):
        copies = int(nodes.counts[node]) if node else 1
        if nodes.ends[node]:
            tables[node] = [{node: fresh}] * copies
            continue
        drawn, own = nodes.drawn[node], races[node]
        assert own is not None
        waiting = {child: iter(tables.pop(child)) for child in nodes.children[node]}
        below = [next(waiting[child]) for child in drawn]
        places = [int(entry[node][nodes.token[child]]) for child in drawn]
        count = len(drawn) // copies
        tables[node] = [
            _winners(own, places[start : start + count], below[start : start + count])
            for start in range(0, len(drawn), count)
        ]
    for end, table in tables[0][0].items():
        chances[end] = table.sum()
    return chances


def _winners(race: Race, places: Sequence[int], below: Sequence[Below]) -> Below:
    """What `Below` says of one copy of a node, from what it says of the draws below it, by place and in their order."""
    totals = [sum(table.values()) for table in below]
    ranks = [race.rank[place] for place in places]
    found: Below = {}
    for k, (place, table) in enumerate(zip(places, below, strict=True)):
        lower = totals[k] * 0 + 1
        for other, total in enumerate(totals):
            if other != k:
                # Of equal pairs, which copies can have and tokens of one bucket, the one drawn first wins.
                worse = ranks[other] >= ranks[k][:, None] if other > k else ranks[other] > ranks[k][:, None]
                lower = lower * np.where(worse, total, total * 0).sum(axis=1)
        for end, law in table.items():
            won = np.dot(law * lower, race.level(place))
            found[end] = found[end] + won if end in found else won
    return found
