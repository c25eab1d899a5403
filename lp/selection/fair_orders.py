"""The fair race: cells of tokens by demand over supply, and weights inside a cell (statement 16.3)."""

from __future__ import annotations

import itertools
from functools import cache, lru_cache

import numpy as np

from ..drafting.distinct import LikeliestAndSample
from ..drafting.replacement import DrawnWithReplacement
from ..numbers.rationals import Array
from .races import Draws, compiled, steps

ROUNDS = 16
"""Most rounds of the search for fair weights."""

PATIENCE = 5
"""So many rounds without gain end the search."""

GRID = 256
"""Weights are powers of two with an exponent that is a whole number over this."""

LEAST = -30.0
"""The smallest exponent of a weight."""

CLIP = 2.0
"""Most that an exponent is moved in a round."""

LOST = 2.0**-20
"""A share of the masses that does not matter: weights are not moved for the sake of less."""

MARGIN = 2.0**-13
"""By how much, relatively, slopes and sums have to differ to count as different.

What is decided at a node may not hang on the last bits of its numbers.
"""

POWERS = np.exp2(np.arange(int(-LEAST) * GRID + 1) / GRID)
"""2^(j / GRID): what the logarithm of a score is multiplied by for a weight of 2^(-j / GRID)."""

LIMITS = np.array([ROUNDS, GRID, LEAST, CLIP, LOST, MARGIN, PATIENCE])


def fair_order(draws: Draws, wanted: Array, masses: Array) -> Array:
    """int array (m M,): the pairs at a node in the order of the fair race, for `race`.

    Args:
        draws: what is drawn at the node, in floats.
        wanted: (m,), the demand for each token that can be drawn, in units of the masses.
        masses: (M,), of "the node is on the picked path, with this level".
    """
    return _found(draws, wanted.tobytes(), masses.tobytes())


@lru_cache(maxsize=4096)
def _found(draws: Draws, *numbers: bytes) -> Array:
    """`fair_order`, remembered: audits come to the same node again and again."""
    wanted, masses = map(np.frombuffer, numbers)
    cell, mass = _cells(draws, wanted, masses)
    total = np.bincount(cell, wanted)
    goal = wanted * (mass / np.where(total > 0, total, 1.0))[cell]
    # From twice what the goal is above the draft: the search has little left to do.
    exponent = _below_top(2 * np.log2((goal + LOST) / (np.array(draws.below.shares) + LOST)), cell)
    if compiled() is not None and isinstance(draws.drafting, DrawnWithReplacement):
        arrays = np.array(draws.below.shares), wanted, masses, cell, goal, exponent
        order: Array = compiled().search(*arrays, draws.number, _scores(len(masses)), POWERS, LIMITS)
        return order
    return _search(draws, wanted, masses, cell, goal, exponent)


def _search(draws: Draws, wanted: Array, masses: Array, cell: Array, goal: Array, exponent: Array) -> Array:
    """The best order that the rounds come to; `fair_search.search` is the same, compiled."""
    best, waited = -1.0, 0
    for _ in range(ROUNDS):
        order = _order(len(masses), cell, exponent)
        lower, _ = steps(order, draws)
        won = np.diff(_top_mass(masses, lower), prepend=0.0)
        reached = np.bincount(order // draws.levels, won, minlength=len(wanted))
        value = np.minimum(reached, wanted).sum()
        waited += 1
        if value > best + MARGIN:
            best, waited, kept = value, 0, order
        if cell.max() + 1 == len(wanted) or waited > PATIENCE:
            break  # no cell has a choice, or nothing is gained any more
        step = np.log2((goal + LOST) / (reached + LOST))
        exponent = _below_top(exponent + np.clip(step, -CLIP, CLIP), cell)
    return kept


def _below_top(exponent: Array, cell: Array) -> Array:
    """Exponents less the largest of their cell, none below `LEAST`."""
    top = np.full(cell.max() + 1, -np.inf)
    np.maximum.at(top, cell, exponent)
    found: Array = np.maximum(exponent - top[cell], LEAST)
    return found


def _cells(draws: Draws, wanted: Array, masses: Array) -> tuple[Array, Array]:
    """int (m,), the cell of each token, 0 the highest; and the mass that each cell gets, (cells,).

    The lower convex hull of the points (demand, coverage) of the top sets in the order by demand over draft; tokens
    that are drawn for sure are the last ones.
    """
    drafting, below, count, *_ = draws
    m = len(wanted)
    sure = np.arange(m) < (count - 1 if isinstance(drafting, LikeliestAndSample) else 0)
    order = np.lexsort((np.arange(m), -wanted / np.array(below.shares), sure))
    demand = np.concatenate([[0.0], wanted[order].cumsum()])
    place = np.empty(m, dtype=np.int64)
    place[order] = np.arange(m)
    on_top = (np.arange(m + 1)[None, :] > place[:, None]).astype(float)
    coverage = _top_mass(masses, 1 - np.asarray(draws.hit(on_top)))
    corners = [0]
    for j in range(1, m + 1):
        while len(corners) > 1 and not _rises(demand, coverage, corners[-2], corners[-1], j):
            corners.pop()
        corners.append(j)
    cell = np.empty(m, dtype=np.int64)
    for number, (start, stop) in enumerate(itertools.pairwise(corners)):
        cell[order[start:stop]] = number
    return cell, np.diff(coverage[corners])


def _rises(x: Array, y: Array, first: int, middle: int, last: int) -> bool:
    """Whether the slope after a corner is above that before it."""
    before = (y[middle] - y[first]) * (x[last] - x[middle])
    after = (y[last] - y[middle]) * (x[middle] - x[first])
    return bool(before < after * (1 - MARGIN))


def _top_mass(masses: Array, score: Array) -> Array:
    """The masses of the levels of a node above certain scores."""
    lower = np.concatenate([[0.0], masses.cumsum()])
    return lower[-1] - np.interp(score * len(masses), np.arange(len(lower)), lower)


def _order(levels: int, cell: Array, exponent: Array) -> Array:
    """The pairs by cell, and inside a cell by score^(1 / weight), largest first; equal ones by token."""
    power = POWERS[np.rint(-exponent * GRID).astype(np.int64)]
    key = _scores(levels)[None, :] * power[:, None]
    token = np.repeat(np.arange(len(cell)), levels)
    return np.lexsort((token, -key.ravel(), cell[token]))


@cache
def _scores(levels: int) -> Array:
    """(M,): the logarithm of what each level counts as, level i as (i + 1/2) / M."""
    found: Array = np.log((np.arange(levels) + 0.5) / levels)
    return found
