"""Bounds on OPT_K proved in rationals at any size, from float solutions (statements 8.2, 9.1 and 9.2).

Floats are rounded to integer multiples of a power of two, outwards wherever it matters; from there on everything is
integer arithmetic. Nothing depends on how the floats were found: bad ones give weak bounds, never wrong ones.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from ..drafting.iid_paths import check_paths
from ..instances.instance import Instance
from ..instances.trees import PrefixTree
from ..numbers.rationals import Array, fill

BITS = 50
"""Weights, prices and masses of the upper bound are multiples of 2^-50."""

BUDGET_BITS = 46
SLOPE_BITS = 16
"""Budgets and masses of the lower bound are multiples of 2^-46, slopes of K 2^-16: products fit into 63 bits."""

SLOPES = 2000
"""Most slopes tried for the lower bound."""

FINE_BITS = 150
"""For probabilities of the lower bound."""

LARGEST = 2**16
"""Largest weight."""

EXCESS = 1e-10
"""Excess over f, as a share, at which no more slopes are tried."""


def proven_upper_bound(
    instance: Instance, paths: int, weights: Array, ratios: Array | None = None
) -> Fraction:
    """An upper bound on OPT_K for any nonnegative weights of nodes (statement 9.1).

    Args:
        instance: an exact instance.
        paths: number K of drafted paths.
        weights: float array (n,), w(z) >= 0: what the antichains through z weigh together in a dual solution.
            The entry of the root is ignored.
        ratios: float array (n,) or None: for the leaves, m >= 0, the multiplier of the statement that siblings
            on the last level may be taken as monotone (statement 8.2): D/q of a leaf is at most D/q of the
            sibling with the next better ratio p/q. A best sibling has none before it: its entry is ignored.

    Raises ValueError for a float instance, paths < 1, a wrong shape, or numbers that are not in 0 .. 2^16.
    """
    check_paths(paths)
    tree, unit = instance.tree, 1 << BITS
    if not instance.exact:
        raise ValueError("a proven bound needs an exact instance; take Instance.to_exact()")
    own = fill([unit - w for w in _integers(tree, "weights", weights, BITS)])
    if ratios is not None:
        own -= _ratio_coefficients(instance, ratios)
    drafted = np.asarray(instance.joint_draft > 0, dtype=bool)
    target = fill([_ceiling(p, BITS) for p in instance.target])
    nothing = fill([0] * len(tree))
    prices = nothing.copy()
    for d in range(tree.depth, 0, -1):
        nodes = tree.level(d)
        paid = own[nodes]
        if d < tree.depth:
            next_level = tree.level(d + 1)
            passed = nothing.copy()
            passed[next_level] = -((-target[next_level] * prices[next_level]) // unit)
            paid = paid + tree.sum_children(passed, d)
        prices[nodes] = np.where(drafted[nodes] & np.asarray(paid > 0, dtype=bool), paid, 0)
    first = tree.level(1)
    root = sum((target[first] * prices[first]).tolist())
    return Fraction(root + _chain_integral(instance, paths, weights), unit * unit)


def _chain_integral(instance: Instance, paths: int, weights: Array) -> int:
    """The integral of f(q(A_t)) over t, rounded up, in units of 4^-BITS."""
    tree, unit = instance.tree, 1 << BITS
    above = [0] * len(tree)
    steps = _integers(tree, "weights", weights, BITS)
    events: list[tuple[int, int]] = []
    for node in range(1, len(tree)):
        start = above[tree.parent[node]]
        above[node] = start + steps[node]
        if steps[node]:
            mass = _ceiling(instance.joint_draft[node], BITS)
            events += [(start, mass), (above[node], -mass)]
    total = mass = 0
    events.sort()
    for (here, change), (there, _) in pairwise([*events, (events[-1][0] if events else 0, 0)]):
        mass += change
        if there > here:
            total += (there - here) * (unit - _power(max(0, unit - mass), paths))
    return total


def _power(base: int, exponent: int) -> int:
    """(base / 2^BITS)^exponent in units of 2^-BITS, rounded down."""
    out = 1 << BITS
    while exponent:
        if exponent & 1:
            out = (out * base) >> BITS
        base = (base * base) >> BITS
        exponent >>= 1
    return out


def _ratio_coefficients(instance: Instance, ratios: Array) -> Array:
    """g(y) for each leaf, rounded down, in units of 2^-BITS; 0 above the last level."""
    tree, leaves = instance.tree, np.arange(instance.tree.leaves.start, len(instance.tree))
    whole = _integers(tree, "ratios", ratios, 2 * BITS)
    out = fill([0] * len(tree))
    by_family: dict[int, list[int]] = {}
    for leaf in leaves.tolist():
        if instance.draft[leaf] > 0:
            by_family.setdefault(int(tree.parent[leaf]), []).append(leaf)
    for family in by_family.values():
        if not any(whole[leaf] for leaf in family):
            continue
        family.sort(key=lambda leaf: (-instance.target[leaf] / instance.draft[leaf], leaf))
        whole[family[0]] = 0
        multipliers = [whole[leaf] for leaf in family] + [0]
        for leaf, (own, later) in zip(family, pairwise(multipliers), strict=True):
            difference = own - later
            draft = instance.draft[leaf]
            out[leaf] = (difference * draft.denominator // draft.numerator) >> BITS
    return out


def proven_lower_bound(instance: Instance, paths: int, budgets: Array) -> Fraction:
    """A lower bound on OPT_K: what these budgets are worth after they have been made feasible (statement 9.2).

    The budgets are rounded down to multiples of 2^-46 that are target-matching. For finitely many slopes mu the best
    antichain then gives D(A) <= h(mu) + mu q(A) for all A; the budgets divided by the largest excess of the
    least of these lines over f are feasible. Slopes are added where the excess is largest.

    Args:
        instance: an exact instance.
        paths: number K of drafted paths.
        budgets: float array (n,).

    Raises ValueError for a float instance, paths < 1, a wrong shape, or negative budgets.
    """
    check_paths(paths)
    tree = instance.tree
    if not instance.exact:
        raise ValueError("a proven bound needs an exact instance; take Instance.to_exact()")
    slope_bits = SLOPE_BITS - (paths - 1).bit_length()
    if slope_bits < 0:
        return Fraction(0)
    mass = np.array([_floor(q, BUDGET_BITS) for q in instance.joint_draft], dtype=np.int64)
    values = _target_matching_integers(instance, budgets, paths * mass)
    heights: dict[int, int] = {}

    def excess(left: int, right: int) -> tuple[Fraction, int, int]:
        """Where the lines of two slopes meet: the height there over f."""
        for slope in (left, right):
            if slope not in heights:
                heights[slope] = _best_value(tree, (values << slope_bits) - slope * mass)
        meet = Fraction(heights[left] - heights[right], (right - left) << BUDGET_BITS)
        meet = min(meet, Fraction(1))
        if meet <= 0:
            return Fraction(1), left, right
        height = (
            Fraction(heights[left], 1 << (BUDGET_BITS + slope_bits)) + Fraction(left, 1 << slope_bits) * meet
        )
        base = _ceiling(1 - meet, FINE_BITS)
        hit = Fraction((1 << FINE_BITS) - _power_above(base, paths), 1 << FINE_BITS)
        return height / hit, left, right

    steepest = paths << slope_bits
    gaps = [excess(0, steepest)]
    done: list[Fraction] = []
    while gaps and len(heights) < SLOPES:
        worst, left, right = max(gaps)
        if worst <= 1 + EXCESS:
            break
        gaps.remove((worst, left, right))
        middle = (left + right) // 2
        if middle == left:
            done.append(worst)
            continue
        gaps += [excess(left, middle), excess(middle, right)]
    scale = max([Fraction(1), *done, *(gap[0] for gap in gaps)])
    total = int(values[1:].sum(dtype=object)) if len(tree) > 1 else 0
    return Fraction(total, 1 << BUDGET_BITS) / scale


def _best_value(tree: PrefixTree, own: Array) -> int:
    """The largest sum of `own` over an antichain without the root; int64."""
    best = np.maximum(own, 0)
    for d in range(tree.depth - 1, -1, -1):
        nodes = tree.level(d)
        below = tree.sum_children(best, d)
        best[nodes] = np.maximum(best[nodes], below) if d else below
    return int(best[0])


def _target_matching_integers(instance: Instance, budgets: Array, ceiling: Array) -> Array:
    """int64 array (n,): budgets in units of 2^-46, rounded down, with D(zy) <= p(y|z) D(z) and the ceilings."""
    tree, unit = instance.tree, 1 << BUDGET_BITS
    out = np.minimum(np.array(_integers(tree, "budgets", budgets, BUDGET_BITS), dtype=np.int64), ceiling)
    out[0] = unit
    share = fill([_floor(p, FINE_BITS) for p in instance.target])
    for d in range(1, tree.depth + 1):
        nodes = tree.level(d)
        allowed = (share[nodes] * out[tree.parent[nodes]].astype(object)) >> FINE_BITS
        out[nodes] = np.minimum(out[nodes], allowed.astype(np.int64))
    return out


def _integers(tree: PrefixTree, name: str, numbers: Array, bits: int) -> list[int]:
    """The numbers in units of 2^-bits, rounded down; 0 at the root. ValueError for what is no such number."""
    if numbers.shape != (len(tree),):
        raise ValueError(f"{name}: got shape {numbers.shape}; expected one number per node, {len(tree)}")
    wrong = np.flatnonzero(~((numbers[1:] >= 0) & (numbers[1:] <= LARGEST)))
    if len(wrong):
        raise ValueError(f"{name}: got {numbers[1 + wrong[0]]}; expected numbers from 0 to {LARGEST}")
    return [0, *(int(number * 2.0**bits) for number in numbers[1:].tolist())]


def _floor(value: Fraction, bits: int) -> int:
    return int((value.numerator << bits) // value.denominator)


def _ceiling(value: Fraction, bits: int) -> int:
    return -int((-value.numerator << bits) // value.denominator)


def _power_above(base: int, exponent: int) -> int:
    """(base / 2^FINE_BITS)^exponent in units of 2^-FINE_BITS, rounded up."""
    out = 1 << FINE_BITS
    while exponent:
        if exponent & 1:
            out = -((-out * base) >> FINE_BITS)
        base = -((-base * base) >> FINE_BITS)
        exponent >>= 1
    return out
