"""The node rule of mixed multi-path block verification: orderings found in turns, judged by what they promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import array_api_compat

from .node_rules import demanded, in_floats, neutral, one_class, rank_by_ratio, ratio_ranking
from .scores import Array, OnPath, classes, lift, lifts, within

CAPS = (float("inf"), 1.0, 1.3)
"""Supplies looked for, in units of the demand: the fair one, no more than the demand, and some surplus."""

KEEP = 1 - 1e-9
"""What stands is kept unless something is better by more than rounding."""

TOP_SETS = 8
"""Most top sets of a child that are looked at to judge what can be used below it."""


@dataclass(frozen=True)
class MixedRule:
    """Several orderings per node, chosen one after the other, and judged by what they leave for below.

    Attributes:
        caps: up to which multiple of the demand supply is looked for; infinity is the fair supply.
        passes: how often each ordering is chosen, the first time included.
    """

    caps: tuple[float, ...] = CAPS
    passes: int = 1

    def __call__(self, data: OnPath) -> Array:
        """(g, R, C): the best by `Outlook` of the orderings for each cap, those by p/q alone, and one class."""
        data = in_floats(data)
        xp = array_api_compat.array_namespace(data.draft)
        caps = self.caps
        if data.state.shape[2] == 1:
            caps = caps[:1]
        elif data.remaining == 1:
            # Surplus is of use below only.
            caps = tuple(cap for cap in caps if cap <= 1 or cap == float("inf"))
        found = fair_orderings(data, caps, self.passes)
        candidates = [found[:, i] for i in range(len(caps))]
        candidates += [rule(data) for rule in (ratio_ranking, neutral)]
        outlook = Outlook(data)
        best, value = candidates[0], outlook(candidates[0])
        for ranks in candidates[1:]:
            other = outlook(ranks)
            better = other * KEEP > value
            best = xp.where(better[:, None, None], ranks, best)
            value = xp.where(better, other, value)
        return best


def fair_orderings(data: OnPath, caps: tuple[float, ...], passes: int) -> Array:
    """(g, M, R, C): orderings under which the supply nu(y|z) follows the demand P(y) = w p(y|z), for each of M caps.

    Starting with all tokens in one class everywhere, family after family takes the ordering that lowers the
    objective most: the most under-supplied token on top, under-supplied before over-supplied ones, the lower
    half before the upper half, or one class.

    Args:
        data: on-path numbers, in floats.
        caps: infinity for the objective sum of nu^2 / P, whose minimum over all rules is the fair supply; else
            sum of P max(0, cap - nu / P)^2, which asks for no more than so many times the demand.
        passes: how often each family has its turn.
    """
    xp = array_api_compat.array_namespace(data.draft)
    turns = _Turns(data, caps)
    families = data.state.shape[1]
    for _ in range(passes):
        for family in range(families):
            turns.take(family)
    ranks = xp.stack(turns.ranks, axis=1)
    return ranks.reshape((data.draft.shape[0], len(caps), *ranks.shape[1:]))


class _Turns:
    """What stands while families take turns, for each node with each cap (N = g M rows).

    Attributes:
        ranks: for each family (N, C), the ordering that stands.
        parts: for each family (N, C), its part of the supply.
        supply: (N, C), their sum.
    """

    def __init__(self, data: OnPath, caps: tuple[float, ...]) -> None:
        xp = array_api_compat.array_namespace(data.draft)
        nodes, cells = data.draft.shape
        rows = nodes * len(caps)

        def for_each_cap(values: Array) -> Array:
            repeated = xp.broadcast_to(values[:, None], (nodes, len(caps), *values.shape[1:]))
            return repeated.reshape((rows, *values.shape[1:]))

        self.xp = xp
        self.draft, self.demand, self.state = map(for_each_cap, (data.draft, demanded(data), data.state))
        self.inverse = 1 / self.demand
        ones = data.draft[:, :1] * 0 + 1
        self.cap = xp.concat([ones * cap for cap in caps], axis=1).reshape((rows, 1))
        self.fair = (self.cap == float("inf"))[:, :, None]
        self.none = one_class(self.draft)
        # Places of entries in flat arrays: far cheaper than take_along_axis on small ones.
        column, row = (xp.cumsum(self.none + 1, axis) - 1 for axis in (1, 0))
        self.column, self.start = column, row * cells
        self.row = row[:, 0]
        mass = xp.sum(self.state, axis=2)
        families = self.state.shape[1]
        self.whole = [self.draft * mass[:, r : r + 1] for r in range(families)]
        self.parts, self.ranks = list(self.whole), [self.none] * families
        self.supply = self.draft * xp.sum(mass, axis=1)[:, None]

    def take(self, family: int) -> None:
        """One family's turn."""
        xp, cells = self.xp, self.draft.shape[1]
        key = self.supply * self.inverse
        key = xp.where(key < self.cap, key, self.cap)
        order = xp.argsort(key, axis=1, stable=True)
        listed = order + self.start
        middle = key.reshape(-1)[listed[:, cells // 2]][:, None]
        ranks, below, mass = self._singly(key, order, listed)
        # Two classes, the lower one of them what is in `lower`; c and B are (under, over) above and (0, under) below.
        draft, lower = self.draft[:, None], xp.stack([key > 1, key >= middle], axis=1)
        under = xp.sum(xp.where(lower, draft, 0.0), axis=2)
        over = xp.sum(xp.where(lower, 0.0, draft), axis=2)
        factor = lift(
            self.state[:, family],
            xp.concat([below, under, under * 0], axis=1),
            xp.concat([mass, over, under], axis=1),
        )
        halves = xp.where(lower, factor[:, cells + 2 :, None], factor[:, cells : cells + 2, None])
        standing = [(self.parts[family], self.ranks[family])]
        if self.parts[family] is not self.whole[family]:
            standing.append((self.whole[family], self.none))
        parts = xp.concat(
            [part[:, None] for part, _ in standing]
            + [(self.draft * factor[:, :cells])[:, None], draft * halves],
            axis=1,
        )
        tried = xp.concat(
            [former[:, None] for _, former in standing] + [ranks[:, None], self.none[:, None] + lower],
            axis=1,
        )
        supply = (self.supply - self.parts[family])[:, None] + parts
        choice = xp.argmin(self._loss(supply), axis=1) + self.row * parts.shape[1]
        self.ranks[family], self.parts[family], self.supply = (
            table.reshape((-1, cells))[choice] for table in (tried, parts, supply)
        )

    def _singly(self, key: Array, order: Array, listed: Array) -> tuple[Array, Array, Array]:
        """Ranks, c and B, each (N, C): one by one by the key, with those at the cap together at the end."""
        xp = self.xp
        upto = xp.cumsum(self.draft.reshape(-1)[listed], 1)
        place = xp.argsort(order, axis=1)
        lower = (upto[:, -1:] - upto).reshape(-1)[place + self.start]
        capped = key >= self.cap
        together = xp.sum(xp.where(capped, self.draft, 0.0), axis=1)[:, None]
        return (
            xp.where(capped, self.draft.shape[1], place),
            xp.where(capped, 0.0, lower),
            xp.where(capped, together, self.draft),
        )

    def _loss(self, supply: Array) -> Array:
        """(N, number tried): the objective; the first, which stands, has a small advantage."""
        xp = self.xp
        ratio = supply * self.inverse[:, None]
        lack = xp.where(self.fair, ratio, self.cap[:, :, None] - ratio)
        loss = xp.sum(self.demand[:, None] * xp.where(lack > 0, lack, 0.0) ** 2, axis=2)
        return xp.concat([loss[:, :1] * KEEP, loss[:, 1:]], axis=1)


class Outlook:
    """Accepted tokens that orderings promise: here exactly, below by a closed form on on-path numbers.

    Here it is the sum of min(w p, nu). Below, the laws of a child are not known where it was not drafted; they
    are taken to be those of the node itself, and for these the best supply of one level is the least
    nu - G(1 - q(S)) + D (1 - p(S)) over the top sets S of the order by p/q (statement 4.4 for a score state),
    counted for each level that remains.
    """

    def __init__(self, data: OnPath) -> None:
        """Of nodes given by on-path numbers, in floats."""
        self.data = data
        self.xp = array_api_compat.array_namespace(data.draft)
        self.wanted = data.weight[:, None] * data.target
        if data.remaining > 1:
            self.rest = [left[:, None, :] for left in _uncovered(data)]

    def __call__(self, ranks: Array) -> Array:
        """(g,): the tokens, for the classes of the cells (g, R, C), or (g, 1, C) for the same in all families."""
        data, xp = self.data, self.xp
        shape = (*data.state.shape[:2], data.draft.shape[1])
        below, mass = (xp.broadcast_to(part, shape) for part in classes(data.draft, ranks))
        supply = data.draft * lifts(data.state, below, mass)
        here = xp.where(self.wanted < supply, self.wanted, supply)
        if data.remaining == 1:
            return xp.sum(here, axis=1)
        target, draft = self.rest
        # G_zy(t) = q(y|z) (G_z(c + B t) - G_z(c)) / B, summed over families.
        missed = draft * 0
        for coefficient in reversed(within(data.state[:, :, None], below, mass)):
            missed = (missed + xp.sum(coefficient, axis=1)[:, :, None]) * draft
        value = supply[:, :, None] - data.draft[:, :, None] * missed + here[:, :, None] * target
        # The empty set gives D.
        least = xp.min(xp.concat([value, here[:, :, None]], axis=2), axis=2)
        return xp.sum(here + (data.remaining - 1) * least, axis=1)


def _uncovered(data: OnPath) -> tuple[Any, Any]:
    """1 - p(S) and 1 - q(S), each (g, S), for top sets S of the order by p/q; evenly chosen where they are many."""
    xp = array_api_compat.array_namespace(data.draft)
    cells = data.draft.shape[1]
    order = xp.argsort(rank_by_ratio(data.target, data.draft, data.rounding), axis=1)
    sizes = sorted({-(-cells * (i + 1) // TOP_SETS) for i in range(TOP_SETS)})
    left = []
    for law in (data.target, data.draft):
        covered = xp.cumsum(xp.take_along_axis(law, order, axis=1), 1)
        parts = [covered[:, size - 1 : size] for size in sizes]
        rest = 1 - xp.concat(parts, axis=1)
        left.append(xp.where(rest < 0, 0.0, rest))
    return left[0], left[1]
