"""Mixed multi-path block verification: pick the path with the largest score, verify it as a block.

Source: this project; statements 12.1 to 12.4. The fast twin is `algorithms/mixed_multipath.py`.
"""

from __future__ import annotations

from . import bv
from .orderings import Orderings, library_orderings
from .scores import Interval, child_state, classes, win_chances
from .shared import Context, Laws, Outcomes, Row


def law(
    paths: tuple[Context, ...], target: Laws, draft: Laws, orderings: Orderings = library_orderings
) -> Outcomes:
    """Pr[Z, Y], given the drafted paths. See `nodebudget.verifiers.plain` for the arguments.

    One of R families of orderings is drawn, and the path with the largest score in it is picked. Lossless whatever
    `orderings` says, as long as it looks at its arguments only (12.1); the default is the library's own rule (12.4).
    """
    nu, scores = {}, {}
    shares: Row = []
    for x in set(paths):
        nu[x], shares, scores[x] = follow(x, len(paths), target, draft, orderings)
    wins = [win_chances([scores[x][r] for x in paths]) for r in range(len(shares))]
    out: Outcomes = {}
    for k, x in enumerate(paths):
        chance = sum(share * wins[r][k] for r, share in enumerate(shares))
        for outcome, mass in bv.law((x,), target, nu[x]).items():
            out[outcome] = out.get(outcome, 0) + chance * mass
    return out


def follow(
    x: Context, K: int, target: Laws, draft: Laws, orderings: Orderings
) -> tuple[Laws, Row, list[Interval]]:
    """Along one path: nu, the law of the picked path; the families' probabilities; the path's score in each."""
    states, w, nu = [[0] * (K - 1) + [1]], 1, {}  # at the root G(t) = t^K
    for i, y in enumerate(x):
        z, p, q = x[:i], target(x[:i]), draft(x[:i])
        states, ranks = orderings(z, p, q, w, states, len(x) - i)
        cB = [classes(of_family, q) for of_family in ranks]
        # G_zy(t) = q(y|z) (G_z(c + B t) - G_z(c)) / B and nu(zy) = G_zy(1), summed over families.
        below = [[child_state(G, *cB[r][t]) for r, G in enumerate(states)] for t in range(len(q))]
        nu[z] = [q[t] * sum(map(sum, below[t])) for t in range(len(q))]
        if not i:
            shares, scores = [sum(G) for G in states], [(0, 1)] * len(states)
        scores = [
            (low + length * c[y][0], length * c[y][1]) for (low, length), c in zip(scores, cB, strict=True)
        ]
        states = [[q[y] * g / nu[z][y] for g in G] for G in below[y]]
        w = min(1, w * p[y] / nu[z][y])
    return nu.__getitem__, shares, scores
