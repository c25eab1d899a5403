"""How fair transport chooses one of independent draws: each gets a place, and the highest wins (statement 15.5)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .shared import Number, Row

Places = dict[int, dict[int, Number]]
"""For each token how much of its draft mass has a place in which token's slot."""


def exchange(
    cell: Sequence[int], density: Row | dict[int, Number], over: dict[int, Number], places: Places
) -> None:
    """Tokens chosen too often in their own slots trade places with those chosen too seldom, first in first out."""
    waiting = [y for y in cell if over[y] > 0]
    for y in cell:
        while over[y] < 0:
            x = waiting[0]
            amount = min(over[x], -over[y])
            moved = amount / (density[x] - density[y])
            for giver, slot in ((x, y), (y, x)):
                places[giver][giver] -= moved
                places[giver][slot] = places[giver].get(slot, 0) + moved
            over[x], over[y] = over[x] - amount, over[y] + amount
            if not over[x]:
                waiting.pop(0)


def chosen(q: Row, places: Places, tokens: Sequence[int]) -> dict[int, Number]:
    """The chance of each drawn token to have the draw with the highest place, a uniform one within its slot."""
    competing = [y for y in tokens if y in places]  # the others have no target mass
    below = {y: Fraction(1) for y in competing}
    chances = {y: Fraction(0) for y in competing}
    for slot in places:  # from the highest
        here = {y: places[y].get(slot, 0) / q[y] for y in below}
        below = {y: below[y] - here[y] for y in below}
        for i, y in enumerate(competing):
            # that draw i is at u, and all others are below: a polynomial in u, to be integrated over [0, 1]
            density = [here[y]]
            for x in (x for j, x in enumerate(competing) if j != i):
                density = [
                    below[x] * a + here[x] * b for a, b in zip([*density, 0], [0, *density], strict=True)
                ]
            chances[y] += sum((c / (power + 1) for power, c in enumerate(density)), Fraction(0))
    return chances
