"""What is left of the target's rows once some of the draft's is taken from them, and sums of it over the vocabulary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arithmetic.arrays import Array, Arrays
from .given_rows import GivenRows


class RowPairs:
    """The rows of both models at the nodes of a tree, and the sums over the vocabulary that verifiers need of them."""

    def __init__(self, target: GivenRows, draft: GivenRows) -> None:
        """No row is looked at yet."""
        self.target, self.draft, self.arrays = target, draft, target.arrays

    def left_sums(
        self, index: Array, taken: Array, share: Array | None = None, without: Array | None = None
    ) -> Array:
        """(m,), sums over tokens of max(0, target - taken min(draft, share target)), of laws.

        Args:
            index: (m,), nodes above the leaves.
            taken: (m,), how much of the draft is taken from the target.
            share: (m,), the share of the target that can be taken; None where it can be more than all.
            without: (m, k), tokens that are left out of the sum.
        """

        def part(some: slice) -> Array:
            left, factor = self.left_rows(index[some], taken[some], None if share is None else share[some])
            if without is not None:
                self.arrays.clear(left, without[some])
            return self.arrays.sum(left) / factor

        return self.arrays.in_slices(len(index), self.target.rows.shape[1], part)

    def left_rows(self, index: Array, taken: Array, share: Array | None = None) -> tuple[Array, Array]:
        """(m, V), what `left_sums` adds up, in memory of its own, times a factor for each row; and the factors, (m,).

        No laws are made of the target's rows: they are its laws times what they sum to.
        """
        target, factor = self.target.given(index)
        return left_of(self.arrays, target, self.draft.laws(index, factor), taken, share), factor

    def left(self, index: Array, taken: Callable[[Array], Array]) -> tuple[Array, Array]:
        """The same for any rows that are taken: `taken` gives them times factors (m,), in memory of their own."""
        target, factor = self.target.given(index)
        return self.arrays.positive(self.arrays.subtract(target, taken(factor))), factor

    def served(self, index: Array) -> Callable[[Array], Array]:
        """From shares (m,) to the sums over tokens of min(draft, share target), of laws, (m,), above the leaves."""
        parts = self.arrays.slices(len(index), self.target.rows.shape[1])
        laws = [(self.target.laws(index[some]), self.draft.laws(index[some])) for some in parts]

        def sums(share: Array) -> Array:
            xp = self.arrays.xp
            served = [
                self.arrays.sum(xp.minimum(draft, target * share[some][:, None]))
                for some, (target, draft) in zip(parts, laws, strict=True)
            ]
            return served[0] if len(served) == 1 else xp.concat(served)

        return sums

    def over_sums(self, index: Array, taken: Array, without: Array) -> Array:
        """(m,), sums of max(0, draft - taken target) over all tokens but those of `without` (m, k)."""
        return type(self)(self.draft, self.target).left_sums(index, taken, None, without)

    def draft_sums(self, index: Array, without: Array) -> Array:
        """(m,), the draft's mass of all tokens but those of `without` (m, k), at nodes (m,) above the leaves."""

        def part(some: slice) -> Array:
            rows = self.draft.laws(index[some])
            self.arrays.clear(rows, without[some])
            return self.arrays.sum(rows)

        return self.arrays.in_slices(len(index), self.target.rows.shape[1], part)


class CompiledPairs(RowPairs):
    """The same sums in compiled code, in one pass over the rows and without an array in between."""

    def left_sums(
        self, index: Array, taken: Array, share: Array | None = None, without: Array | None = None
    ) -> Array:
        """As in `RowPairs`."""
        tokens = (
            np.empty((len(index), 0), dtype=np.int64) if without is None else np.ascontiguousarray(without)
        )
        factor, sums = self.target.totals(index), np.empty(len(index))
        self.target.kernels.left_sums(*self._taking(index, factor, taken, share), tokens, sums)
        return self._numbers(sums / factor)

    def left_rows(self, index: Array, taken: Array, share: Array | None = None) -> tuple[Array, Array]:
        """As in `RowPairs`."""
        factor, left = self.target.totals(index), self.arrays.empty(len(index), self.target.rows.shape[1])
        self.target.kernels.left_rows(*self._taking(index, factor, taken, share), left)
        return left, factor

    def served(self, index: Array) -> Callable[[Array], Array]:
        """As in `RowPairs`."""
        of_target, of_draft = self.target.totals(index), _double(1 / self.draft.totals(index))

        def of(share: Array) -> Array:
            sums = np.empty(len(index))
            scales = of_draft, _double(share / of_target)
            self.target.kernels.served(self.target.rows, self.draft.rows, index, *scales, sums)
            return self._numbers(sums)

        return of

    def draft_sums(self, index: Array, without: Array) -> Array:
        """As in `RowPairs`: what is left of the draft when nothing is taken from it."""
        return CompiledPairs(self.draft, self.draft).left_sums(index, np.zeros(len(index)), None, without)

    def _taking(self, index: Array, factor: Array, taken: Array, share: Array | None) -> tuple[Array, ...]:
        numbers = factor / self.draft.totals(index), taken, taken if share is None else share
        return self.target.rows, self.draft.rows, index, *map(_double, numbers), share is not None

    def _numbers(self, sums: Array) -> Array:
        return sums.astype(self.arrays.dtype, copy=False)


def _double(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)


def row_pairs(target: GivenRows, draft: GivenRows) -> RowPairs:
    """In compiled code where both rows can be read by it."""
    return (CompiledPairs if target.kernels and draft.kernels else RowPairs)(target, draft)


def left_of(arrays: Arrays, target: Array, draft: Array, taken: Array, share: Array | None) -> Array:
    """(m, V), max(0, target - taken min(draft, share target)), in the draft's memory.

    Args:
        arrays: the kind of number.
        target, draft: (m, V), laws times a factor, the same for both.
        taken: (m,), how much of the draft is taken from the target.
        share: (m,), the share of the target that can be taken; None where it can be more than all.
    """
    if share is not None:
        arrays.xp.minimum(draft, target * share[:, None], out=draft)
    draft *= taken[:, None]
    return arrays.positive(arrays.subtract(target, draft))
