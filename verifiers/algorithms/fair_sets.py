"""Fair transport at a node with other draws: the likeliest and one sample, or any draws of few tokens (15.5)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any

import numpy as np
from nodebudget.lp.drafting import GrownTree
from nodebudget.lp.drafting.supports import Support
from nodebudget.lp.numbers.rationals import fmpq_array, to_fraction

from ..arithmetic.arrays import Array
from .fair_draws import Fair, Ints

SUPPORT_LIMIT = 8
"""Most tokens with draft mass at a node for which all sets of draws are gone through."""

Sets = dict[frozenset[int], Fraction]
"""The chance of each set of drawn tokens."""


def fair_top_sample(p: Array, q: Array, top: Ints, sampled: bool) -> Fair:
    """Fair transport where the tokens `top` (m,) are drawn for sure and one from ms, the rest of q, renormalised.

    Off top the cells are the ratios p/ms from the highest down to where the last cell begins, that of top: below a
    slope s, nu = ms; else nu = s p, and what is missing to ms goes to top in proportion to p.

    To be read: `nodebudget.verifiers.plain.transport_sample`, the same in Fractions.

    Args:
        p, q: (V,), rationals or floats.
        top: the likeliest tokens.
        sampled: False where nothing is left to draw from.
    """
    rest = q.copy()
    rest[top] = q[0] * 0
    ms = rest / rest.sum() if sampled else rest * 0
    live = np.flatnonzero((ms > 0) & (p > 0))
    live = live[np.argsort(ms[live] / p[live], kind="stable")]
    zero = p[0] * 0
    at_top = p[top].sum() + zero
    # The steepest line from the end of the curve to one of its points.
    mass = np.concatenate([[zero], np.cumsum(ms[live])])
    wanted = np.concatenate([np.cumsum(p[live][::-1])[::-1], [zero]]) + at_top
    end = zero + 1 if at_top > 0 else mass[-1]
    lines = wanted > 0
    slope = max(((end - mass[lines]) / wanted[lines]).tolist(), default=zero)
    nu = np.where(p > 0, np.minimum(ms, slope * p), zero)
    nu[top] = slope * p[top]

    def choose(drawn: Ints) -> Array:
        chances, kept = p[drawn] * 0, zero
        if sampled and p[drawn[-1]] > 0:
            # Rounding apart, all of ms is nu where top has no mass.
            kept = min(zero + 1, slope * p[drawn[-1]] / ms[drawn[-1]]) if at_top > 0 else zero + 1
            chances[-1] = kept
        if at_top > 0:
            chances[: len(top)] = (1 - kept) * p[top] / at_top
        return chances

    return Fair(nu, choose)


def fair_listed(p: Array, q: Array, count: int, drafting: GrownTree) -> Fair:
    """Fair transport for the draws of any drafting that is grown node by node, by going through all of them.

    A cell is found by going through all sets of tokens, and what is chosen within it by a maximum flow between sets of
    draws and tokens, in rationals; floats are taken as the rationals that they are.

    Args:
        p, q: (V,), rationals or floats.
        count: the number of draws.
        drafting: what they are drawn by.

    Raises ValueError where more than `SUPPORT_LIMIT` tokens have draft mass.
    """
    tokens = np.flatnonzero(q > 0)
    if len(tokens) > SUPPORT_LIMIT:
        raise ValueError(
            f"transport of {drafting}: got a node at which {len(tokens)} tokens have draft mass; expected at most "
            f"{SUPPORT_LIMIT}, since it goes through all sets of draws (of independent draws, or the likeliest and a "
            "sample, any number)"
        )
    exact = p.dtype == object
    rows = [[to_fraction(mass) if exact else Fraction(float(mass)) for mass in row[tokens]] for row in (p, q)]
    nu_at, chosen = _listed(tuple(rows[0]), tuple(rows[1]), count, drafting)
    kind: Callable[[Any], Array] = fmpq_array if exact else lambda values: np.array(values, dtype=np.float64)
    nu = p * 0
    nu[tokens] = kind(nu_at)
    place = {int(y): i for i, y in enumerate(tokens)}

    def choose(drawn: Ints) -> Array:
        chances = chosen[frozenset(place[int(y)] for y in drawn)]
        first = [y not in drawn[:i] for i, y in enumerate(drawn)]
        return kind(
            [chances.get(place[int(y)], Fraction(0)) * new for y, new in zip(drawn, first, strict=True)]
        )

    return Fair(nu, choose)


Listed = tuple[list[Fraction], dict[frozenset[int], dict[int, Fraction]]]


@lru_cache(maxsize=512)
def _listed(p: tuple[Fraction, ...], q: tuple[Fraction, ...], count: int, drafting: GrownTree) -> Listed:
    """nu of the tokens with draft mass, by place, and the law of the chosen one for each set of draws."""
    law = _sets(q, count, drafting)
    nu, chosen = [Fraction(0)] * len(p), {draws: dict[int, Fraction]() for draws in law}
    open_, wanted = law, {y for y, mass in enumerate(p) if mass > 0}
    while wanted:
        cell, slope = _first_cell(open_, p, sorted(wanted))
        met = {draws: mass for draws, mass in open_.items() if draws & cell}
        for y in cell:
            nu[y] = slope * p[y]
        for (draws, y), mass in _flow(met, {y: nu[y] for y in cell}).items():
            chosen[draws][y] = mass / law[draws]
        open_ = {draws: mass for draws, mass in open_.items() if draws not in met}
        wanted -= cell
    return nu, chosen


def _sets(q: tuple[Fraction, ...], count: int, drafting: GrownTree) -> Sets:
    """The law of the set of drawn tokens."""
    total = sum(q)
    order = sorted(range(len(q)), key=lambda y: (-q[y], y))
    below = Support(tuple(order), tuple(q[y] / total for y in order), (None,) * len(q))
    law: Sets = {}
    for places, chance in drafting.drawn(below, count):
        draws = frozenset(order[place] for place in places)
        law[draws] = law.get(draws, Fraction(0)) + chance
    return law


def _first_cell(law: Sets, p: tuple[Fraction, ...], wanted: list[int]) -> tuple[frozenset[int], Fraction]:
    """The largest set of tokens with the least coverage for its target mass, and that ratio."""
    best: tuple[Fraction, int, frozenset[int]] | None = None
    for bits in range(1, 1 << len(wanted)):
        tokens = frozenset(y for i, y in enumerate(wanted) if bits >> i & 1)
        covered = sum((mass for draws, mass in law.items() if draws & tokens), Fraction(0))
        found = (covered / sum(p[y] for y in tokens), -len(tokens), tokens)
        if best is None or found[:2] < best[:2]:
            best = found
    assert best is not None
    return best[2], best[0]


def _flow(law: Sets, wanted: dict[int, Fraction]) -> dict[tuple[frozenset[int], int], Fraction]:
    """How the mass of sets of draws goes to tokens of theirs that want so much in all."""
    import networkx as nx

    scale = lcm(*(mass.denominator for mass in (*law.values(), *wanted.values())))
    graph = nx.DiGraph()
    for draws, mass in law.items():
        graph.add_edge("source", draws, capacity=int(mass * scale))
        for y in sorted(draws & wanted.keys()):
            graph.add_edge(draws, y)
    for y, mass in wanted.items():
        graph.add_edge(y, "sink", capacity=int(mass * scale))
    amount, flow = nx.maximum_flow(graph, "source", "sink")
    assert amount == sum(wanted.values()) * scale
    return {
        (draws, y): Fraction(mass, scale) for draws in law for y, mass in flow.get(draws, {}).items() if mass
    }
