"""Brackets of the optimum: rationals between which it lies, from what the float phase found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..budgets.node_budgets import accepted_tokens, block_budgets
from ..drafting.problem import Problem
from ..numbers.rationals import Array
from ..programs.linear_program import BudgetVariables
from ..solving.cutting_planes import CuttingPlanes
from ..solving.prices import PriceBracket
from .proven import proven_lower_bound, proven_upper_bound
from .row_bounds import lower_bound_of_budgets, upper_bound_of_antichains


def proven_by_antichains(reading: Problem, found: CuttingPlanes | PriceBracket) -> tuple[Fraction, Fraction]:
    """Rationals between which the optimum lies, for any draft."""
    lower = lower_bound_of_budgets(reading, found.feasible)
    return lower, upper_bound_of_antichains(reading, found.weighted)


def proven_by_weights(
    reading: Problem, budgets: Array, weights: Array, ratios: Array | None = None
) -> tuple[Fraction, Fraction]:
    """Rationals between which the optimum lies, from feasible budgets and dual weights in floats."""
    instance, paths = reading.instance, reading.iid_paths()
    lower = max(proven_lower_bound(instance, paths, budgets), accepted_tokens(block_budgets(instance)))
    uppers = [proven_upper_bound(instance, paths, weights)]
    if ratios is not None:  # where draft probabilities are tiny, rounding in these multipliers can cost more
        uppers.append(proven_upper_bound(instance, paths, weights, ratios))
    return lower, min(uppers)


def outwards(bound: Fraction, towards: float) -> float:
    """The nearest float on this side of a rational."""
    near = float(bound)
    beyond = near < bound if towards > 0 else near > bound
    return float(np.nextafter(near, towards)) if beyond else near


def node_weights(variables: BudgetVariables, found: CuttingPlanes) -> Array:
    """float array (n,): the multipliers of all antichains that contain a node."""
    out = np.zeros(len(variables.instance.tree))
    for nodes, dual in found.weighted:
        out[list(nodes)] += max(0.0, dual)
    return out
