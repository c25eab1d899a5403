"""SpecHub: the likeliest token a, the hub, and one other token i; pairs in both orders are transported one by one.

Source: arXiv:2411.05289; statement 15.1. The fast twin is `algorithms/spechub.py`.
"""

from __future__ import annotations

from .shared import Laws, Number, Outcomes, Row, normalised
from .trees import Drawn, walk


def law(drawn: Drawn, target: Laws, draft: Laws) -> Outcomes:
    """Pr[Z, Y], given what was drawn: the hub, and a token from the others. See `nodebudget.verifiers.plain`."""
    return walk(drawn, target, draft, emit)


def emit(p: Row, q: Row, tokens: list[int]) -> Row:
    """Of each pair, in the orders (i, a) and (a, i), as much as can be to i, then the rest of all pairs to a."""
    a, *others = tokens
    if not others:
        return p
    p, every = list(p), [i for i in range(len(q)) if i != a]
    pairs = {(i, a): q[i] for i in every} | {(a, i): q[a] * q[i] / (1 - q[a]) for i in every}
    goes: dict[tuple[int, int], dict[int, Number]] = {pair: {} for pair in pairs}

    def move(some: list[tuple[int, int]], y: int) -> None:
        """What is left of some pairs to token y, of all alike, until p[y] is served."""
        mass = sum(pairs[pair] for pair in some)
        share = min(1, p[y] / mass) if mass else 0
        p[y] -= share * mass
        for pair in some:
            goes[pair][y] = share * pairs[pair]
            pairs[pair] -= share * pairs[pair]

    for i in every:
        move([(i, a)], i)
        move([(a, i)], i)
    move([(a, i) for i in every], a)
    move([(i, a) for i in every], a)
    (u,) = others
    either, residual = [(u, a), (a, u)], normalised(p)
    total = sum(sum(goes[pair].values()) + pairs[pair] for pair in either)
    return [
        sum(goes[pair].get(y, 0) + pairs[pair] * residual[y] for pair in either) / total
        for y in range(len(q))
    ]
