"""Antichains of a prefix tree: counting, listing, and the separation oracle (sections 3 and 8)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .rationals import Array, fast, is_exact, to_fmpq, to_fraction
from .trees import PrefixTree, maximum

FLOAT_NOISE = 1e-14
"""Relative size below which a difference of float sums is rounding."""


@dataclass(frozen=True)
class Antichain:
    """A set of nodes none of which is a prefix of another, with its sums.

    Attributes:
        nodes: node numbers, increasing.
        budget: D(A), the sum of the budgets.
        draft_mass: q(A), the sum of the draft's joint probabilities.
    """

    nodes: tuple[int, ...]
    budget: Any
    draft_mass: Any


def hit_probability(draft_mass: Any, paths: int) -> Any:
    """f(t) = 1 - (1 - t)^K: the probability that one of K i.i.d. paths passes a set of mass t.

    Exact for rationals; accurate for small and large t in floats. Masses above one (float rounding) count
    as one.
    """
    if isinstance(draft_mass, float | np.floating):
        if draft_mass >= 1:
            return 1.0
        return float(-np.expm1(paths * np.log1p(-draft_mass)))
    return 1 - (1 - draft_mass) ** paths


PATHS_LIMIT = 10_000
"""Most drafted paths: f(t) = 1 - (1 - t)^K is a power in rationals."""


def check_paths(paths: int) -> None:
    """Raise ValueError unless the number of drafted paths is an integer from 1 to `PATHS_LIMIT`."""
    if isinstance(paths, bool) or not isinstance(paths, int) or paths < 1:
        raise ValueError(f"paths: got {paths!r}; expected an integer of at least 1")
    if paths > PATHS_LIMIT:
        raise ValueError(f"paths: got {paths}; expected at most {PATHS_LIMIT}")


def count_antichains(tree: PrefixTree) -> int:
    """The number of antichains, the empty one counted: a(z) = 1 + product of a over the children (3.3).

    >>> [count_antichains(PrefixTree.full(2, depth)) for depth in (1, 2, 3, 4)]
    [5, 26, 677, 458330]
    """
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


def best_antichain(tree: PrefixTree, budgets: Array, joint_draft: Array, slope: Any) -> Antichain:
    """The antichain without the root that maximises D(A) - slope * q(A), in one pass up the tree (section 8).

    Args:
        tree: the prefix tree.
        budgets: array (n,) of node budgets, exact or float.
        joint_draft: array (n,), q(z), of the same kind.
        slope: the price of draft mass, a Fraction or a float.

    Among equally good antichains the one with the shorter strings is taken.
    """
    if is_exact(budgets):
        slope = to_fmpq(slope)
    found = _best(tree, fast(budgets), fast(joint_draft), slope)
    return _settle(found) if is_exact(budgets) else found


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
    check_paths(paths)
    exact = is_exact(budgets)
    values, mass = fast(budgets), fast(joint_draft)

    def violated(found: Antichain) -> bool:
        ceiling = hit_probability(found.draft_mass, paths)
        return bool(found.budget > (ceiling if exact else ceiling * (1 + relative) + tolerance))

    zero: Any = to_fmpq(0) if exact else 0.0
    steepest = zero + paths
    left, right = _best(tree, values, mass, steepest), _best(tree, values, mass, zero)
    vertices = [left, right] if left.nodes != right.nodes else [left]
    broken = [v for v in vertices if violated(v)]
    stretches = deque([(left, steepest, right, zero)])
    while stretches and (limit is None or len(broken) < limit):
        left, slope_left, right, slope_right = stretches.popleft()
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
        middle = _best(tree, values, mass, slope)
        gain = (middle.budget - left.budget) - slope * (middle.draft_mass - left.draft_mass)
        noise = zero if exact else FLOAT_NOISE * (middle.budget + slope * middle.draft_mass)
        if gain <= noise or not left.draft_mass < middle.draft_mass < right.draft_mass:
            continue
        if violated(middle):
            broken.append(middle)
        stretches += [(left, slope_left, middle, slope), (middle, slope, right, slope_right)]
    found = sorted(broken[:limit], key=lambda v: v.draft_mass)
    return [_settle(v) for v in found] if exact else found


def _best(tree: PrefixTree, values: Array, mass: Array, slope: Any) -> Antichain:
    own = values - slope * mass
    own[0] = own[0] * 0  # the antichain {root} is never violated and would hide the others
    take = np.zeros(len(tree), dtype=bool)
    best = own.copy()
    for d in range(tree.depth, -1, -1):
        nodes = tree.level(d)
        if nodes.start == nodes.stop:
            continue
        below = tree.sum_children(best, d) if d < tree.depth else own[nodes] * 0
        take[nodes] = np.asarray((own[nodes] > 0) & (own[nodes] >= below), dtype=bool)
        best[nodes] = maximum(own[nodes], below)
    covered = np.zeros(len(tree), dtype=bool)
    for d in range(1, tree.depth + 1):
        nodes = tree.level(d)
        above = tree.parent[nodes]
        covered[nodes] = covered[above] | take[above]
    chosen = np.flatnonzero(take & ~covered)
    zero = slope * 0
    return Antichain(
        tuple(chosen.tolist()), sum(values[chosen].tolist(), zero), sum(mass[chosen].tolist(), zero)
    )


def _settle(found: Antichain) -> Antichain:
    return Antichain(found.nodes, to_fraction(found.budget), to_fraction(found.draft_mass))


def is_antichain(tree: PrefixTree, nodes: tuple[int, ...]) -> bool:
    """True when the nodes exist, are distinct, and none is a prefix of another."""
    if not all(0 <= node < len(tree) for node in nodes) or len(set(nodes)) != len(nodes):
        return False
    inside = set(nodes)
    for node in nodes:
        above = int(tree.parent[node])
        while above >= 0:
            if above in inside:
                return False
            above = int(tree.parent[above])
    return True
