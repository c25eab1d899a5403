"""Races: pick a path of the drafted tree by what was drafted below each node, verify it as a block.

Source: this project; statements 16.1 to 16.4. The fast twin is `algorithms/race.py`; `races.py` has one node.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from . import bv
from .races import Rules, intervals, masses_below, overlaps
from .shared import Context, Laws, Number, Outcomes, Row
from .trees import Drawn


def law(drawn: Drawn, target: Laws, draft: Laws, rules: Rules) -> Outcomes:
    """Pr[Z, Y], given what was drawn. See `nodebudget.verifiers.plain` for the arguments.

    The picked path goes from winner to winner, and its conditionals nu take the draft's place in block verification.
    Lossless whatever `rules.order` says, as long as it looks at its arguments only.
    """
    M, place, score, nu = rules.levels, {}, {}, {}

    def follow(z: Context, g: Row, w: Number) -> None:
        """Down the drafted tree: at each node the order of pairs, the score that each of them gives, and nu."""
        if drawn.get(z):
            p, every = target(z), rules.draws(z, draft(z))
            pairs = rules.order(z, draft(z), [w * mass for mass in p], g)
            place[z], score[z] = {pair: n for n, pair in enumerate(pairs)}, intervals(pairs, every, M)
            below = masses_below(score[z], g, len(p))
            nu[z] = [sum(masses) for masses in below]
            for y in set(drawn[z]):
                own = nu[z][y] or 1  # a path that is never picked has a race, too
                follow((*z, y), [mass / own for mass in below[y]], min(1, w * p[y] / own) if nu[z][y] else 0)

    def scores(z: Context, copy: int) -> dict[tuple[int, Context], Number]:
        """Of one copy of z: how likely its score has each level and the path below it ends at each leaf."""
        if not drawn.get(z):
            return {(i, z): Fraction(1, M) for i in range(M)}
        k = len(drawn[z]) // (drawn[z[:-1]].count(z[-1]) if z else 1)
        tokens = drawn[z][copy * k : copy * k + k]
        below = [scores((*z, y), drawn[z][: copy * k + j].count(y)) for j, y in enumerate(tokens)]
        found: dict[tuple[int, Context], Number] = {}
        for each in itertools.product(*(table.items() for table in below)):
            chance = math.prod(mass for _, mass in each)
            best = min(range(k), key=lambda j: place[z][tokens[j], each[j][0][0]])  # the first one, of copies
            (i, end), _ = each[best]
            a, b = score[z][tokens[best], i]
            for level, share in enumerate(overlaps(a, b, M)):
                found[level, end] = found.get((level, end), 0) + chance * share / (b - a)
        return found

    follow((), [Fraction(1, M)] * M, 1)
    out: Outcomes = {}
    for (_, x), chance in scores((), 0).items():
        block = bv.law((x,), target, nu.__getitem__) if chance else {}
        for outcome, mass in block.items():
            out[outcome] = out.get(outcome, 0) + chance * mass
    return out
