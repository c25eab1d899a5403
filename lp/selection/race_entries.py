"""What races at a node: single tokens where they are few, else buckets of tokens with nearly one ratio p/q."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..drafting.distinct import LikeliestAndSample, WithoutReplacement
from ..drafting.grown import GrownTree
from ..drafting.supports import Support
from ..numbers.rationals import Array, float_array, is_exact

SINGLE = 48
"""Most tokens that race one by one."""

BITS = 2
"""Leading bits of the mantissa of a ratio by which a bucket is told from the next."""

OCTAVES = 8
"""Ratios from 2^-8 to 2^8 are told apart; what is beyond is in the first or the last bucket."""

SHIFT = 1.0905077326652577
"""Ratios are taken times this, so that the ends of buckets are far from 1 and other ratios that come about often."""

SUMMANDS = 100_000
"""Most sets of tokens that are gone through for three and more draws without replacement."""


class Entries(NamedTuple):
    """The tokens that can be drawn at a node as m entries, each a token or a bucket of tokens.

    Attributes:
        below: the entries with the draft's probabilities, as a draft over m tokens: which of its tokens a draw of a
            bucket is, is drawn by the draft. A bucket has the id -1.
        wanted: (m,), the target's probabilities.
        place: int array (V,), the entry of each token; 0 for one that is never drawn.
        moments: as in `Draws`, where buckets are drawn from without replacement.
    """

    below: Support
    wanted: Array
    place: Array
    moments: tuple[tuple[Any, ...], tuple[Any, ...]] | None


def entries(drafting: GrownTree, target: Array, draft: Array, number: int) -> Entries:
    """The entries at a node.

    Args:
        drafting: what is drafted.
        target, draft: (V,), the laws, in rationals or floats.
        number: how many tokens are drawn.

    Raises ValueError for three and more draws without replacement from too many tokens.
    """
    live = np.flatnonzero(draft > 0)
    distinct = isinstance(drafting, WithoutReplacement)
    check_distinct(drafting, number, len(live))
    single = live
    if len(live) > SINGLE and not (distinct and number > 2):
        single = live[:0]
        if isinstance(drafting, LikeliestAndSample):
            single = live[np.lexsort((live, -draft[live]))[: number - 1]]
    single = np.array(sorted(single.tolist(), key=lambda y: (-draft[y], y)), dtype=np.int64)
    place = np.full(len(draft), -1)
    place[single] = np.arange(len(single))
    rest = live[place[live] < 0]
    if len(rest):
        bucket = _buckets(target[rest], draft[rest])
        used = np.bincount(bucket) > 0
        place[rest] = len(single) - 1 + used.cumsum()[bucket]
    count = int(place.max()) + 1
    shares, wanted = (_sums(place[live], law[live], count) for law in (draft, target))
    moments = None
    if distinct and number == 2 and len(rest):
        odds = draft[live] / (1 - draft[live])
        of_odds, of_products = (
            _sums(place[live], part, count).tolist() for part in (odds, odds * draft[live])
        )
        moments = tuple(of_odds), tuple(of_products)
    place[place < 0] = 0
    tokens = (*single.tolist(), *(-1,) * (count - len(single)))
    return Entries(Support(tokens, tuple(shares.tolist()), (None,) * count), wanted, place, moments)


def check_distinct(drafting: GrownTree, number: int, live: int) -> None:
    """Raise ValueError for three and more draws without replacement from too many tokens."""
    if isinstance(drafting, WithoutReplacement) and number > 2 and math.comb(live, number - 1) > SUMMANDS:
        raise ValueError(
            f"race: got {number} draws without replacement from {live} tokens; expected two, or so few tokens that the "
            f"sets of {number - 1} of them are at most {SUMMANDS}: a smaller top-k"
        )


def _buckets(target: Array, draft: Array) -> Array:
    """int (k,): the leading bits of target / draft, which rise with the ratio."""
    ratio = np.ascontiguousarray(float_array(target) / float_array(draft) * SHIFT)
    bits = (ratio.view(np.int64) >> (52 - BITS)) - (1023 << BITS)
    return np.clip(bits + (OCTAVES << BITS), 0, (2 * OCTAVES << BITS) - 1)


def _sums(place: Array, values: Array, count: int) -> Array:
    """(count,): the sums of values by their place."""
    if not is_exact(values):
        return np.bincount(place, values, minlength=count)
    sums = np.repeat(values[:1] * 0, count)
    np.add.at(sums, place, values)
    return sums
