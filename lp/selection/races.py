"""Races: which drafted child of a node goes on, by the scores of what was drafted below the children (section 16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..drafting.grown import GrownTree
from ..drafting.power_sums import power_sum
from ..drafting.replacement import DrawnWithReplacement
from ..drafting.supports import Support
from ..numbers.rationals import Array, float_array

LEVELS = 32
"""Levels of a score, each equally likely."""


class Draws(NamedTuple):
    """What is drawn at a node, and how finely scores are told apart.

    Attributes:
        drafting: by which law.
        below: the tokens that can be drawn with the draft's probabilities.
        number: how many are drawn.
        levels: M.
    """

    drafting: GrownTree
    below: Support
    number: int
    levels: int

    def in_floats(self) -> Draws:
        """The same with probabilities in floats."""
        shares = tuple(float_array(np.array(self.below.shares)).tolist())
        return self._replace(below=Support(self.below.tokens, shares, self.below.children))

    @property
    def one(self) -> Any:
        """A one of the kind of the probabilities."""
        return self.below.shares[0] * 0 + 1


@dataclass(frozen=True)
class Race:
    """An order of the pairs (token, level of the child's score) at a node, and what follows from it.

    For the m tokens that can be drawn and M levels; pairs are (m, M).

    Attributes:
        rank: int array (m, M), the place of each pair in the order, 0 the highest.
        length: (m, M), how often the pair is the best drafted one.
        level: (m, M, M), the law of the node's level, given that the pair is.
    """

    rank: Array
    length: Array
    level: Array

    def below(self, masses: Array) -> Array:
        """(m, M): the mass of "the child is on the picked path, with this level", from the node's own (M,)."""
        return self.length * np.dot(self.level, masses * len(masses))


Rule = Callable[[Draws, Array, Array], Array]
"""A rule at a node: from what is drawn, in floats, the demand (m,) and the masses (M,) to the order for `race`."""


def fresh_levels(one: Any, levels: int) -> Array:
    """(M,), of the kind of a one: how likely a fresh score has each level; at the root they are the masses."""
    return np.array([one / levels] * levels)


def run(rule: Rule, draws: Draws, wanted: Array, masses: Array) -> Race:
    """The race at a node by a rule; the numbers are rationals or floats, and the rule is shown floats."""
    return race(rule(draws.in_floats(), float_array(wanted), float_array(masses)), draws)


def race(order: Array, draws: Draws) -> Race:
    """What follows from an order of pairs at a node (statement 16.2).

    Args:
        order: int array (m M,), the pairs, highest first, each as place of the token times M plus level.
        draws: what is drawn at the node, in rationals or floats.
    """
    shape = (len(draws.below.tokens), draws.levels)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    low, length = (part[rank].reshape(shape) for part in steps(order, draws))
    return Race(rank.reshape(shape), length, _levels(low, length))


def steps(order: Array, draws: Draws) -> tuple[Array, Array]:
    """(m M,) twice: for each pair, highest first, how often the best drafted one is lower, and how often it is this."""
    drafting, below, count, *_ = draws
    token, shares = order // draws.levels, np.array(below.shares)
    zero = shares[:1] * 0
    part = (zero + 1) / draws.levels
    if isinstance(drafting, DrawnWithReplacement):
        # Sums of what is below, so that no difference is taken.
        parts = shares[token] * part
        lower = np.concatenate([parts[::-1].cumsum()[::-1], zero])
        return lower[1:] ** count, parts * power_sum(count, lower[:-1], lower[1:])
    taken = [
        np.concatenate([zero, np.where(token == place, part, zero).cumsum()]) for place in range(len(shares))
    ]
    lower = 1 - drafting.hit_at(below, count, taken)
    return lower[1:], lower[:-1] - lower[1:]


def _levels(low: Array, length: Array) -> Array:
    """(m, M, M): how a uniform number in [low, low + length) is spread over the M levels; intervals (m, M)."""
    M = low.shape[1]
    one = low[0, 0] * 0 + 1
    ends = np.array([one * j / M for j in range(M + 1)])
    upper = np.minimum((low + length)[:, :, None], ends[None, None, 1:])
    parts = np.maximum(upper - np.maximum(low[:, :, None], ends[None, None, :-1]), one * 0)
    total = parts.sum(axis=2)[:, :, None]
    # An interval too short for floats is in one level all the same.
    at = np.minimum((float_array(low) * M).astype(np.int64), M - 1)
    alone = (at[:, :, None] == np.arange(M)) * one
    lost = np.asarray(total == 0, dtype=bool)
    return np.where(lost, alone, parts / np.where(lost, one, total))
