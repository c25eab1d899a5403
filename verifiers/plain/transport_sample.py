"""Fair transport for the likeliest tokens, drawn for sure, and one draw from the others.

Source: arXiv:2310.15141; statements 15.4 and 15.5. The fast twin is `algorithms/fair_sets.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .shared import Laws, Outcomes, Row
from .transport import accept_chosen
from .trees import Drawn, off_top, walk


def law(drawn: Drawn, target: Laws, draft: Laws, counts: Sequence[int]) -> Outcomes:
    """Pr[Z, Y], given what was drawn: m - 1 likeliest tokens and a draw, m = counts[length of the context].

    See `nodebudget.verifiers.plain` for the other arguments.
    """
    return walk(drawn, target, off_top(drawn, draft, counts), emit)


def emit(P: Row, ms: Row, tokens: list[int]) -> Row:
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
