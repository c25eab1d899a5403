"""Node rules: which orderings a selection by scores uses at a node (section 12).

A rule is any function of the numbers on the path to a node (`OnPath`). It returns integers (g, R, C), for each
family of orderings the class of each cell, 0 the highest, or (g, 1, C) for the same ordering in all families.
Whatever it returns, verification stays lossless; how much is accepted is all that depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import array_api_compat
import numpy as np

from .rationals import float_array
from .scores import Array, OnPath, classes, lift, lifts, next_state

NodeRule = Callable[[OnPath], Array]
"""From on-path numbers of g nodes to integers (g, R, C): the classes of the cells, 0 the highest."""

MARGINS = (0.0, 0.3)
"""Supplies of 1 + margin times the demand are looked for, besides the fair one."""

LEAST_SHARE = 1e-3
"""A token's demand is taken as at least this share of its draft mass, so that ratios to it stay finite."""

BEND = 1e-9
"""Slopes of the fair supply that differ by less, relatively, belong to one block."""

WEIGHT_BITS = 48
"""Probabilities of orderings are rounded to multiples of 2**-48: exact audits stay cheap."""


def neutral(data: OnPath) -> Array:
    """All tokens in one class: nu = q, and the selected path has the value of block verification."""
    return _ranks_like(data.target)[:, None]


def ratio_ranking(data: OnPath) -> Array:
    """Each token a class of its own, by target / draft, ties by token id: greedy multi-path selection (6.3)."""
    return rank_by_ratio(data.target, data.draft, data.rounding)[:, None]


def rank_by_ratio(target: Array, draft: Array, rounding: float) -> Array:
    """(g, C): the rank of each token by target / draft, 0 the highest, ties by token id.

    A token without draft mass is never drafted; it comes last. In floats the ratio's square root is compared,
    which neither overflows nor underflows, and neighbours that differ by no more than rounding are ties:
    ratios that are equal as rationals come out of float arithmetic equal but for the last bits.
    """
    xp = array_api_compat.array_namespace(draft)
    if draft.dtype != object:
        target, draft = xp.sqrt(target), xp.sqrt(draft)
    none = draft * 0
    key = xp.where(draft == 0, none, target / xp.where(draft == 0, none + 1, draft))
    order = xp.argsort(-key, axis=1, stable=True)
    by_key = xp.take_along_axis(key, order, axis=1)
    lower = by_key[:, 1:] < by_key[:, :-1] * (1 - rounding)
    group = xp.cumsum(xp.astype(lower, xp.int64), 1)
    first = xp.zeros_like(order[:, :1])
    group_of_token = xp.take_along_axis(xp.concat([first, group], axis=1), xp.argsort(order, axis=1), axis=1)
    return xp.argsort(xp.argsort(group_of_token, axis=1, stable=True), axis=1)


@dataclass(frozen=True)
class MixedRule:
    """Several orderings per node, chosen one after the other, and judged by what they leave for below.

    Attributes:
        margins: surplus supplies to try, besides the fair supply.
        passes: how often each ordering is reconsidered.
    """

    margins: tuple[float, ...] = MARGINS
    passes: int = 2

    def __call__(self, data: OnPath) -> Array:
        """(g, R, C): the best by `outlook` of the fair orderings, those of each margin, and p/q alone."""
        data = in_floats(data)
        xp = array_api_compat.array_namespace(data.draft)
        candidates = [fair_orderings(data, None, self.passes)]
        if data.state.shape[2] > 1:
            # Surplus is of use below only.
            margins = self.margins if data.remaining > 1 else self.margins[:1]
            candidates += [fair_orderings(data, margin, self.passes) for margin in margins]
        candidates += [xp.broadcast_to(rule(data), candidates[0].shape) for rule in (ratio_ranking, neutral)]
        best, value = candidates[0], outlook(data, candidates[0])
        for ranks in candidates[1:]:
            other = outlook(data, ranks)
            better = other > value * (1 + 1e-9)
            best = xp.where(better[:, None, None], ranks, best)
            value = xp.where(better, other, value)
        return best


def in_floats(data: OnPath) -> OnPath:
    """The same numbers in floats, where they are rationals: a rule may round, the law does not."""
    if data.draft.dtype != object:
        return data
    return replace(
        data,
        target=float_array(data.target),
        draft=float_array(data.draft),
        weight=float_array(data.weight),
        state=float_array(data.state),
        rounding=1e-12,
    )


