"""Next-token rows as callers give them, and the laws that they are over their totals."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import numpy as np

from ..arithmetic.arrays import Array, Arrays

COMPILED_FROM = 256
"""Vocabulary size from which it pays to load compiled code."""


@cache
def _compiled() -> Any:
    """The compiled passes over rows; None where numba is not installed."""
    try:
        from ..arithmetic import kernels
    except ImportError:
        return None
    return kernels


class GivenRows:
    """Rows (n, V) of one model, with what they sum to.

    Numpy floats are looked at row by row when they are asked for: a verifier that goes down one path never reads the
    rows of the others. Everything else is looked at as a whole, on its device, when the first row is asked for.
    """

    def __init__(self, rows: Array, arrays: Arrays) -> None:
        """Nothing is looked at yet. `arrays` are the operations on the numbers that laws are computed in."""
        self.rows, self.arrays = rows, arrays
        self._left = len(rows) if arrays.numpy else 0
        self._error = 0.0

    @cached_property
    def kernels(self) -> Any:
        """The compiled passes over rows that can read these, or None."""
        readable = self.arrays.numpy and self.rows.dtype in (np.float32, np.float64)
        return _compiled() if readable and self.rows.shape[1] >= COMPILED_FROM else None

    @cached_property
    def _totals(self) -> Array:
        """(n,): what the rows sum to; of numpy floats, once they are looked at."""
        if self.arrays.numpy:
            return np.zeros(len(self.rows), dtype=self.arrays.dtype)
        return self.arrays.xp.sum(self.rows, axis=-1, dtype=self.arrays.dtype)

    @cached_property
    def _unseen(self) -> Array:
        """(n,) on the host: which of the rows were not looked at yet, of numpy floats."""
        return np.ones(len(self.rows), dtype=bool)

    def totals(self, index: Array) -> Array:
        """(m,): what the rows at an index array sum to; rationals are laws as they are."""
        if self.arrays.exact:
            return self.arrays.ones(len(index))
        if self._left:
            self._look(index)
        return self.arrays.take(self._totals, index)

    def given(self, index: Array) -> tuple[Array, Array]:
        """(m, V) and (m,): rows and their totals at an index array; where possible a view, not to be changed."""
        place = self._slice(index)
        if place is not None:
            return self.rows[place], self.totals(index)
        rows = self.arrays.take(self.rows, index)
        if not self.arrays.exact:
            rows = self.arrays.xp.astype(rows, self.arrays.dtype, copy=False)
        return rows, self.totals(index)

    def laws(self, index: Array, scale: Array | None = None) -> Array:
        """(m, V): the laws at an index array (m,), times scale (m,) if any."""
        arrays, place = self.arrays, self._slice(index)
        if place is None:
            laws = arrays.laws(arrays.take(self.rows, index), self.totals(index))
            if scale is not None:
                laws *= scale[:, None]
            return laws
        # One pass in place of two or three.
        with np.errstate(divide="ignore", invalid="ignore"):
            if scale is None:
                return np.divide(self.rows[place], self.totals(index)[:, None], dtype=arrays.dtype)
            return np.multiply(self.rows[place], (scale / self.totals(index))[:, None], dtype=arrays.dtype)

    def entries(self, index: Array, tokens: Array) -> Array:
        """(m,): the laws' probabilities of one token each, from index arrays (m,)."""
        entries = self.given_entries(index, tokens)
        if self.arrays.exact:
            return entries
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.arrays.xp.astype(entries, self.arrays.dtype, copy=False) / self.totals(index)

    def given_entries(self, index: Array, tokens: Array) -> Array:
        """(m,): the rows' entries at one token each, from index arrays (m,)."""
        return self.rows[index, tokens]

    def error(self) -> Array:
        """(): the largest distance from one of a total of what was looked at; infinite for a negative entry.

        A number where it is known on the host.
        """
        if self.arrays.numpy:
            return self._error
        xp = self.arrays.xp
        return xp.where(xp.min(self.rows) < 0, xp.inf, xp.max(xp.abs(self._totals - 1)))

    def _look(self, index: Array) -> None:
        if self.kernels:
            count, off = self.kernels.look(self.rows, index, self._unseen, self._totals)
        else:
            new = np.zeros(len(self.rows), dtype=bool)
            new[index] = True
            new &= self._unseen
            count, off = 0, 0.0
            for i in np.flatnonzero(new):
                row = self.rows[i]
                total = self._totals[i] = row.sum(dtype=self._totals.dtype)
                off = np.maximum(off, abs(total - 1) if row.min() >= 0 else np.inf)
                self._unseen[i] = False
                count += 1
        self._left -= count
        self._error = float(np.maximum(self._error, off))  # NaN stays NaN

    def _slice(self, index: Array) -> slice | None:
        """An index array of consecutive places in this machine's memory as a slice."""
        if not (self.arrays.numpy and len(index)):
            return None
        start = int(index[0])
        consecutive = len(index) == 1 or bool((index[1:] - index[:-1] == 1).all())
        return slice(start, start + len(index)) if consecutive else None
