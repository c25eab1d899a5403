"""Bounds for trees grown node by node, proved in rationals from a mixture of orders (statements 9.1, 13.1 and 13.5)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from ..budgets.node_budgets import accepted_tokens, block_budgets
from ..drafting.grown import GrownTree
from ..drafting.orders import first_drafted
from ..drafting.problem import Problem
from ..instances.trees import PrefixTree
from ..numbers.rationals import Array, fast, settled, to_fmpq
from .certificates import TightAntichain, dual_bound

BITS = 40
"""Shares and multipliers are rounded to multiples of 2^-40."""


def proven_by_orders(
    reading: Problem,
    drafting: GrownTree,
    orders: Sequence[Array],
    shares: Array,
    chain: Sequence[TightAntichain],
) -> tuple[Fraction, Fraction]:
    """Rationals between which the optimum lies.

    Args:
        reading: the problem in rationals, with this drafting.
        orders, shares: of a mixture; `shares` are floats, not all of them zero, and need not sum to one.
        chain: antichains with nonnegative multipliers, such as those of `chain_of_weights`.
    """
    lower = mixture_value(reading, drafting, orders, shares)
    return lower, dual_bound(reading.instance, drafting, chain)


def mixture_value(reading: Problem, drafting: GrownTree, orders: Sequence[Array], shares: Array) -> Fraction:
    """What a mixture of orders is worth: D(zy) = min(X(zy), p(y|z) D(z)), X(z) = Pr[what it picks is at or below z].

    These budgets are feasible: D(A) <= X(A) <= F(A) (`first_drafted`).
    """
    instance = reading.instance
    whole = [round(float(share) * 2**BITS) for share in shares]
    reached = fast(instance.draft) * 0
    for share, order in zip(whole, orders, strict=True):
        if share:
            reached += fast(first_drafted(instance, drafting, order)) * to_fmpq(Fraction(share, sum(whole)))
    for d in range(instance.depth - 1, -1, -1):
        reached[instance.tree.level(d)] += instance.tree.sum_children(reached, d)
    reached[0] = to_fmpq(1)
    return Fraction(accepted_tokens(block_budgets(instance, settled(reached))))


def chain_of_weights(tree: PrefixTree, weights: Array) -> list[TightAntichain]:
    """The antichains A_t of statement 9.1, t from 0 up, each with the length of its stretch of t as multiplier.

    Args:
        tree: the prefix tree.
        weights: float array (n,), nonnegative: the multipliers of all antichains that contain a node.
    """
    total = [0] * len(tree)
    for z in range(1, len(tree)):
        total[z] = total[tree.parent[z]] + round(float(weights[z]) * 2**BITS)
    ends = np.array(total)
    above = ends[tree.parent]
    above[0] = 0
    chain = []
    for low, high in pairwise(sorted({0, *total})):
        nodes = np.flatnonzero((above <= low) & (ends >= high))
        chain.append(TightAntichain(tuple(nodes.tolist()), Fraction(high - low, 2**BITS)))
    return chain
