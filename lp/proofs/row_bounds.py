"""Bounds on the optimum for any draft, proved in rationals from rows and budgets that floats found (statement 13.1)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from ..budgets.node_budgets import accepted_tokens, block_budgets
from ..drafting.problem import Problem
from ..numbers.rationals import Array, exact_array
from .certificates import TightAntichain, dual_bound

BITS = 40
"""Multipliers and budgets are rounded to multiples of 2^-40."""


def upper_bound_of_antichains(
    problem: Problem, weighted: Iterable[tuple[tuple[int, ...], float]]
) -> Fraction:
    """An upper bound by weak duality, for any multipliers; negative ones count as zero.

    Args:
        problem: in rationals.
        weighted: antichains, each with the multiplier of its row.
    """
    tight = [
        TightAntichain(nodes, Fraction(round(float(dual) * 2**BITS), 2**BITS))
        for nodes, dual in weighted
        if dual * 2**BITS > 0.5
    ]
    return dual_bound(problem.instance, problem.drafting, tight)


def lower_bound_of_budgets(problem: Problem, budgets: Array) -> Fraction:
    """A lower bound: what budgets are worth after they have been made feasible.

    They are rounded down, made target-matching (2.2), and divided by the largest excess D(A)/F(A), which the exact
    separation oracle finds: it is asked again with the budgets divided by the excess of the antichain that it named,
    until it names none.

    Args:
        problem: in rationals.
        budgets: float array (n,), nonnegative.
    """
    rounded = exact_array([Fraction(int(np.floor(value * 2**BITS)), 2**BITS) for value in budgets])
    rounded[0] = Fraction(1)
    values = block_budgets(problem.instance, rounded)
    share = Fraction(1)
    while True:
        scaled = values * share
        scaled[0] = Fraction(1)
        broken = problem.violated(scaled)
        if not broken:
            return Fraction(accepted_tokens(scaled))
        share *= min(Fraction(antichain.hit, antichain.budget) for antichain in broken)
