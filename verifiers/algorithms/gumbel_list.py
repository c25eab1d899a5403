"""Gumbel-list sampling: drafts and target read one set of exponential clocks; its law given what was drafted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from nodebudget.lp import Instance
from nodebudget.lp.numbers.rationals import Array as Rows
from nodebudget.lp.numbers.rationals import fast, settled

from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Verifier

Number = Any
"""A rational or a float."""

Exponentials = dict[Number, Number]
"""A function of t >= 0: the sum of c e^(-r t) over its entries r: c."""

TERMS_LIMIT = 100_000
"""Most exponentials that are multiplied out at a node: the vocabulary to the number of paths."""


def law(tree: DraftTree) -> AcceptanceLaw:
    """Pr[Z, Y] given the paths, for K drafts and a target that read the same clocks.

    At a node that n paths pass, E_{k,y} are independent exponential clocks for k = 1 .. n and each token y. Draft k
    goes on with the token of the smallest E_{k,y} / q(y), the target with that of the smallest min_k E_{k,y} / p(y).
    The drafts that have the target's token stay, and the walk goes on with them and fresh clocks; it stops where none
    has it, and at the end of the paths. Lossless, as all n p(y) are rates of independent clocks.

    The clocks are not decided by what was drafted; this is the law of (Z, Y) with the clocks averaged out given the
    drafted paths, which are K i.i.d. paths. So it is a verifier like all others, bounded by OPT_K. It is not lossless
    *given* the paths, since they tell of the clocks, and may accept more than naive sampling does (13.4). All
    probabilities are integrals of sums of exponentials, rational where the rows are.

    Raises ValueError where the vocabulary to the number of paths is more than can be multiplied out.

    Reference: arXiv:2506.05632; statement 10.1.
    """
    tree = tree.in_memory()
    nodes, arrays = tree.of_paths, tree.arrays
    _check_terms(tree.vocab, nodes.paths)
    target, draft = (rows.tolist() for rows in tree.working_rows())
    joint, reach = arrays.zeros(len(nodes), tree.vocab), arrays.split(arrays.zeros(len(nodes)))
    reach[0] = arrays.one
    for node in range(len(nodes)):
        if node >= nodes.inner:
            emitted = target[node]
        elif reach[node]:
            drawn = [int(nodes.token[child]) for child in nodes.drawn[node]]
            emitted = given(target[node], draft[node], drawn)
            for child in nodes.children[node]:
                reach[child], emitted[nodes.token[child]] = (
                    reach[node] * emitted[nodes.token[child]],
                    arrays.zero,
                )
        else:
            continue
        for y, mass in enumerate(emitted):
            joint[node, y] = reach[node] * mass
    return AcceptanceLaw.from_joint(tree, joint)


def given(p: Sequence[Number], q: Sequence[Number], drawn: Sequence[int]) -> list[Number]:
    """(V,): the law of the target's token at a node, given the tokens that the drafts go on with there.

    With t = the smallest min_k E_{k,y} / p(y), reached by y at k = j, of rate n p(y): clock E_{j,y} is p(y) t, and all
    others are more than t times their own rate. Given t the drafts are independent.
    """
    others = [_product(_race(p, q, x) for x in [*drawn[:j], *drawn[j + 1 :]]) for j in range(len(drawn))]
    chance = math.prod((q[x] for x in drawn[1:]), start=q[drawn[0]])
    out = []
    for y, wanted in enumerate(p):
        ways = (
            _area(_product([other, _won(p, q, x, y)]), len(drawn))
            for x, other in zip(drawn, others, strict=True)
        )
        out.append(wanted * sum(ways, wanted * 0) / chance if wanted else wanted)
    return out


def matches(p: Sequence[Number], q: Sequence[Number], paths: int) -> list[list[Number]]:
    """From a token y and m = 0 .. n to the probability that the target goes on with y and m of n drafts do.

    For n = 1, the chance of a match is the sum over y of 1 / sum over x of max(p(x) / p(y), q(x) / q(y)).
    """
    _check_terms(len(p), paths)
    out = []
    for y, wanted in enumerate(p):
        zero = wanted * 0
        if not (wanted and q[y]):
            out.append([wanted] + [zero] * paths)
            continue
        one = {zero: zero + 1}
        hit, own = _race(p, q, y), _won(p, q, y, y)
        miss, other = _sum(one, hit, -1), _sum(one, own, -1)
        row = []
        for m in range(paths + 1):
            total = zero
            for won, rest in ((own, m - 1), (other, m)):
                if 0 <= rest <= paths - 1:
                    factors = [won, *[hit] * rest, *[miss] * (paths - 1 - rest)]
                    total += math.comb(paths - 1, rest) * _area(_product(factors), paths)
            row.append(wanted * paths * total)
        out.append(row)
    return out


def budgets(instance: Instance, paths: int) -> Rows | None:
    """array (n,): Pr[z is a prefix of Z], by the number of drafts that are left.

    None for a sparse instance, and where that is too large.
    """
    tree = instance.tree
    if tree.vocab**paths > TERMS_LIMIT or len(tree.leaves) != tree.vocab**tree.depth:
        return None
    target, draft = fast(instance.target), fast(instance.draft)
    zero = target[0] * 0
    left = {0: {paths: zero + 1}}
    out = np.full(len(tree), zero)
    out[0] = zero + 1
    for node in range(tree.leaves.start):
        children = list(tree.children(node))
        p, q = ([rows[c] for c in children] for rows in (target, draft))
        for count, chance in left.get(node, {}).items():
            for child, row in zip(children, matches(p, q, count), strict=True):
                for m in range(1, count + 1):
                    known = left.setdefault(child, {})
                    known[m] = known.get(m, zero) + chance * row[m]
                    out[child] += chance * row[m]
    return settled(out)


def _race(p: Sequence[Number], q: Sequence[Number], x: int, upto: Number | None = None) -> Exponentials:
    """Pr[E_x / q(x) is smallest | all E_z > p(z) t], where E_x < t upto, as a function of t.

    The integral over s > p(x) t of e^-(s - p(x) t) times e^-(q(z) s / q(x) - p(z) t) for each other z with a positive
    exponent: between the points s = t v at which another one becomes positive the integrand is an exponential.
    """
    at = sorted((p[z] * q[x] / q[z], z) for z in range(len(p)) if z != x and q[z])
    rate, shift = q[x] / q[x], p[x]
    out: Exponentials = {}

    def add(r: Number, c: Number) -> None:
        out[r] = out.get(r, 0) + c

    point = p[x]
    for v, z in [*at, (upto, None)]:
        if upto is not None and (z is None or v > upto):
            v, z = upto, None
        if z is None and v is None:
            add(rate * point - shift, 1 / rate)
        elif v > point:
            add(rate * point - shift, 1 / rate)
            add(rate * v - shift, -1 / rate)
            point = v
        if z is None:
            break
        rate, shift = rate + q[z] / q[x], shift + p[z]
    return out


def _won(p: Sequence[Number], q: Sequence[Number], x: int, y: int) -> Exponentials:
    """Pr[draft j goes on with x | E_{j,y} = p(y) t, all other E_{j,z} > p(z) t], as a function of t."""
    if x != y:
        return _race(p, q, x, p[y] * q[x] / q[y] if q[y] else None)
    excess = (q[z] * p[y] / q[y] - p[z] for z in range(len(p)) if z != y)
    return {sum((value for value in excess if value > 0), p[y] * 0): p[y] / p[y]}


def _product(factors: Iterator[Exponentials] | Sequence[Exponentials]) -> Exponentials:
    out: Exponentials = {0: 1}
    for factor in factors:
        found: Exponentials = {}
        for r, c in out.items():
            for s, d in factor.items():
                found[r + s] = found.get(r + s, 0) + c * d
        out = found
    return out


def _sum(first: Exponentials, second: Exponentials, times: int) -> Exponentials:
    out = dict(first)
    for r, c in second.items():
        out[r] = out.get(r, 0) + times * c
    return out


def _area(values: Exponentials, rate: int) -> Number:
    """The integral of e^(-rate t) times the function."""
    return sum(c / (r + rate) for r, c in values.items())


def _check_terms(vocab: int, paths: int) -> None:
    if vocab**paths > TERMS_LIMIT:
        raise ValueError(
            f"gumbel-list: got {paths} paths over {vocab} tokens; expected fewer, so that {vocab}^{paths} is at most "
            f"{TERMS_LIMIT}"
        )


VERIFIER = Verifier(
    "gumbel-list",
    law,
    multipath=True,
    reference="arXiv:2506.05632; statement 10.1",
    ordered=False,
    one_pass=budgets,
)
