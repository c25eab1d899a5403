"""Fair transport at a node with independent draws from the draft: which draw is chosen (statement 15.5).

The law of the chosen token, nu, is read off one curve: with the tokens in the order of p/q, highest first, Q the
draft's mass of the first of them and P the target's, F = 1 - (1 - Q)^k over P. The stretches of its greatest convex
minorant are the cells; within a cell nu is in proportion to p.

How nu is reached: every draw gets a place in the same order, the highest place wins. A token's **slot** is its own q
along the order; a place in slot j, uniform there, wins k draws with the density v_j = (what F gains in slot j) / q_j,
and v falls along the order. Were all draws in their own slots, token y would be chosen with q_y v_y. Within a cell,
early tokens get too much by that and later ones too little: summed from the cell's start never too little, and at its
end neither. So those that get too much, first in first out, trade places with those that get too little. For an amount
d, i gives d / (v_i - v_j) of its mass a place in slot j, and j as much of its own one in slot i. Within a cell nu/q
falls as p/q does: v_i > nu_i/q_i >= nu_j/q_j > v_j, so no token gives more than it has, and every slot holds q_j as
before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from nodebudget.lp.drafting.power_sums import power_sum
from nodebudget.lp.selection.ratio_order import order_tokens

from ..arithmetic.arrays import Array
from ..drafts.given_rows import COMPILED_FROM

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Fair(NamedTuple):
    """How fair transport chooses at a node.

    Attributes:
        nu: (V,), the law of the chosen token; what it lacks to one is the chance that none is chosen.
        choose: from the tokens that were drawn (m,) to the chances (m,) that each is chosen, of copies at the first.
    """

    nu: Array
    choose: Callable[[Ints], Array]


def fair_draws(p: Array, q: Array, count: int, rounding: float) -> Fair:
    """Fair transport for independent draws.

    Args:
        p, q: (V,), the laws of the target and the draft at a node, flint rationals or floats in double precision.
        count: the number k of draws.
        rounding: how far, relatively, numbers that should be equal may be apart; 0 for rationals.
    """
    live = (p > 0) & (q > 0)
    if live.all():  # the usual case of a large vocabulary: without copies
        order = order_tokens(np.arange(len(p)), p, q, len(p), rounding)[::-1]
    else:
        tokens = np.flatnonzero(live)
        order = order_tokens(tokens, p[tokens], q[tokens], len(p), rounding)[::-1]
    if not len(order):
        return Fair(p * 0, lambda drawn: p[drawn] * 0)
    unwanted = q[~live].sum() + q[0] * 0
    compiled = _compiled() if p.dtype != object and len(p) >= COMPILED_FROM else None
    curve = _compiled_curve if compiled else _curve
    drafted, density, over, starts, nu, place = curve(p, q, order, unwanted, count)

    def choose(drawn: Ints) -> Array:
        chances = p[drawn] * 0
        there = place[drawn]
        places, first, copies = np.unique(there, return_index=True, return_counts=True)
        wins = places >= 0  # behind all others is what the target does not want
        if not wins.any():
            return chances
        cell = np.searchsorted(starts, places[wins][0], "right") - 1
        start, end = starts[cell], np.append(starts, len(order))[cell + 1]
        wins &= places < end
        if wins.sum() == 1:
            chances[first[wins]] = q[0] * 0 + 1
            return chances
        slots = _Slots(drafted[start:end], density[start:end], over[start:end])
        chances[first[wins]] = slots.highest(places[wins] - start, copies[wins])
        return chances

    return Fair(nu, choose)


class Curve(NamedTuple):
    """What is read off the curve at a node, for the tokens of an order (n,).

    Attributes:
        drafted, density: (n,), q of the tokens and the density of their slots.
        over: (n,), by how much a token would be chosen too often with all draws in their own slots.
        starts: (c,), where the cells start.
        nu, place: (V,), the law of the chosen token, and where tokens are in the order, -1 off it.
    """

    drafted: Array
    density: Array
    over: Array
    starts: Ints
    nu: Array
    place: Ints


def _curve(p: Array, q: Array, order: Ints, unwanted: Any, count: int) -> Curve:
    """The curve along an order; `unwanted` is the draft's mass where the target has none."""
    wanted, drafted = p[order], q[order]
    nu, place = p * 0, np.full(len(p), -1)
    place[order] = np.arange(len(order))
    # The chance that a draw is in none of the slots before: sums from the end, in which nothing cancels.
    missed = np.cumsum(np.concatenate([[unwanted], drafted[::-1]]))[::-1]
    density = power_sum(count, missed[:-1], missed[1:])
    gained = density * drafted
    starts = _cells(gained, wanted)
    slopes = np.add.reduceat(gained, starts) / np.add.reduceat(wanted, starts)
    chosen = wanted * np.repeat(slopes, np.diff(starts, append=len(order)))
    nu[order] = chosen
    return Curve(drafted, density, gained - chosen, starts, nu, place)


