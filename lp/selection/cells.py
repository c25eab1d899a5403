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

from ..numbers.rationals import float_array, is_exact

SINGLY = 16
"""How many tokens of a large vocabulary are cells of their own."""

BINS = 49
"""The others' cells, by p/q; the one in the middle is for p = q."""

OCTAVES, BEND = 6, 1.0
"""From which power of 1/2 of p/q to which of 2, and at how many octaves from p = q the cells get wide: like models
differ by little, and there a step must be small."""

STEP_BITS = 7
"""Ratios are read off in 2**STEP_BITS steps for each factor of 2."""

SINGLE_MANTISSA_BITS, SINGLE_BIAS = 23, 127
LOWEST_PLACE = SINGLE_BIAS - OCTAVES << STEP_BITS
"""The bits of 2**-OCTAVES in single precision, without the last of the mantissa."""


def _cells_by_ratio() -> np.ndarray:
    """The cell of each step, behind those of single tokens."""
    steps = 2 * OCTAVES << STEP_BITS
    octaves = np.linspace(-OCTAVES, OCTAVES, steps + 1)
    share = octaves / (np.abs(octaves) + BEND) * (OCTAVES + BEND) / OCTAVES
    return SINGLY + np.rint((share + 1) * (BINS // 2)).astype(np.int64)


CELL_OF_STEP = _cells_by_ratio()

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
    cell = _by_ratio(target, draft)
    least = xp.minimum(target, draft)
    row = xp.arange(nodes, **device)[:, None]
    largest = _largest(least)
    # Strictly above the next one, and numbered by token: the same however a device treats ties.
    mass = least[row, largest]
    alone = mass > xp.min(mass, axis=1)[:, None]
    number = xp.cumsum(xp.astype(alone, xp.int64), 1) - 1
    cell[row, largest] = xp.where(alone, number, cell[row, largest])
    return cell, lambda rows: _sums(rows, cell)


def _by_ratio(target: Any, draft: Any) -> Any:
    """(g, V), cells by p/q alone; ratios beyond the range, and tokens that are not drafted, in those at the ends."""
    if draft.dtype == object:
        target, draft = float_array(target), float_array(draft)
    xp = array_api_compat.array_namespace(draft)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = xp.astype(target / draft, xp.float32)
    # Floats that are not negative are ordered as their bits are: the exponent, and the first bits of the mantissa.
    dropped = SINGLE_MANTISSA_BITS - STEP_BITS
    # Half a step more, so that 1 is in the middle of a step: equal laws that differ by rounding share a cell.
    place = ratio.view(xp.int32)
    place += (1 << dropped >> 1) - (LOWEST_PLACE << dropped)
    place >>= dropped
    if not array_api_compat.is_torch_array(draft):
        return CELL_OF_STEP.take(place, mode="clip")
    # A blocking copy would make the host wait for the device's queue.
    table = xp.asarray(CELL_OF_STEP).to(draft.device, non_blocking=True)
    return table[place.clip(0, len(CELL_OF_STEP) - 1)]


def _largest(values: Any) -> Any:
    """(g, SINGLY + 1): where the largest entries of each row are, by token; no row is sorted as a whole."""
    if array_api_compat.is_torch_array(values):
        return values.topk(SINGLY + 1, dim=1).indices.sort(dim=1).values
    return np.sort(np.argpartition(values, -SINGLY - 1, axis=1)[:, -SINGLY - 1 :], axis=1)


def _sums(rows: Any, cell: Any) -> Any:
    """(g, CELLS): the rows' sums by cell; of floats in double precision, since there are many small terms."""
    if array_api_compat.is_torch_array(rows):
        sums = rows.new_zeros((rows.shape[0], CELLS), dtype=rows.double().dtype)
        return sums.scatter_add_(1, cell, rows.double()).to(rows.dtype)
    places = (cell if len(rows) == 1 else cell + CELLS * np.arange(len(rows))[:, None]).ravel()
    if is_exact(rows):
        exact = np.full(len(rows) * CELLS, rows[0, 0] * 0, dtype=object)
        np.add.at(exact, places, rows.ravel())
        return exact.reshape(len(rows), CELLS)
    counted = np.bincount(places, weights=rows.ravel(), minlength=len(rows) * CELLS)
    return counted.reshape(len(rows), CELLS).astype(rows.dtype)
