"""Draftings whose children at a node are different tokens: without replacement, and the likeliest with one sample."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..instances.instance import Instance
from ..numbers.rationals import Array, exact_array, fast, to_fraction
from .grown import Counted, Places
from .supports import Support, support


class Drawn(Counted):
    """A grown tree in which one draw at each node is one path from the draft."""

    def iid_paths(self, depth: int) -> int | None:
        """1 where one child is drawn at each node."""
        return 1 if set(self.counts(depth)) == {1} else None

    def single_hits(self, instance: Instance) -> Array:
        """array (n,): the product along the way of the chances to be among the drawn children."""
        tree, counts = instance.tree, self.counts(instance.depth)
        one = fast(instance.draft[:1])[0] * 0 + 1
        hits = np.full(len(tree), one * 0)
        hits[0] = one
        for depth, count in enumerate(counts):
            level = tree.level(depth)
            for node in level.start + np.flatnonzero(hits[level] > 0):
                below = support(instance, int(node))
                for place, child in enumerate(below.children):
                    if child is not None:
                        alone = [one * (place == other) for other in range(len(below.tokens))]
                        hits[child] = hits[node] * self.hit_at(below, count, alone)
        return exact_array(hits) if instance.exact else hits


class WithoutReplacement(Drawn):
    """k_1, .., k_L different tokens drawn one after the other at each node, those that were drawn left out.

    Where fewer tokens have mass all of them are drawn.
    """

    name = "without"

    def hit_at(self, below: Support, count: int, hits: Sequence[Any]) -> Any:
        """The first draw hits, or one of the others from what is left does."""
        every, shares = frozenset(range(len(hits))), below.shares
        known: dict[frozenset[int], Any] = {}

        def after(gone: frozenset[int]) -> Any:
            if gone not in known:
                left = sorted(every - gone)
                mass = sum(shares[y] for y in left)
                total = 0
                for y in left:
                    rest = after(gone | {y}) if len(gone) + 1 < min(count, len(every)) else 0
                    total = total + shares[y] / mass * (hits[y] + (1 - hits[y]) * rest)
                known[gone] = total
            return known[gone]

        return after(frozenset())

    def drawn(self, below: Support, count: int) -> Iterator[tuple[Places, Any]]:
        """Every order of different tokens."""
        for places in itertools.permutations(range(len(below.tokens)), min(count, len(below.tokens))):
            chance, left = below.shares[places[0]], 1 - below.shares[places[0]]
            for place in places[1:]:
                chance, left = chance * below.shares[place] / left, left - below.shares[place]
            yield places, chance

    def count_drawn(self, below: Support, count: int, ways: Sequence[int]) -> int:
        """The elementary symmetric sum of the ways, in every order."""
        size = min(count, len(ways))
        sums = [1] + [0] * size
        for each in ways:
            for taken in range(size, 0, -1):
                sums[taken] += sums[taken - 1] * each
        return sums[size] * math.factorial(size)

    def draw_children(self, below: Support, count: int, rng: np.random.Generator) -> Places:
        """Different tokens, one after the other."""
        size = min(count, len(below.tokens))
        return tuple(rng.choice(len(below.tokens), size=size, replace=False, p=below.law()).tolist())


class LikeliestAndSample(Drawn):
    """At each node the m - 1 likeliest tokens and one draw from the others, renormalised; m_1, .., m_L.

    Where nothing has mass off the likeliest, there is no draw.
    """

    name = "top-sample"

    def hit_at(self, below: Support, count: int, hits: Sequence[Any]) -> Any:
        """One of the likeliest hits, or the draw does."""
        top = min(count - 1, len(hits))
        mass = sum(below.shares[top:])
        found = 0
        if top < len(hits):
            found = sum(q * h for q, h in zip(below.shares[top:], hits[top:], strict=True)) / mass
        for hit in hits[:top]:
            found = hit + (1 - hit) * found
        return found

    def drawn(self, below: Support, count: int) -> Iterator[tuple[Places, Any]]:
        """The likeliest first, the drawn one last."""
        top = tuple(range(min(count - 1, len(below.tokens))))
        if len(top) == len(below.tokens):
            yield top, sum(below.shares)
            return
        mass = sum(below.shares[len(top) :])
        for place in range(len(top), len(below.tokens)):
            yield (*top, place), below.shares[place] / mass

    def count_drawn(self, below: Support, count: int, ways: Sequence[int]) -> int:
        """Those of the likeliest, with those of each that can be drawn."""
        top = math.prod(ways[: count - 1])
        return top * sum(ways[count - 1 :]) if len(ways) >= count else top

    def most_below(self, sizes: Sequence[int], count: int) -> int:
        """The likeliest, and the largest of the others."""
        return sum(sizes[: count - 1]) + max(sizes[count - 1 :], default=0)

    def draw_children(self, below: Support, count: int, rng: np.random.Generator) -> Places:
        """The likeliest first, the drawn one last."""
        listed = list(self.drawn(below, count))
        law = np.array([float(to_fraction(chance)) for _, chance in listed])
        return listed[int(rng.choice(len(law), p=law / law.sum()))][0]
