"""Fair transport: the most that one step can accept. Choose one of the draws, then accept it or not.

Sources: arXiv:2310.15141, arXiv:2410.18234; statements 15.1, 15.4 and 15.5. The fast twin is `algorithms/transport.py`,
with `algorithms/fair_draws.py` for why the exchange below is possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .shared import Laws, Number, Outcomes, Row, excess, normalised
from .trees import Drawn, off_top, walk

Places = dict[int, dict[int, Number]]
"""For each token how much of its draft mass has a place in which token's slot."""


def law(drawn: Drawn, target: Laws, draft: Laws) -> Outcomes:
    """Pr[Z, Y] for independent draws, given what was drawn. See `nodebudget.verifiers.plain` for the arguments."""
    return walk(drawn, target, draft, emit)


def emit(P: Row, q: Row, tokens: list[int]) -> Row:
    """The chosen token y with probability min(1, P/nu), else from max(0, P - nu) over its sum.

    `tokens` are independent draws from q. An entry of P that q can never draw may stand for "none" (section 14).
    """
    nu, places = fair(P, q, len(tokens))
    return accept_chosen(P, nu, chosen(q, places, tokens))


def accept_chosen(P: Row, nu: Row, chances: dict[int, Number]) -> Row:
    """What is emitted where each token is chosen with the given chances, and none with what they lack to one."""
    accepted = {y: chance * min(1, P[y] / nu[y]) for y, chance in chances.items() if chance}
    left = normalised(excess(1, P, nu))
    rejected = 1 - sum(accepted.values())
    return [accepted.get(y, 0) + rejected * mass for y, mass in enumerate(left)]


def fair(P: Row, q: Row, k: int) -> tuple[Row, Places]:
    """nu, the law of the chosen token, and where each token's draws are placed."""
    order = sorted((y for y in range(len(q)) if P[y] and q[y]), key=lambda y: (-P[y] / q[y], y))
    nu: Row = [Fraction(0)] * len(q)
    places: Places = {y: {y: q[y]} for y in order}
    start, Q = 0, Fraction(0)
    while start < len(order):
        # The next cell: of all that could follow, the longest with the least coverage for its target mass.
        slopes, mass, wanted = [], Q, Fraction(0)
        for y in order[start:]:
            mass, wanted = mass + q[y], wanted + P[y]
            slopes.append(((1 - Q) ** k - (1 - mass) ** k) / wanted)
        slope = min(slopes)
        length = max(i for i, each in enumerate(slopes, 1) if each == slope)
        cell = order[start : start + length]
        density = {}
        for y in cell:
            nu[y] = slope * P[y]
            density[y] = ((1 - Q) ** k - (1 - Q - q[y]) ** k) / q[y]
            Q += q[y]
        exchange(cell, density, {y: density[y] * q[y] - nu[y] for y in cell}, places)
        start += length
    return nu, places


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


def law_top_sample(drawn: Drawn, target: Laws, draft: Laws, counts: Sequence[int]) -> Outcomes:
    """The same for the likeliest tokens and a draw from the others, as in `greedy.law`."""
    return walk(drawn, target, off_top(drawn, draft, counts), emit_top_sample)


def emit_top_sample(P: Row, ms: Row, tokens: list[int]) -> Row:
    """The drawn token gives way to the likeliest ones where it would be chosen too often for its target mass."""
    top = [y for y in tokens if not ms[y]]
    at_top = sum(P[y] for y in top)
    if not at_top:
        u = tokens[-1]
        return accept_chosen(P, ms, {u: 1} if P[u] and ms[u] else {})
    # Cells of the tokens off top, as long as they have less coverage for their target mass than what is left.
    slope, covered, wanted = None, Fraction(1), at_top + sum(P[y] for y in range(len(ms)) if ms[y])
    for y in sorted((y for y in range(len(ms)) if ms[y] and P[y]), key=lambda y: ms[y] / P[y]):
        if ms[y] / P[y] >= covered / wanted:
            break
        covered, wanted = covered - ms[y], wanted - P[y]
    slope = covered / wanted
    nu = [slope * P[y] if y in top else min(mass, slope * P[y]) for y, mass in enumerate(ms)]
    u = tokens[-1]
    kept = nu[u] / ms[u] if ms[u] else Fraction(0)
    chances = {y: (1 - kept) * P[y] / at_top for y in top}
    return accept_chosen(P, nu, chances | ({u: kept} if ms[u] else {}))
