"""Prices of subtrees, and the antichains of the whole tree that a dual solution in prices stands for (13.7)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..drafting.iid_paths import hit_probability
from ..numbers.rationals import Array

NO_WEIGHT = 1e-15


@dataclass(eq=False)
class Price:
    """M(z, s): a node with the price of a hit there; `variable` is its number, None for the root, where M = 0.

    `rank` is its place among the prices of its node. `cuts` are antichains with their hits and the numbers of their
    rows.
    """

    node: int
    price: float
    variable: int | None
    rank: int
    splits: list[Split] = field(default_factory=list)
    cuts: dict[tuple[int, ...], tuple[float, int]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Split:
    """A slope at a node with so many draws: the prices of the children, s f*(mu), and the number of its row."""

    slope: float
    draws: int
    below: list[Price]
    bound: float
    row: int


def mixture(price: Price, duals: Array, draft: Array) -> list[tuple[tuple[int, ...], float, float]]:
    """Antichains at and below a node with their hits and multipliers.

    The rows of a split have multipliers of antichains below each child. They are put together by rank, likeliest
    with likeliest: f being concave, no other way has a smaller sum of multipliers times f.
    """
    found = [(nodes, hit, float(duals[row])) for nodes, (hit, row) in price.cuts.items()]
    found = [entry for entry in found if entry[2] > NO_WEIGHT]
    for split in price.splits:
        if duals[split.row] <= NO_WEIGHT:
            continue
        waiting = []
        for below in split.below:
            parts = sorted(mixture(below, duals, draft), key=lambda entry: entry[1])
            if parts:
                waiting.append((float(draft[below.node]), parts))
        while waiting:
            weight = min(parts[-1][2] for _, parts in waiting)
            nodes = tuple(sorted(z for _, parts in waiting for z in parts[-1][0]))
            mass = sum(share * parts[-1][1] for share, parts in waiting)
            found.append((nodes, hit_probability(mass, split.draws), weight))
            for _, parts in waiting:
                last = parts.pop()
                if last[2] - weight > NO_WEIGHT:
                    parts.append((last[0], last[1], last[2] - weight))
            waiting = [entry for entry in waiting if entry[1]]
    return found
