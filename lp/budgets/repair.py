"""Float budgets that violate antichains slightly, made feasible at a small loss."""

from __future__ import annotations

import numpy as np

from ..drafting.antichains import violated_antichains
from ..drafting.iid_paths import hit_probability
from ..instances.instance import Instance
from ..numbers.rationals import Array
from .node_budgets import block_budgets

SWEEPS = 100

AT_ONCE = 10
"""Violated antichains of a sweep, spread over the hull: scaling these down mends most of their neighbours."""

ROUNDING = 1e-12


def feasible_budgets(instance: Instance, budgets: Array, paths: int) -> Array:
    """float array (n,): feasible budgets near those given, up to a relative excess of 1e-12.

    First each node is brought below its own ceiling f(q(z)) and below p(y|z) D(z). Then, a few violated antichains
    at a time, the nodes of each are scaled down together until it holds, and the nodes below them where they must
    follow. What is still violated after many sweeps is taken away by scaling all budgets.
    """
    tree, mass = instance.tree, instance.joint_draft
    ceiling = np.array([hit_probability(float(t), paths) for t in mass])
    out = np.minimum(ceiling, budgets)
    out[0] = 1.0
    out = block_budgets(instance, out)
    for _ in range(SWEEPS):
        broken = violated_antichains(tree, out, mass, paths, relative=ROUNDING, limit=AT_ONCE)
        if not broken:
            return out
        for antichain in broken:
            nodes = np.array(antichain.nodes)
            total = float(out[nodes].sum())
            allowed = hit_probability(antichain.draft_mass, paths)
            if total > allowed:
                out[nodes] *= allowed / total
        out = block_budgets(instance, out)
    while broken:
        scale = min(hit_probability(a.draft_mass, paths) / a.budget for a in broken)
        out[1:] *= scale * (1 - ROUNDING)
        broken = violated_antichains(tree, out, mass, paths, relative=ROUNDING, limit=AT_ONCE)
    return out
