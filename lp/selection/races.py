"""Races: which drafted child of a node goes on, by the scores of what was drafted below the children (section 16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..drafting.grown import GrownTree
from ..drafting.power_sums import power_sum
from ..drafting.replacement import DrawnWithReplacement
from ..drafting.supports import Support
from ..numbers.rationals import Array, float_array, is_exact

LEVELS = 32
"""Levels of a score, each equally likely."""


class Draws(NamedTuple):
    """What is drawn at a node, and how finely scores are told apart.

    Attributes:
        drafting: by which law.
        below: the tokens that can be drawn with the draft's probabilities.
        number: how many are drawn.
        levels: M.
        moments: of two draws without replacement from buckets of tokens, (a, c): for each bucket the sums of
            q / (1 - q) and of q^2 / (1 - q) over its tokens; else None.
    """

    drafting: GrownTree
    below: Support
    number: int
    levels: int
    moments: tuple[tuple[Any, ...], tuple[Any, ...]] | None = None

    def in_floats(self) -> Draws:
        """The same with probabilities in floats."""
        below, moments = self.below, self.moments
        return self._replace(
            below=Support(below.tokens, _floats(below.shares), below.children),
            moments=moments and (_floats(moments[0]), _floats(moments[1])),
        )

    def hit(self, hits: Array) -> Any:
        """The probability that one of the draws hits, from that of a hit below each token: (m, j) to (j,)."""
        if self.moments is None:
            return self.drafting.hit_at(self.below, self.number, list(hits))
        missed = 1 - hits
        q, a, c = (np.array(part)[:, None] for part in (self.below.shares, *self.moments))
        return 1 - ((a * missed).sum(axis=0) * (q * missed).sum(axis=0) - (c * missed**2).sum(axis=0))

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
        low, length: (m, M), how often the best drafted pair is lower, and how often it is this one.
        odds, draft: (m, M), of the pair of a bucket: its tokens win in proportion to odds q / (1 - q) + draft q.
    """

    rank: Array
    low: Array
    length: Array
    odds: Array
    draft: Array

    def below(self, masses: Array) -> Array:
        """(m, M): the mass of "the child is on the picked path, with this level", from the node's own (M,)."""
        if compiled() is not None and not is_exact(self.length):
            out = np.empty(self.length.shape)
            compiled().passing(self.low, self.length, masses, out)
            return out
        return self.length * np.dot(self.level(slice(None)), masses * len(masses))

    def level(self, place: Any) -> Array:
        """(M, M): the law of the node's level, given that a pair of the token at a place is the best drafted one."""
        return _levels(self.low[place], self.length[place])

    def token(self, place: int, mass: Any) -> Array:
        """(M,): the share in each pair of an entry that a token of it has, from its probability under the draft."""
        odds = mass / (1 - mass) if mass < 1 else mass * 0
        return self.odds[place] * odds + self.draft[place] * mass


@cache
def compiled() -> Any:
    """What is compiled of races; None where numba is not installed."""
    try:
        from . import fair_search
    except ImportError:
        return None
    return fair_search


def _floats(values: tuple[Any, ...]) -> tuple[float, ...]:
    return tuple(float_array(np.array(values)).tolist())


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
    low, length = steps(order, draws)
    low, length = (part[rank].reshape(shape) for part in (low, length))
    if draws.moments is not None:
        odds, draft = (part[rank].reshape(shape) for part in _parts(order, draws))
    else:
        odds, draft = length * 0, np.broadcast_to(1 / np.array(draws.below.shares)[:, None], shape)
    return Race(rank.reshape(shape), low, length, odds, draft)


def steps(order: Array, draws: Draws) -> tuple[Array, Array]:
    """(m M,) twice: for each pair, highest first, how often the best drafted one is lower, and how often it is this."""
    drafting, below, count, *_ = draws
    token, shares = order // draws.levels, np.array(below.shares)
    zero = shares[:1] * 0
    part = (zero + 1) / draws.levels
    if isinstance(drafting, DrawnWithReplacement):
        # Sums of what is below, so that no difference is taken.
        parts = shares[token] * part
        lower = np.concatenate([_from_below(parts), zero])
        return lower[1:] ** count, parts * power_sum(count, lower[:-1], lower[1:])
    if draws.moments is not None:
        first, second, *_ = _two_draws(order, draws)
        length = (first + second) / draws.levels
        return np.concatenate([_from_below(length)[1:], zero]), length
    taken = [
        np.concatenate([zero, np.where(token == place, part, zero).cumsum()]) for place in range(len(shares))
    ]
    lower = 1 - drafting.hit_at(below, count, taken)
    return lower[1:], lower[:-1] - lower[1:]


def _from_below(parts: Array) -> Array:
    """(j,): for each the sum of it and of all after it."""
    found: Array = parts[::-1].cumsum()[::-1]
    return found


def _two_draws(order: Array, draws: Draws) -> tuple[Array, ...]:
    """Of two draws without replacement, for each pair, highest first: where it is drawn first and wins, and second.

    With x the share of the bucket's levels from this one on, x' from the next one on, R the sum of q x and A' that of
    q / (1 - q) x' over all tokens: a token wins as the first draw with q / (1 - q) (R - q x), where of equal pairs the
    first one wins, and as the second with q (A' - q / (1 - q) x'), over M. Returned are both sums over the bucket's
    tokens, then x + x', R and A'.
    """
    assert draws.moments is not None
    M = draws.levels
    token, q = order // M, np.array(draws.below.shares)
    a, c = map(np.array, draws.moments)
    zero = q[:1] * 0
    seen = np.empty(len(order), dtype=np.int64)
    by_token = np.argsort(token, kind="stable")
    seen[by_token] = np.tile(np.arange(M), len(q))
    share = (zero + 1) / M
    x, after = share * (M - seen), share * (M - 1 - seen)
    R = _from_below(q[token] * share)
    A = np.concatenate([_from_below(a[token] * share)[1:], zero])
    return a[token] * R - c[token] * x, q[token] * A - c[token] * after, x + after, R, A


def _parts(order: Array, draws: Draws) -> tuple[Array, Array]:
    """(m M,) twice: the factors of q / (1 - q) and of q in a token's share of its bucket's pair, highest pair first."""
    first, second, both, R, A = _two_draws(order, draws)
    whole = first + second
    none = np.asarray(whole == 0, dtype=bool)
    divisor = np.where(none, whole + 1, whole)
    return np.where(none, whole, (R - both) / divisor), np.where(none, whole, (A + both) / divisor)


def _levels(low: Array, length: Array) -> Array:
    """(.., M, M): how a uniform number in [low, low + length) is spread over the M levels; intervals (.., M)."""
    M = low.shape[-1]
    one = low.ravel()[0] * 0 + 1
    ends = np.array([one * j / M for j in range(M + 1)])
    upper = np.minimum((low + length)[..., None], ends[1:])
    parts = np.maximum(upper - np.maximum(low[..., None], ends[:-1]), one * 0)
    total = parts.sum(axis=-1)[..., None]
    # An interval too short for floats is in one level all the same.
    at = np.minimum((float_array(low) * M).astype(np.int64), M - 1)
    alone = (at[..., None] == np.arange(M)) * one
    lost = np.asarray(total == 0, dtype=bool)
    return np.where(lost, alone, parts / np.where(lost, one, total))
