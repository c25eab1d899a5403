"""Verifiers spelled out path by path in rationals or decimals, from the definitions, with no regard to speed.

They share nothing with the package and serve as its judges, and with a fault switched on as negative
controls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

Context = tuple[int, ...]
Law = Callable[[Context], Sequence[Any]]
Masses = dict[Context, list[Any]]


def decimal(value: Fraction) -> Decimal:
    """A rational to the current decimal precision."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def traversal(
    paths: Sequence[Context], target: Law, draft: Law, *, order: str = "depth-first", renormalise: bool = True
) -> Masses:
    """Pr[Z = z, Y = y] of traversal verification, leaf after leaf, every weight recomputed each time."""
    prefixes = [path[:i] for path in paths for i in range(len(path) + 1)]
    inserted = {node: place for place, node in enumerate(dict.fromkeys(prefixes))}
    residual = {node: list(target(node)) for node in inserted}
    depth = len(paths[0])
    proposal = {node: list(draft(node)) for node in inserted if len(node) < depth}
    factor: dict[Context, Fraction] = {}
    remaining = set(inserted)

    def weight(node: Context) -> Fraction:
        if node in factor:
            return factor[node]
        if not node:
            return Fraction(1)
        above, y = node[:-1], node[-1]
        return min(Fraction(1), weight(above) * residual[above][y] / proposal[above][y])

    def children(node: Context) -> list[Context]:
        below = [other for other in remaining if other[:-1] == node and len(other) == len(node) + 1]
        return sorted(below, key=lambda other: inserted[other])

    def first_leaf() -> Context:
        if order == "insertion":
            return min((node for node in remaining if not children(node)), key=lambda node: inserted[node])
        node: Context = ()
        while children(node):
            node = children(node)[0]
        return node

    out: Masses = {}
    alive = Fraction(1)
    while True:
        leaf = first_leaf()
        accept = weight(leaf) if leaf else Fraction(1)
        out[leaf] = [alive * accept * mass for mass in residual[leaf]]
        if not leaf:
            return out
        alive *= 1 - accept
        remaining.discard(leaf)
        above, y = leaf[:-1], leaf[-1]
        before = weight(above)
        excess = [
            max(Fraction(0), before * r - d) for r, d in zip(residual[above], proposal[above], strict=True)
        ]
        total = sum(excess)
        factor[above] = total / (total + 1 - before) if total else Fraction(0)
        if total:
            residual[above] = [mass / total for mass in excess]
        rest = 1 - proposal[above][y] if renormalise else Fraction(1)
        proposal[above] = [
            d / rest if rest and i != y else Fraction(0) for i, d in enumerate(proposal[above])
        ]


def greedy_multipath(
    paths: Sequence[Context], target: Law, draft: Law, number: Callable[[Any], Any] = Fraction
) -> Masses:
    """Pr[Z = z, Y = y] of greedy multi-path block verification, with nu(z) = (A + x)^K - A^K as it stands.

    The ranking is decided in the laws' own numbers, the rest computed in `number`; decimals of enough digits
    survive the cancellation in nu.
    """
    count, depth = len(paths), len(paths[0])
    one, zero = number(Fraction(1)), number(Fraction(0))
    standing = [tuple(path) for path in paths]
    node: Context = ()
    under, own, weights, skewed = zero, one, [one], []
    for i in range(depth):
        p, q = target(node), draft(node)
        ranking = sorted(range(len(p)), key=lambda y: (-(p[y] / q[y]) if q[y] else 0, y))
        below, mass = {}, Fraction(0)
        for y in reversed(ranking):
            below[y] = number(mass)
            mass += q[y]
        base = (under + own) ** count - under**count
        nu = []
        for y in range(len(p)):
            low = under + own * below[y]
            nu.append(((low + own * number(q[y])) ** count - low**count) / base)
        token = min({path[i] for path in standing}, key=ranking.index)
        standing = [path for path in standing if path[i] == token]
        skewed.append(nu)
        weights.append(min(one, weights[-1] * number(p[token]) / nu[token]))
        under, own = under + own * below[token], own * number(q[token])
        node = (*node, token)
    coins, residuals = [one], []
    for i in range(depth):
        p = target(node[:i])
        excess = [max(zero, weights[i] * number(p[y]) - skewed[i][y]) for y in range(len(p))]
        total = sum(excess, zero)
        base = total + 1 - weights[i]
        if i:
            coins.append(total / base if base else one)
        residuals.append([mass / total if total else zero for mass in excess])
    coins.append(weights[depth])
    residuals.append([number(mass) for mass in target(node)])
    out: Masses = {}
    missed = one
    for i in reversed(range(depth + 1)):
        out[node[:i]] = [missed * coins[i] * mass for mass in residuals[i]]
        missed *= 1 - coins[i]
    return out
