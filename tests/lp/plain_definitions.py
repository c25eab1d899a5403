"""The definitions of the mathematics, straight-through on token strings: what the package is checked against.

Slow on purpose: subsets, tuples and coins are listed, nothing is shared with the package but the laws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from nodebudget.lp import Instance
from scipy.optimize import linprog

String = tuple[int, ...]
Laws = dict[String, list[Any]]


def strings(vocab: int, depth: int) -> list[String]:
    """All strings of length 1 .. depth, by length, then in lexicographic order."""
    return [z for d in range(1, depth + 1) for z in itertools.product(range(vocab), repeat=d)]


def laws_of(instance: Instance) -> tuple[Laws, Laws]:
    """Context -> law, for the target and for the draft, in the contexts shorter than the depth."""
    tree = instance.tree
    inner = [node for node in range(len(tree)) if len(tree.path(node)) < tree.depth]
    target = {tree.path(node): list(instance.target_law(node)) for node in inner}
    draft = {tree.path(node): list(instance.draft_law(node)) for node in inner}
    return target, draft


def joint(laws: Laws, z: String) -> Any:
    """Probability of a string: the product of its conditionals."""
    out = 1
    for i, y in enumerate(z):
        out = out * laws[z[:i]][y]
    return out


def is_prefix(first: String, second: String) -> bool:
    return second[: len(first)] == first


@cache
def antichains(vocab: int, depth: int) -> tuple[tuple[String, ...], ...]:
    """All non-empty antichains without the root, out of all subsets of the strings."""
    nodes = strings(vocab, depth)
    clash = [
        sum(
            1 << j for j, other in enumerate(nodes) if j != i and (is_prefix(z, other) or is_prefix(other, z))
        )
        for i, z in enumerate(nodes)
    ]
    found = []
    for subset in range(1, 1 << len(nodes)):
        inside = [i for i in range(len(nodes)) if subset >> i & 1]
        if all(not subset & clash[i] for i in inside):
            found.append(tuple(nodes[i] for i in inside))
    return tuple(found)


def hit(mass: Any, paths: int) -> Any:
    """f(t) = 1 - (1 - t)^K."""
    return 1 - (1 - mass) ** paths


def by_string(instance: Instance, values: Any) -> dict[String, Any]:
    """An array over the nodes as a table over their strings."""
    return {instance.tree.path(node): values[node] for node in range(len(instance.tree))}


def worst_excess(instance: Instance, budgets: Any, paths: int) -> Any:
    """The largest D(A) - f(q(A)) over all non-empty antichains without the root."""
    _, draft = laws_of(instance)
    table = by_string(instance, budgets)
    mass = {z: joint(draft, z) for z in strings(instance.vocab, instance.depth)}
    return max(
        sum(table[z] for z in chosen) - hit(sum(mass[z] for z in chosen), paths)
        for chosen in antichains(instance.vocab, instance.depth)
    )


def float_optimum(instance: Instance, paths: int) -> float:
    """OPT_K in floats from the definition: every antichain of the full tree as a row of a dense program."""
    target, draft = laws_of(instance)
    nodes = strings(instance.vocab, instance.depth)
    column = {z: j for j, z in enumerate(nodes)}
    mass = {z: float(joint(draft, z)) for z in nodes}
    rows, bounds = [], []
    for z in nodes:
        row = np.zeros(len(nodes))
        row[column[z]] = 1.0
        step = float(target[z[:-1]][z[-1]])
        if len(z) > 1:
            row[column[z[:-1]]] = -step
        rows.append(row)
        bounds.append(step if len(z) == 1 else 0.0)
    for chosen in antichains(instance.vocab, instance.depth):
        row = np.zeros(len(nodes))
        row[[column[z] for z in chosen]] = 1.0
        rows.append(row)
        bounds.append(hit(sum(mass[z] for z in chosen), paths))
    solved = linprog(-np.ones(len(nodes)), A_ub=np.array(rows), b_ub=np.array(bounds), method="highs-ipm")
    assert solved.status == 0, solved.message
    return -float(solved.fun)


def tuples(instance: Instance, paths: int) -> Iterator[tuple[tuple[String, ...], Any]]:
    """All tuples of drafted paths with their probability under the draft, those of probability 0 left out."""
    _, draft = laws_of(instance)
    leaves = itertools.product(range(instance.vocab), repeat=instance.depth)
    drafted = [(x, joint(draft, x)) for x in leaves if joint(draft, x) > 0]
    for chosen in itertools.product(drafted, repeat=paths):
        weight = Fraction(1)
        for _, mass in chosen:
            weight = weight * mass
        yield tuple(x for x, _ in chosen), weight


def selection_law(
    instance: Instance, paths: int, pick: Callable[[tuple[String, ...]], String]
) -> dict[String, Any]:
    """nu(z) = Pr[the picked path passes z], over all tuples of drafted paths."""
    nu = {(): Fraction(0)} | dict.fromkeys(strings(instance.vocab, instance.depth), Fraction(0))
    for drafted, weight in tuples(instance, paths):
        chosen = pick(drafted)
        for length in range(instance.depth + 1):
            nu[chosen[:length]] += weight
    return nu


def greedy_pick(instance: Instance) -> Callable[[tuple[String, ...]], String]:
    """The drafted path that is highest by p/q, node by node from the root, ties to the smaller token."""
    target, draft = laws_of(instance)

    def rank(x: String) -> list[tuple[Any, int]]:
        steps = ((x[:i], y) for i, y in enumerate(x))
        return [(target[z][y] / draft[z][y], -y) for z, y in steps]

    return lambda drafted: max(drafted, key=rank)


def block_verification_stops(target: Laws, draft: Laws, x: String) -> list[Any]:
    """Pr[|Z| = i | path x], i = 0 .. L, of block verification, from its coins (section 5)."""
    w = [Fraction(1)]
    for i, y in enumerate(x):
        w.append(min(Fraction(1), w[-1] * target[x[:i]][y] / draft[x[:i]][y]))
    h = [Fraction(1)]
    for i in range(1, len(x)):
        z = x[:i]
        over = sum(max(Fraction(0), w[i] * p - q) for p, q in zip(target[z], draft[z], strict=True))
        below = over + 1 - w[i]
        h.append(Fraction(1) if below == 0 else over / below)
    h.append(w[-1])
    stops = []
    for i in range(len(x) + 1):
        chance = h[i]
        for j in range(i + 1, len(x) + 1):
            chance *= 1 - h[j]
        stops.append(chance)
    return stops


def token_verification_stops(target: Laws, draft: Laws, x: String) -> list[Any]:
    """Pr[|Z| = i | path x] of token verification: accept token after token with min(1, p/q)."""
    stops, reached = [], Fraction(1)
    for i, y in enumerate(x):
        accept = min(Fraction(1), target[x[:i]][y] / draft[x[:i]][y])
        stops.append(reached * (1 - accept))
        reached *= accept
    return [*stops, reached]


def budgets_of_stops(
    instance: Instance, stops_on: Callable[[Laws, Laws, String], list[Any]]
) -> dict[String, Any]:
    """D(z) = Pr[z is a prefix of Z] of a single-path verifier, summed over all drafted paths."""
    target, draft = laws_of(instance)
    budgets = {(): Fraction(0)} | dict.fromkeys(strings(instance.vocab, instance.depth), Fraction(0))
    for (x,), weight in tuples(instance, 1):
        for length, chance in enumerate(stops_on(target, draft, x)):
            for i in range(length + 1):
                budgets[x[:i]] += weight * chance
    return budgets
