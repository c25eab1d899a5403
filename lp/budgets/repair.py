"""Float budgets that violate antichains slightly, made feasible at a small loss."""

from __future__ import annotations

import numpy as np

from ..drafting.problem import Problem
from ..numbers.rationals import Array
from .node_budgets import block_budgets

SWEEPS = 100

AT_ONCE = 10
"""Violated antichains of a sweep, spread over the hull: scaling these down mends most of their neighbours."""

ROUNDING = 1e-12


def feasible_budgets(problem: Problem, budgets: Array, sweeps: int = SWEEPS) -> Array:
    """float array (n,): feasible budgets near those given, up to a relative excess of 1e-12.

    First each node is brought below its own ceiling F({z}) and below p(y|z) D(z). Then, a few violated antichains
    at a time, the nodes of each are scaled down together until it holds, and the nodes below them where they must
    follow. What is still violated after many sweeps is taken away by scaling all budgets.

    Args:
        problem: an instance in floats, and what is drafted.
        budgets: float array (n,).
        sweeps: how often the oracle is asked before all budgets are scaled.
    """
    out = np.minimum(problem.single_hits, budgets)
    out[0] = 1.0
    out = block_budgets(problem.instance, out)
    for _ in range(sweeps):
        broken = problem.violated(out, relative=ROUNDING, limit=AT_ONCE)
        if not broken:
            return out
        for antichain in broken:
            nodes = np.array(antichain.nodes)
            total = float(out[nodes].sum())
            if total > antichain.hit:
                out[nodes] *= antichain.hit / total
        out = block_budgets(problem.instance, out)
    while broken:
        scale = min(antichain.hit / antichain.budget for antichain in broken)
        out[1:] *= scale * (1 - ROUNDING)
        broken = problem.violated(out, relative=ROUNDING, limit=AT_ONCE)
    return out
