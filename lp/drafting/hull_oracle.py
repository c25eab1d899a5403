"""The separation oracle for draws with replacement (statement 13.7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..instances.instance import Instance
from ..numbers.rationals import Array, fast, is_exact, to_fraction
from .antichains import Antichain
from .float_hulls import FloatHulls
from .hulls import antichain_of, subtree_hulls

LARGE_TREE = 200
"""Nodes from which float hulls are quicker level by level than node by node."""


def antichains_on_hull(
    instance: Instance,
    budgets: Array,
    draws: Sequence[int],
    *,
    tolerance: float = 0.0,
    relative: float = 0.0,
    limit: int | None = None,
) -> list[Antichain]:
    """Violated antichains at the vertices of the root's hull, the most violated first.

    Empty if and only if none is violated.

    Args:
        instance, budgets: both exact or both float; nodes that are never drafted have no budget.
        draws: the number of draws at a node of each length.
        tolerance, relative, limit: as in `violated_antichains`.
    """
    if not is_exact(budgets) and len(instance.tree) >= LARGE_TREE:
        fine = FloatHulls(instance.tree, budgets, instance.draft, draws)
        hit, budget, _ = fine.hull()
        excess = budget - (hit * (1 + relative) + tolerance)
        broken = np.flatnonzero(excess > 0)
        worst = broken[np.argsort(-excess[broken], kind="stable")][:limit]
        return [Antichain(fine.antichain(i), float(budget[i]), hit=float(hit[i])) for i in worst.tolist()]
    exact = is_exact(budgets)
    hulls = subtree_hulls(instance.tree, fast(budgets).tolist(), fast(instance.draft).tolist(), draws)
    number = to_fraction if exact else float
    found = []
    for vertex in hulls[0].vertices:
        ceiling = vertex.hit if exact else vertex.hit * (1 + relative) + tolerance
        if vertex.budget > ceiling:
            found.append((vertex.budget - ceiling, number(vertex.budget), number(vertex.hit), vertex))
    found.sort(key=lambda entry: entry[0], reverse=True)
    return [
        Antichain(tuple(antichain_of(hulls, vertex)), budget, hit=hit)
        for _, budget, hit, vertex in found[:limit]
    ]
