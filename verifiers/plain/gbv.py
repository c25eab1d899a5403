"""Greedy multi-path block verification: pick the path that ranks highest, verify it as a block.

Source: arXiv:2602.16961; statements 6.2 and 6.3. The fast twin is `algorithms/greedy_multipath.py`.
"""

from __future__ import annotations

from . import bv
from .shared import Context, Laws, Outcomes, Row, normalised


def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
    """Pr[Z, Y], given the drafted paths. See `nodebudget.verifiers.plain` for the arguments."""
    x = pick(paths, target, draft)
    return bv.law((x,), target, skewed_draft(x, len(paths), target, draft))


def pick(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Context:
    """The path that ranks highest; paths are compared token by token, from the root."""

    def ranks(x: Context) -> list[int]:
        return [ranking(target(x[:i]), draft(x[:i])).index(y) for i, y in enumerate(x)]

    return min(paths, key=ranks)


def ranking(p: Row, q: Row) -> list[int]:
    """The tokens by p/q, the highest first, ties to the smaller token id; those that are never drafted last."""
    return sorted(range(len(p)), key=lambda y: (q[y] == 0, -p[y] / q[y] if q[y] else 0, y))


def skewed_draft(x: Context, K: int, target: Laws, draft: Laws) -> Laws:
    """nu, the law of the picked path, along it: nu(z) = (A + q(z))^K - A^K, A the draft mass of what ranks below z."""
    rows, A, mass = {}, 0, 1
    for i, token in enumerate(x):
        p, q = target(x[:i]), draft(x[:i])
        below, nu = {}, [0] * len(q)
        for y in reversed(ranking(p, q)):
            below[y] = A
            nu[y] = (A + mass * q[y]) ** K - A**K
            A += mass * q[y]
        rows[x[:i]] = normalised(nu)
        A, mass = below[token], mass * q[token]
    return rows.__getitem__
