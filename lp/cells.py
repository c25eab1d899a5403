"""Cells of a vocabulary: what the orderings of a selection by scores tell apart (section 12).

In a small vocabulary each token is a cell. In a large one the tokens of most mass are cells of their own, and
the others are together by their ratio p/q: as long as the laws below are not known, tokens of one ratio lose
nothing by sharing a class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np

from .rationals import float_array, is_exact

SINGLY = 16
"""How many tokens of a large vocabulary are cells of their own."""

RATIO_BITS, PER_OCTAVE = 4, 6
"""The others' cells: how many per factor of 2 of p/q, and from which power of 1/2 to which of 2."""

BINS = 2 * RATIO_BITS * PER_OCTAVE + 1

CELLS = SINGLY + BINS
"""Most cells; up to as many tokens are all cells of their own."""


def cells(target: Any, draft: Any) -> tuple[Any, Callable[[Any], Any]]:
    """(g, V), the cell of each token, and the function from rows (g, V) to masses of the cells (g, C).

    Args:
        target, draft: (g, V), the next-token laws of g nodes.
    """
    xp = array_api_compat.array_namespace(draft)
    nodes, vocab = draft.shape
    device = {"device": draft.device} if array_api_compat.is_torch_array(draft) else {}
    if vocab <= CELLS:
        return xp.broadcast_to(xp.arange(vocab, **device)[None, :], (nodes, vocab)), lambda rows: rows
    cell = SINGLY + _ratio_bins(target, draft)
    row = xp.arange(nodes, **device)[:, None]
    cell[row, _largest(xp.where(target < draft, target, draft))] = xp.arange(SINGLY, **device)[None, :]
    return cell, lambda rows: _sums(rows, cell)


def _ratio_bins(target: Any, draft: Any) -> Any:
    """(g, V) integers below BINS, by p/q; ratios beyond the range, and tokens that are not drafted, at its ends."""
    if draft.dtype == object:
        target, draft = float_array(target), float_array(draft)
    xp = array_api_compat.array_namespace(draft)
    most = 2.0**RATIO_BITS
    high = target >= most * draft
    ratio = xp.where(high, most, target / xp.where(high, 1.0, draft))
    # 1 is in the middle of a bin: equal laws that differ by rounding share a cell.
    octaves = xp.log2(xp.where(ratio < 1 / most, 1 / most, ratio)) + RATIO_BITS
    return xp.astype(xp.floor(octaves * PER_OCTAVE + 0.5), xp.int64)


def _largest(values: Any) -> Any:
    """(g, SINGLY): where the largest entries of each row are, largest first; no row is sorted as a whole."""
    if array_api_compat.is_torch_array(values):
        return values.topk(SINGLY, dim=1).indices
    found = np.argpartition(-values, SINGLY - 1, axis=1)[:, :SINGLY]
    return np.take_along_axis(found, np.argsort(-np.take_along_axis(values, found, axis=1), axis=1), axis=1)


def _sums(rows: Any, cell: Any) -> Any:
    """(g, CELLS): the rows' sums by cell; of floats in double precision, since there are many small terms."""
    if array_api_compat.is_torch_array(rows):
        sums = rows.new_zeros((rows.shape[0], CELLS), dtype=rows.double().dtype)
        return sums.scatter_add_(1, cell, rows.double()).to(rows.dtype)
    places = (cell + CELLS * np.arange(len(rows))[:, None]).ravel()
    if is_exact(rows):
        exact = np.full(len(rows) * CELLS, rows[0, 0] * 0, dtype=object)
        np.add.at(exact, places, rows.ravel())
        return exact.reshape(len(rows), CELLS)
    counted = np.bincount(places, weights=rows.ravel(), minlength=len(rows) * CELLS)
    return counted.reshape(len(rows), CELLS).astype(rows.dtype)
