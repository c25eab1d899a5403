"""The mixture of orderings that attains OPT_K at depth one (statement 12.3)."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from .node_rules import demanded, in_floats, rank_by_ratio
from .scores import Array, OnPath, classes, lift

BEND = 1e-9
"""Slopes of the fair supply that differ by less, relatively, belong to one block."""

WEIGHT_BITS = 48
"""Probabilities of orderings are rounded to multiples of 2**-48: exact audits stay cheap."""


def depth_one_mixture(data: OnPath, steps: int) -> tuple[Array, Array]:
    """Orderings with probabilities for one node whose children are leaves: Frank-Wolfe steps to the fair supply.

    The fair supply nu is P times the slopes of the greatest convex minorant of nu(S) against P(S) over the top
    sets S of the order by p/q; where it bends, what is above stays above what is below. From there each step
    mixes in the ordering with the most under-supplied token on top, the vertex of the base polytope that lowers
    sum of nu^2 / P fastest, with an exact line search (statements 12.3 and 12.4).

    Args:
        data: numbers of one node with one family.
        steps: number of steps.

    Returns:
        (R,) probabilities, multiples of 2**-48 that sum to one, and (1, R, C) ranks, R = steps + 1.
    """
    data = in_floats(data)
    xp = array_api_compat.array_namespace(data.draft)
    draft, demand = data.draft, demanded(data)
    block = _fair_blocks(data, demand)[0]
    ranks = [block]
    points = (draft[0] * lift(data.state[:, 0], *classes(draft, block[None]))[0])[None]
    draft, demand = draft[0], demand[0]
    weights = xp.sum(points, axis=1) * 0 + 1
    for _ in range(steps):
        nu = xp.sum(weights[:, None] * points, axis=0)
        price = nu / demand
        place = xp.argsort(xp.argsort(price, stable=True)) + block * draft.shape[0]
        point = draft * lift(data.state[:, 0], *classes(data.draft, place[None]))[0]
        # Pairwise steps: from the worst ordering in the mixture to the best one. Plain ones would zigzag.
        costs = xp.where(weights > 0, xp.sum(points * price, axis=1), weights * 0 - 1)
        worst = xp.argmax(costs)[None]
        move = point - xp.take(points, worst, axis=0)[0]
        curve = xp.sum(move * move / demand)
        slope = -xp.sum(price * move)
        step = xp.where(curve > 0, slope / xp.where(curve > 0, curve, curve * 0 + 1), curve * 0)
        most = xp.take(weights, worst, axis=0)[0]
        step = xp.where(step < 0, step * 0, xp.where(step > most, most, step))
        taken = xp.arange(weights.shape[0], **_device(weights)) == worst
        weights = xp.concat([xp.where(taken, weights - step, weights), step[None]])
        points = xp.concat([points, point[None]])
        ranks.append(place)
    rounded = xp.floor(weights * 2**WEIGHT_BITS) / 2**WEIGHT_BITS
    largest = xp.arange(weights.shape[0], **_device(weights)) == xp.argmax(weights)
    rounded = xp.where(largest, rounded + 1 - xp.sum(rounded), rounded)
    return rounded, xp.stack(ranks)[None]


def _device(like: Array) -> dict[str, Any]:
    return {} if isinstance(like, np.ndarray) else {"device": like.device}


def _fair_blocks(data: OnPath, demand: Array) -> Array:
    """(g, C): the number of each cell's block, 0 the scarcest, in which the fair supply is proportional to P."""
    xp = array_api_compat.array_namespace(demand)
    rank = rank_by_ratio(demand, data.draft, data.rounding)
    order = xp.argsort(rank, axis=1)
    wanted, draft = (xp.cumsum(xp.take_along_axis(law, order, axis=1), 1) for law in (demand, data.draft))
    rest = xp.where(draft > 1, draft * 0, 1 - draft)
    missed = draft * 0
    for n in range(data.state.shape[2] - 1, -1, -1):
        missed = (missed + data.state[:, 0, n : n + 1]) * rest
    none = draft[:, :1] * 0
    reach, wanted = (xp.concat([none, part], axis=1) for part in (1 - missed, wanted))
    rise = reach[:, None, :] - reach[:, :, None]
    run = wanted[:, None, :] - wanted[:, :, None]
    slopes = rise / xp.where(run > 0, run, run * 0 + 1)
    # The minorant's slope between the sets i and i + 1: the largest over a <= i of the least over b > i.
    bend = []
    for i in range(draft.shape[1]):
        bend.append(xp.max(xp.min(slopes[:, : i + 1, i + 1 :], axis=2), axis=1))
    slope = xp.stack(bend, axis=1)
    steeper = xp.astype(slope[:, 1:] > slope[:, :-1] * (1 + BEND), xp.int64)
    block = xp.cumsum(xp.concat([rank[:, :1] * 0, steeper], axis=1), 1)
    return xp.take_along_axis(block, rank, axis=1)
