"""Node rules: which orderings a selection by scores uses at a node (section 12).

A rule is any function of the numbers on the path to a node (`OnPath`). It returns integers (g, R, C), for each
family of orderings the class of each cell, 0 the highest, or (g, 1, C) for the same ordering in all families.
Verification stays lossless as long as it says the same whenever it is asked about the same node: no randomness, no
memory, and nothing about the other nodes of the batch. How much is accepted is all else that depends on it. In exact
audits the numbers are rationals of python-flint, which do not mix with floats; `in_floats` makes them floats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import array_api_compat
import numpy as np

from ..numbers.rationals import float_array
from .ratio_order import ROUNDING, order_by_ratio, places
from .scores import Array, OnPath

NodeRule = Callable[[OnPath], Array]
"""From on-path numbers of g nodes to integers (g, R, C): the classes of the cells, 0 the highest."""

LEAST_SHARE = 1e-3
"""A token's demand is taken as at least this share of its draft mass, so that ratios to it stay finite."""


def neutral(data: OnPath) -> Array:
    """All tokens in one class: nu = q, and the selected path has the value of block verification."""
    return one_class(data.target)[:, None]


def ratio_ranking(data: OnPath) -> Array:
    """Each token a class of its own, by target / draft, ties by token id: greedy multi-path selection (6.3)."""
    return rank_by_ratio(data.target, data.draft, data.rounding)[:, None]


def rank_by_ratio(target: Array, draft: Array, rounding: float) -> Array:
    """(g, C): the rank of each token by target / draft, 0 the highest, ties by token id.

    See `order_by_ratio`.
    """
    return draft.shape[1] - 1 - places(order_by_ratio(target, draft, rounding))


def in_floats(data: OnPath) -> OnPath:
    """The same numbers in floats, where they are rationals: a rule may round, the law does not."""
    if data.draft.dtype != object:
        return data
    return replace(data.mapped(float_array), rounding=ROUNDING)


def demanded(data: OnPath) -> Array:
    """(g, C): w p(y|z), at least a small share of w q(y|z), and never 0."""
    xp = array_api_compat.array_namespace(data.draft)
    least = LEAST_SHARE * data.draft
    demand = data.weight[:, None] * xp.where(data.target < least, least, data.target)
    tiny = float(xp.finfo(data.draft.dtype).tiny) ** 0.5
    return xp.where(demand < tiny, demand * 0 + tiny, demand)


def one_class(rows: Array) -> Array:
    """(g, C) zeros: the ranks that put all cells of these rows into one class."""
    xp = array_api_compat.array_namespace(rows)
    if rows.dtype == object:
        return np.zeros(rows.shape, dtype=np.int64)
    return xp.zeros_like(rows, dtype=xp.int64)
