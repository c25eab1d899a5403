"""Antichains of a prefix tree: counting, listing, and the separation oracle (sections 3 and 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..instances.arguments import check_array
from ..instances.trees import PrefixTree, check_tree, maximum
from ..numbers.rationals import Array, fast, fill, is_exact, to_fmpq, to_fraction
from .iid_paths import check_paths, hit_probability

ENTRIES_AT_ONCE = 100_000
"""Slopes times nodes that the separation oracle looks at together."""

FLOAT_NOISE = 1e-14
"""Relative size below which a difference of float sums is rounding."""


@dataclass(frozen=True)
class Antichain:
    """A set of nodes none of which is a prefix of another, with its sums.

    Attributes:
        nodes: node numbers, increasing.
        budget: D(A), the sum of the budgets.
        draft_mass: q(A), the sum of the draft's joint probabilities; None where it was of no use.
        hit: F(A), the probability that what is drafted meets A; None where it was not asked for.
    """

    nodes: tuple[int, ...]
    budget: Any
    draft_mass: Any = None
    hit: Any = None


def count_antichains(tree: PrefixTree) -> int:
    """The number of antichains, the empty one counted: a(z) = 1 + product of a over the children (3.3).

    >>> [count_antichains(PrefixTree.full(2, depth)) for depth in (1, 2, 3, 4)]
    [5, 26, 677, 458330]
    """
    check_tree(tree)
    counts = [1] * len(tree)  # of each node, first the product over its children
    for node in range(len(tree) - 1, -1, -1):
        counts[node] += 1
        if node:
            counts[tree.parent[node]] *= counts[node]
    return counts[0]


def enumerate_antichains(tree: PrefixTree) -> Iterator[tuple[int, ...]]:
    """Every antichain as a tuple of nodes, lazily; the empty one first, the root alone last.

    In depth-first order an antichain is a sequence of nodes each of which comes after the subtree of the one
    before; these sequences are listed in lexicographic order.

    >>> list(enumerate_antichains(PrefixTree.full(2, 1)))
    [(), (1,), (1, 2), (2,), (0,)]
    """
    check_tree(tree)

    def after(node: int) -> int | None:
        """The next node in depth-first order outside the subtree of this one."""
        while node:
            above = int(tree.parent[node])
            if node + 1 < tree.children(above).stop:
                return node + 1
            node = above
        return None

    def following(node: int) -> int | None:
        """The next node in depth-first order."""
        return int(tree.first_child[node]) if tree.child_count[node] else after(node)

    yield ()
    chosen: list[int] = []
    candidate = following(0)
    while candidate is not None or chosen:
        if candidate is None:
            candidate = following(chosen.pop())
        else:
            chosen.append(candidate)
            yield tuple(chosen)
            candidate = after(candidate)
    yield (0,)


def best_antichains(
    tree: PrefixTree, budgets: Array, joint_draft: Array, slopes: Sequence[Any]
) -> list[Antichain]:
    """For each slope the antichain without the root that maximises D(A) - slope * q(A) (section 8).

    Args:
        tree: the prefix tree.
        budgets: array (n,) of node budgets, exact or float.
        joint_draft: array (n,), q(z), of the same kind.
        slopes: prices of draft mass, Fractions or floats.

    Among equally good antichains the one with the shorter strings is taken.
    """
    _check_arrays(tree, budgets, joint_draft)
    exact = is_exact(budgets)
    prices = [to_fmpq(slope) for slope in slopes] if exact else slopes
    found = _best(tree, fast(budgets), fast(joint_draft), prices)
    return [_settle(antichain) for antichain in found] if exact else found


def violated_antichains(
    tree: PrefixTree,
    budgets: Array,
    joint_draft: Array,
    paths: int,
    *,
    tolerance: float = 0.0,
    relative: float = 0.0,
    limit: int | None = None,
) -> list[Antichain]:
    """The separation oracle: antichains with D(A) > f(q(A)); empty if and only if none is violated (8.1).

    The maximisers of D(A) - mu q(A), as mu runs over [0, K], are the vertices of the upper hull of all points
    (q(A), D(A)). They are found by bisection on mu; a stretch of the hull that its end tangents keep below f
    is skipped. In exact arithmetic the answer is exact.

    Args:
        tree: the prefix tree.
        budgets: array (n,) of node budgets, exact or float.
        joint_draft: array (n,), q(z), of the same kind.
        paths: number K of drafted paths.
        tolerance, relative: violation to ignore in floats, in probability and as a share of f(q(A)); exact
            arrays are compared exactly.
        limit: stop after this many violated antichains, spread over the hull; all of them when None.

    Returns:
        The violated hull vertices, from small to large draft mass.
    """
    _check_arrays(tree, budgets, joint_draft)
    check_paths(paths)
    exact = is_exact(budgets)
    values, mass = fast(budgets), fast(joint_draft)

    def violated(found: Antichain) -> bool:
        ceiling = hit_probability(found.draft_mass, paths)
        return bool(found.budget > (ceiling if exact else ceiling * (1 + relative) + tolerance))

    zero: Any = to_fmpq(0) if exact else 0.0
    steepest = zero + paths
    left, right = _best(tree, values, mass, [steepest, zero])
    vertices = [left, right] if left.nodes != right.nodes else [left]
    broken = [v for v in vertices if violated(v)]
    stretches = [(left, steepest, right, zero)]
    while stretches and (limit is None or len(broken) < limit):
        open_stretches = []
        for left, slope_left, right, slope_right in stretches:
            width = right.draft_mass - left.draft_mass
            if width <= 0 or slope_left <= slope_right:
                continue
            if not violated(left) and not violated(right):
                # Where the two tangents meet is the highest that the hull can be between the two vertices.
                meet = (
                    right.budget - left.budget + slope_left * left.draft_mass - slope_right * right.draft_mass
                ) / (slope_left - slope_right)
                height = left.budget + slope_left * (meet - left.draft_mass)
                if height <= hit_probability(meet, paths):
                    continue
            slope = (right.budget - left.budget) / width
            open_stretches.append((left, slope_left, right, slope_right, slope))
        middles = _best(tree, values, mass, [stretch[-1] for stretch in open_stretches])
        stretches = []
        for (left, slope_left, right, slope_right, slope), middle in zip(
            open_stretches, middles, strict=True
        ):
            gain = (middle.budget - left.budget) - slope * (middle.draft_mass - left.draft_mass)
            noise = zero if exact else FLOAT_NOISE * (middle.budget + slope * middle.draft_mass)
            if gain <= noise or not left.draft_mass < middle.draft_mass < right.draft_mass:
                continue
            if violated(middle):
                broken.append(middle)
            stretches += [(left, slope_left, middle, slope), (middle, slope, right, slope_right)]
    found = [
        replace(v, hit=hit_probability(v.draft_mass, paths))
        for v in sorted(broken[:limit], key=lambda v: v.draft_mass)
    ]
    return [_settle(v) for v in found] if exact else found


def _check_arrays(tree: object, budgets: object, joint_draft: object) -> None:
    check_tree(tree)
    check_array("budgets", budgets)
    check_array("joint_draft", joint_draft)


def _best(tree: PrefixTree, values: Array, mass: Array, slopes: Sequence[Any]) -> list[Antichain]:
    """The best antichain of each slope, for `fast` arrays: one pass up the tree for many slopes together."""
    at_once = max(1, ENTRIES_AT_ONCE // len(tree))
    return [
        antichain
        for start in range(0, len(slopes), at_once)
        for antichain in _best_at_once(tree, values, mass, slopes[start : start + at_once])
    ]


def _best_at_once(tree: PrefixTree, values: Array, mass: Array, slopes: Sequence[Any]) -> list[Antichain]:
    exact = is_exact(values)
    prices = fill(list(slopes)) if exact else np.array(slopes, dtype=np.float64)
    best = values - prices[:, None] * mass  # a row for each slope
    best[:, 0] *= 0  # the antichain {root} is never violated and would hide the others
    take = np.zeros(best.shape, dtype=bool)
    for d in range(tree.depth, -1, -1):
        nodes = tree.level(d)
        own = best[:, nodes]
        below = tree.sum_children(best, d) if d < tree.depth else own * 0
        take[:, nodes] = np.asarray((own > 0) & (own >= below), dtype=bool)
        best[:, nodes] = maximum(own, below)
    covered = np.zeros(best.shape, dtype=bool)
    for d in range(1, tree.depth + 1):
        nodes = tree.level(d)
        above = tree.level(d - 1)
        hidden = covered[:, above] | take[:, above]
        covered[:, nodes] = np.take(hidden, tree.parent[nodes] - above.start, axis=1)
    rows, chosen = np.nonzero(take & ~covered)
    ends = np.searchsorted(rows, np.arange(1, len(slopes)))
    zero = to_fmpq(0) if exact else 0.0
    return [
        Antichain(tuple(nodes.tolist()), values[nodes].sum() + zero, mass[nodes].sum() + zero)
        for nodes in np.split(chosen, ends)
    ]


def _settle(found: Antichain) -> Antichain:
    hit = None if found.hit is None else to_fraction(found.hit)
    return Antichain(found.nodes, to_fraction(found.budget), to_fraction(found.draft_mass), hit)


def is_antichain(tree: PrefixTree, nodes: tuple[int, ...]) -> bool:
    """True when the nodes exist, are distinct, and none is a prefix of another."""
    check_tree(tree)
    if not all(0 <= node < len(tree) for node in nodes) or len(set(nodes)) != len(nodes):
        return False
    return minimal_nodes(tree, set(nodes)) == sorted(nodes)


def minimal_nodes(tree: PrefixTree, nodes: set[int]) -> list[int]:
    """Those of a set of nodes that have none of the set above them, increasing."""
    found = []
    for node in sorted(nodes):
        above = int(tree.parent[node])
        while above >= 0 and above not in nodes:
            above = int(tree.parent[above])
        if above < 0:
            found.append(node)
    return found