def _compiled_curve(p: Array, q: Array, order: Ints, unwanted: float, count: int) -> Curve:
    """The same in compiled code."""
    drafted, density, over, slopes = np.empty((4, len(order)))
    starts, nu, place = np.empty(len(order), dtype=np.int64), np.zeros(len(p)), np.full(len(p), -1)
    cells = _compiled().curve(
        np.ascontiguousarray(order), p, q, unwanted, count, drafted, density, over, starts, slopes, nu, place
    )
    return Curve(drafted, density, over, starts[:cells], nu, place)


@cache
def _compiled() -> Any:
    """The curve in compiled code; None where numba is not installed."""
    try:
        from ..arithmetic import fair_curves
    except ImportError:
        return None
    return fair_curves


def _cells(gained: Array, wanted: Array) -> Ints:
    """(c,): where the stretches of the greatest convex minorant begin, of points with these steps up and across."""
    if gained.dtype != object:
        from scipy.optimize import isotonic_regression

        with np.errstate(over="ignore"):
            slopes = np.minimum(gained / wanted, np.finfo(np.float64).max)
        starts: Ints = isotonic_regression(slopes, weights=wanted).blocks[:-1].astype(np.int64)
        return starts
    cells: list[tuple[int, Any, Any]] = []
    for place, (up, across) in enumerate(zip(gained, wanted, strict=True)):
        start = place
        while cells and cells[-1][1] * across >= up * cells[-1][2]:
            start, higher, wider = cells.pop()
            up, across = up + higher, across + wider
        cells.append((start, up, across))
    return np.array([start for start, _, _ in cells])


class _Slots:
    """Where the draws of one cell are placed, from the `Curve` of its tokens."""

    def __init__(self, drafted: Array, density: Array, over: Array) -> None:
        self.drafted, self.density, self.over = drafted, density, over
        zero = drafted[:1] * 0
        # Amounts in the order in which they are exchanged, too much and too little: token i has ends[i] to ends[i + 1].
        self.much, self.little = (
            np.concatenate([zero, np.cumsum(np.maximum(part, zero[0]))]) for part in (over, -over)
        )

    def places(self, token: int) -> tuple[Ints, Array]:
        """The slots of a token's draws and their chances."""
        mine, theirs = (self.much, self.little) if self.over[token] > 0 else (self.little, self.much)
        low, high = mine[token], mine[token + 1]
        first = np.searchsorted(theirs[1:], low, "right")
        slots = np.arange(first, min(np.searchsorted(theirs[1:], high, "left") + 1, len(self.over)))
        amount = np.minimum(theirs[slots + 1], high) - np.maximum(theirs[slots], low)
        apart = (self.density[token] - self.density[slots]) * (1 if self.over[token] > 0 else -1)
        given = (amount > 0) & (apart > 0)
        slots, shares = slots[given], amount[given] / apart[given] / self.drafted[token]
        zero = self.drafted[0] * 0
        kept = max(zero, zero + 1 - shares.sum())
        return np.append(slots, token), np.append(shares, kept)

    def highest(self, tokens: Ints, copies: Ints) -> Array:
        """(m,): the chances that a draw of each of some tokens (m,) has the highest place, from their copies (m,)."""
        placed = [self.places(token) for token in tokens]
        every = np.unique(np.concatenate([slots for slots, _ in placed]))
        here = np.full((len(tokens), len(every)), self.drafted[0] * 0)
        for row, (slots, shares) in zip(here, placed, strict=True):
            row[np.searchsorted(every, slots)] = shares
        below = np.zeros_like(here)
        below[:, :-1] = np.cumsum(here[:, :0:-1], axis=1)[:, ::-1]
        below += self.drafted[0] * 0
        if here.dtype == object:
            return _exact_wins(here, below, copies)
        wins = np.zeros(len(tokens))
        for at, weight in zip(*_gauss(int(copies.sum())), strict=True):
            lower = below + at * here
            together = (lower ** copies[:, None]).prod(axis=0)
            # Where a draw cannot be lower than the place, it is not there either.
            with np.errstate(divide="ignore", invalid="ignore"):
                wins += weight * copies * np.where(lower > 0, here * together / lower, 0.0).sum(axis=1)
        return wins / wins.sum()


def _exact_wins(here: Array, below: Array, copies: Ints) -> Array:
    """The same by polynomials in the place within a slot, in rationals."""
    from flint import fmpq_poly

    wins = here[:, 0] * 0
    for shares, lower in zip(here.T, below.T, strict=True):
        chances = [fmpq_poly([b, a]) for a, b in zip(shares, lower, strict=True)]
        for i in np.flatnonzero(shares != 0):
            density = fmpq_poly([int(copies[i]) * shares[i]])
            for j, chance in enumerate(chances):
                density *= chance ** int(copies[j] - (i == j))
            wins[i] += density.integral()(1)
    return wins


@lru_cache(maxsize=256)
def _gauss(count: int) -> tuple[Array, Array]:
    """Places in [0, 1] and weights, exact for polynomials of degree count - 1."""
    places, weights = np.polynomial.legendre.leggauss((count + 1) // 2)
    return (places + 1) / 2, weights / 2