def fair_orderings(data: OnPath, margin: float | None, passes: int) -> Array:
    """(g, R, C): orderings under which the supply nu(y|z) follows the demand P(y) = w p(y|z).

    Starting with all tokens in one class everywhere, family after family takes the ordering that lowers the
    objective most: the most under-supplied token on top, under-supplied before over-supplied ones, the lower
    half before the upper half, or one class.

    Args:
        data: on-path numbers, in floats.
        margin: None for the objective sum of nu^2 / P, whose minimum over all rules is the fair supply; else
            sum of P max(0, 1 + margin - nu / P)^2, which asks for no more than 1 + margin times the demand.
        passes: how often each family is reconsidered.
    """
    xp = array_api_compat.array_namespace(data.draft)
    draft, families, cells = data.draft, data.state.shape[1], data.draft.shape[1]
    demand = _demand(data)
    mass = xp.sum(data.state, axis=2)
    zero = _ranks_like(draft)
    ranks = [zero] * families
    parts = [draft * mass[:, r : r + 1] for r in range(families)]
    nu = draft * xp.sum(mass, axis=1)[:, None]
    for _ in range(passes):
        for r in range(families):
            key = nu / demand
            if margin is not None:
                key = xp.where(key > 1 + margin, key * 0 + 1 + margin, key)
            order = xp.argsort(key, axis=1, stable=True)
            place = xp.argsort(order, axis=1)
            if margin is not None:
                place = xp.where(key >= 1 + margin, cells, place)
            middle = xp.take_along_axis(key, order[:, cells // 2 : cells // 2 + 1], axis=1)
            tried = xp.stack(
                [ranks[r], zero, place, xp.astype(key > 1, xp.int64), xp.astype(key >= middle, xp.int64)],
                axis=1,
            )
            supply = draft[:, None] * lift(data.state[:, r], *classes(draft, tried))
            total = (nu - parts[r])[:, None] + supply
            loss = _loss(total, demand[:, None], margin)
            # What stands is kept unless something is better by more than rounding.
            loss = xp.concat([loss[:, :1] * (1 - 1e-9), loss[:, 1:]], axis=1)
            choice = xp.argmin(loss, axis=1)[:, None, None] + zero[:, None] * 0
            ranks[r] = xp.take_along_axis(tried, choice, axis=1)[:, 0]
            parts[r] = xp.take_along_axis(supply, choice, axis=1)[:, 0]
            nu = xp.take_along_axis(total, choice, axis=1)[:, 0]
    return xp.stack(ranks, axis=1)


def _demand(data: OnPath) -> Array:
    """(g, C): w p(y|z), at least a small share of w q(y|z), and never 0."""
    xp = array_api_compat.array_namespace(data.draft)
    least = LEAST_SHARE * data.draft
    demand = data.weight[:, None] * xp.where(data.target < least, least, data.target)
    tiny = float(xp.finfo(data.draft.dtype).tiny) ** 0.5
    return xp.where(demand < tiny, demand * 0 + tiny, demand)


def _loss(supply: Array, demand: Array, margin: float | None) -> Array:
    xp = array_api_compat.array_namespace(supply)
    if margin is None:
        return xp.sum(supply * (supply / demand), axis=-1)
    lack = 1 + margin - supply / demand
    return xp.sum(demand * xp.where(lack < 0, lack * 0, lack) ** 2, axis=-1)


def outlook(data: OnPath, ranks: Array) -> Array:
    """(g,): accepted tokens that orderings promise: here exactly, below by a closed form on on-path numbers.

    Here it is the sum of min(w p, nu). Below, the laws of a child are not known where it was not drafted; they
    are taken to be those of the node itself, and for these the best supply of one level is the least
    nu - G(1 - q(S)) + D (1 - p(S)) over the top sets S of the order by p/q (statement 4.4 for a score state),
    counted for each level that remains.
    """
    xp = array_api_compat.array_namespace(data.draft)
    draft = data.draft
    nodes, cells = draft.shape
    families, count = data.state.shape[1:]
    below, mass = classes(draft, ranks)
    supply = draft * lifts(data.state, below, mass)
    wanted = data.weight[:, None] * data.target
    here = xp.where(wanted < supply, wanted, supply)
    if data.remaining == 1:
        return xp.sum(here, axis=1)

    def per_child(values: Array) -> Array:
        return xp.permute_dims(values, (0, 2, 1)).reshape((nodes * cells, families))

    parents = xp.broadcast_to(data.state[:, None], (nodes, cells, families, count))
    state = next_state(
        parents.reshape((nodes * cells, families, count)),
        draft.reshape((nodes * cells,)),
        per_child(below),
        per_child(mass),
    )
    state = xp.sum(state, axis=1).reshape((nodes, cells, count))
    order = xp.argsort(rank_by_ratio(data.target, draft, data.rounding), axis=1)
    covered = [xp.cumsum(xp.take_along_axis(law, order, axis=1), 1) for law in (data.target, draft)]
    uncovered = [xp.where(part > 1, part * 0, 1 - part) for part in covered]
    missed, power = [], uncovered[1]
    for _ in range(count):
        missed.append(power)
        power = power * uncovered[1]
    miss = xp.matmul(state, xp.stack(missed, axis=1))
    value = supply[:, :, None] - miss + here[:, :, None] * uncovered[0][:, None, :]
    # The empty set gives D.
    least = xp.min(xp.concat([value, here[:, :, None]], axis=2), axis=2)
    return xp.sum(here + (data.remaining - 1) * least, axis=1)


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
    draft, demand = data.draft, _demand(data)
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


def _ranks_like(rows: Array) -> Array:
    xp = array_api_compat.array_namespace(rows)
    if rows.dtype == object:
        return np.zeros(rows.shape, dtype=np.int64)
    return xp.zeros_like(rows, dtype=xp.int64)


__all__ = [
    "MixedRule",
    "NodeRule",
    "OnPath",
    "depth_one_mixture",
    "fair_orderings",
    "neutral",
    "outlook",
    "rank_by_ratio",
    "ratio_ranking",
]
