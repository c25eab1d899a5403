"""The highest-ranked of the drafted paths, and what is left of the target once its law is taken from it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from nodebudget.lp.drafting.power_sums import power_sum
from nodebudget.lp.selection.ratio_order import id_bits, nearest_cells

from ..arithmetic.arrays import Array
from ..drafts.paths import DraftTree
from ..drafts.row_pairs import CompiledPairs


class Skew(NamedTuple):
    """What the law of the picked path is at nodes (m,) on it, times a factor.

    A token that the draft's row gives the mass d has scale d S(v, u) there, S(a, b) = sum_{i < K} a^i b^(K - 1 - i)
    for K paths, where u is sigma + slope times the mass of what is ranked below it and v is u + slope d: statement 6.4
    for rows that need not sum to one.
    """

    paths: int
    scale: Array
    sigma: Array
    slope: Array


class Picked:
    """The highest-ranked of the drafted paths, with every token's mass of what is ranked below it.

    Attributes:
        path: (L + 1,) index array, its nodes.
        unit: (L,), what the draft's given rows sum to at its nodes above the leaf.
        total: (L,), the same, summed in the order of the tokens.
        token_below: (L,), the mass of what is ranked below the path's own tokens.
    """

    def __init__(self, tree: DraftTree, path: Array, below: Array, total: Array, unit: Array) -> None:
        """From `below` (L, V), for each token the mass of those ranked below it, of rows as they were given."""
        self.tree, self.path, self.below, self.total, self.unit = tree, path, below, total, unit
        arrays = tree.arrays
        self.token_below = arrays.pick(below, arrays.take(arrays.index(tree.nodes.token), path[1:]))

    def left_sums(self, position: Array, skew: Skew) -> Array:
        """(m,), the sums of `left_rows`."""
        arrays = self.tree.arrays

        def part(some: slice) -> Array:
            there = Skew(skew.paths, *(numbers[some] for numbers in skew[1:]))
            return arrays.sum(self.left_rows(position[some], there))

        return arrays.in_slices(len(position), self.tree.vocab, part)

    def left_rows(self, position: Array, skew: Skew) -> Array:
        """(m, V), max(0, target - skewed draft) at positions on the path, of the target's rows as they were given."""
        arrays = self.tree.arrays
        here = arrays.take(self.path, position)
        (target, _), (draft, _) = (
            rows.given(here) for rows in (self.tree.pairs.target, self.tree.pairs.draft)
        )
        scale, sigma, slope = (part[:, None] for part in skew[1:])
        u = slope * arrays.take(self.below, position)
        u += sigma
        v = slope * draft
        v += u
        taken = power_sum(skew.paths, v, u)
        taken *= draft
        taken *= scale
        return arrays.positive(arrays.subtract(target, taken))


