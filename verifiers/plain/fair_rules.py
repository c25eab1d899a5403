"""The rules of the fair race, asked of the library (`nodebudget.lp.selection`) in Fractions."""

from __future__ import annotations

import numpy as np
from nodebudget.lp.drafting import GrownTree
from nodebudget.lp.drafting.supports import Support
from nodebudget.lp.numbers.rationals import fmpq_array, to_fraction
from nodebudget.lp.selection.fair_orders import fair_order
from nodebudget.lp.selection.races import Draws

from .races import Every, Pair, Rules
from .shared import Context, Row


def fair_rules(drafting: GrownTree, depth: int, levels: int) -> Rules:
    """What the library does at a node (statement 16.3), for trees of this depth."""

    def drawn(z: Context, q: Row) -> Draws:
        tokens = sorted((y for y, mass in enumerate(q) if mass), key=lambda y: (-q[y], y))
        shares = fmpq_array(q[y] for y in tokens)
        below = Support(tuple(tokens), tuple(shares), (None,) * len(tokens))
        return Draws(drafting, below, drafting.most_drawn(below, counts[len(z)]), levels)

    def draws(z: Context, q: Row) -> Every:
        here = drawn(z, q)
        below, every = here.below, drafting.drawn(here.below, here.number)
        return [([below.tokens[place] for place in places], to_fraction(chance)) for places, chance in every]

    def order(z: Context, q: Row, demand: Row, g: Row) -> list[Pair]:
        here = drawn(z, q)
        wanted = [float(demand[y]) for y in here.below.tokens]
        ranked = fair_order(here.in_floats(), np.array(wanted), np.array(g, dtype=float))
        return [(here.below.tokens[pair // levels], pair % levels) for pair in ranked.tolist()]

    counts = drafting.counts(depth)
    return Rules(levels, draws, order)
