"""Fair transport: the most that one step can accept. Choose one of the draws, then accept it or not.

Source: arXiv:2310.15141, arXiv:2410.18234; statements 15.1, 15.4 and 15.5. The fast twin is `algorithms/transport.py`,
and `algorithms/fair_draws.py` says why the exchange (`slots.py`) is possible.
"""

from __future__ import annotations

from fractions import Fraction

from .shared import Laws, Number, Outcomes, Row, excess, normalised
from .slots import Places, chosen, exchange
from .trees import Drawn, walk


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