class CompiledPicked(Picked):
    """The same without an order of all tokens: only those are sorted of which it matters (`ratio_keys`)."""

    def __init__(self, tree: DraftTree) -> None:
        """Pick the path.

        Raises ArithmeticError where a ratio may be none, for a draft probability that is too small or zero.
        """
        from ..arithmetic import ratio_keys, skewed_sums

        self.tree, self._ratio_keys, self._skewed_sums = tree, ratio_keys, skewed_sums
        nodes, vocab = tree.of_paths, tree.vocab
        self._bits, self._nearest = id_bits(vocab), nearest_cells(vocab, tree.rounding)
        self._keys = np.empty((nodes.depth, vocab), dtype=np.int64)
        self._orders: dict[int, Array] = {}
        scratch = np.empty(vocab, dtype=np.int64)
        rows = tree.pairs.target.rows, tree.pairs.draft.rows
        ratios = self._keys.view(np.float64)
        standing, path, below, undrafted = nodes.path_nodes, [0], [], []
        for i in range(nodes.depth):
            tokens = nodes.token[standing[:, i + 1]]
            token, mass, elsewhere = ratio_keys.pick(
                *(part[path[-1]] for part in rows),
                ratios[i],
                self._keys[i],
                tokens,
                self._nearest,
                self._bits,
                scratch,
            )
            if token == ratio_keys.CROWDED:
                order = self._orders[i] = self._in_order(self._keys[i])
                place = np.flatnonzero(np.isin(order, tokens))[-1]
                token = order[place]
                mass = rows[1][path[-1]][order[:place]].sum(dtype=np.float64)
            if token < 0:
                raise ArithmeticError("target / draft cannot be computed for every token that is drafted")
            standing = standing[tokens == token]
            path.append(int(standing[0, i + 1]))
            below.append(mass)
            undrafted.append(elsewhere)
        self.path = np.array(path)
        self.unit = self.total = tree.pairs.draft.totals(self.path[:-1])
        self.token_below = np.array(below, dtype=tree.arrays.dtype)
        self._undrafted = np.array(undrafted)

    def left_sums(self, position: Array, skew: Skew) -> Array:
        """As in `Picked`."""
        buffers, sums = self._buffers(), []
        for i, place in enumerate(position.tolist()):
            _, target, draft, _, skewed, *_ = there = self._at(place, skew, i)
            left = -1.0 if place in self._orders else self._skewed_sums.left_sum(*there, buffers)
            if left < 0:
                order = self._order(place)
                left = self._skewed_sums.left_in_order(target, draft, order, 0.0, skewed, skew.paths)
            sums.append(left)
        return (sums + self._undrafted[position]).astype(self.tree.arrays.dtype, copy=False)

    def left_rows(self, position: Array, skew: Skew) -> Array:
        """As in `Picked`."""
        left, buffers = self.tree.arrays.empty(len(position), self.tree.vocab), self._buffers()
        for i, place in enumerate(position.tolist()):
            keys, target, draft, _, skewed, *_ = there = self._at(place, skew, i)
            lowest, under = -1, 0.0
            if place not in self._orders:
                _, lowest, under, _ = self._skewed_sums.uncertain(*there, buffers)
            order = self._order(place) if lowest < 0 else self._in_order(keys, lowest)
            self._skewed_sums.left_row(keys, target, draft, order, under, skewed, skew.paths, left[i])
        return left

    def _order(self, place: int) -> Array:
        """All tokens that the draft can draw at a node where too many are nearly tied, in their order."""
        if place not in self._orders:
            self._orders[place] = self._in_order(self._keys[place])
        return self._orders[place]

    def _in_order(self, keys: Array, lowest: int = 0) -> Array:
        """The tokens of a node that the draft can draw, with keys from `lowest` up, which has a gap below it."""
        found = np.empty_like(keys)
        found = found[: self._ratio_keys.between(keys, lowest, self._ratio_keys.LAST, found)]
        found.sort()
        most = self._ratio_keys.crowd(len(keys))
        start, end = self._ratio_keys.settle(found, 0, self._nearest, self._bits, most)
        while start < end:
            run = found[start:end]
            run &= (1 << self._bits) - 1
            run.sort()  # by numpy, which is faster for so many
            start, end = self._ratio_keys.settle(found, end, self._nearest, self._bits, most)
        return self._ratio_keys.tokens_of(found, self._bits)

    def _buffers(self) -> Array:
        return np.empty((3, self.tree.vocab), dtype=np.int64)

    def _at(self, place: int, skew: Skew, i: int) -> tuple[Any, ...]:
        node, pairs = self.path[place], self.tree.pairs
        rows = self._keys[place], pairs.target.rows[node], pairs.draft.rows[node], float(self.total[place])
        skewed = tuple(float(part[i]) for part in skew[1:])
        return *rows, skewed, skew.paths, self._nearest, self._bits


def compiled_pick(tree: DraftTree) -> CompiledPicked | None:
    """The picked path of a tree whose rows compiled code can read; None for any other."""
    if not isinstance(tree.pairs, CompiledPairs):
        return None
    try:
        return CompiledPicked(tree)
    except ArithmeticError:
        return None
