"""Reading next-token laws as callers have them: Fractions, numpy floats, torch tensors, functions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import array_api_compat
import numpy as np
from flint import fmpq
from nodebudget.lp.instances.trees import format_context
from nodebudget.lp.selection.ratio_order import rounding

from ..arithmetic.arrays import Array, Arrays
from .nodes import PathNodes
from .tree_nodes import TreeNodes

HALF_TOLERANCE, SINGLE_TOLERANCE, DOUBLE_TOLERANCE = 2e-2, 1e-4, 1e-9
"""How far a row given in 16, 32 or 64 bits may be from summing to one."""


def read_rows(name: str, rows: Any) -> Array:
    """Rows as a numpy array of rationals or floats or a torch tensor of floats, else ValueError."""
    if array_api_compat.is_torch_array(rows):
        if not rows.dtype.is_floating_point:
            raise ValueError(f"{name}: got a tensor of {rows.dtype}; expected a floating-point dtype")
        return rows.detach()
    if not isinstance(rows, np.ndarray) and array_api_compat.is_array_api_obj(rows):
        raise ValueError(f"{name}: got {type(rows).__name__}; expected a numpy array or a torch tensor")
    rows = np.asarray(rows)
    if rows.dtype == object:
        for value in rows.flat:
            if isinstance(value, bool) or not isinstance(value, int | Fraction | fmpq):
                kind = type(value).__name__
                raise ValueError(f"{name}: got {value!r} ({kind}) in an exact row; expected Fractions")
    elif rows.dtype.kind != "f":
        raise ValueError(
            f"{name}: got an array of {rows.dtype}; expected floats, or Fractions (dtype object)"
        )
    return rows


def call_rows(name: str, law: Callable[[tuple[int, ...]], Any], nodes: TreeNodes, count: int) -> Array:
    """The rows of the first `count` nodes from a function of the context."""
    rows = []
    for node in range(count):
        row = law(nodes.path(node))
        # Copied before the next call: a function may hand out the same buffer again.
        rows.append(row.clone() if array_api_compat.is_torch_array(row) else list(row))
    for node, row in enumerate(rows):
        if len(row) != len(rows[0]):
            where = f"{name} row after context {format_context(nodes.path(node))!r}"
            raise ValueError(f"{where}: got {len(row)} entries; expected {len(rows[0])}, as at the root")
    if array_api_compat.is_torch_array(rows[0]):
        return array_api_compat.array_namespace(rows[0]).stack(rows)
    return np.array(rows)


def path_rows(name: str, given: Any, nodes: PathNodes) -> Array:
    """Rows for the distinct nodes of paths, from rows for each path and position, or from a function of the context."""
    positions, count = (nodes.depth + 1, len(nodes)) if name == "target" else (nodes.depth, nodes.inner)
    if callable(given):
        return call_rows(name, given, nodes, count)
    read = read_rows(name, given)
    if len(read.shape) != 3 or tuple(read.shape[:2]) != (nodes.paths, positions):
        raise ValueError(
            f"{name}: got shape {tuple(read.shape)}; expected ({nodes.paths}, {positions}, V), a row "
            f"for each path after each of its first 0 .. {positions - 1} tokens"
        )
    path, position = nodes.first_passing
    flat = read.reshape((nodes.paths * positions, read.shape[2]))
    arrays = Arrays(flat, "float64")
    return arrays.take(flat, arrays.index((path * positions + position)[:count]))


def check_rows(target: Array, draft: Array, nodes: TreeNodes) -> None:
    """Raise ValueError unless the rows fit each other and the nodes: kind, device, shape, vocabulary."""
    kinds = [_kind(rows) for rows in (target, draft)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"target is {kinds[0]} and draft is {kinds[1]}; expected one kind, on one device")
    for name, rows, count in (("target", target, len(nodes)), ("draft", draft, nodes.inner)):
        if len(rows.shape) != 2 or rows.shape[0] != count or rows.shape[1] < 1:
            what = "distinct node" if name == "target" else "distinct node above the deepest level"
            raise ValueError(
                f"{name}: got shape {tuple(rows.shape)}; expected ({count}, V), one row per {what}"
            )
    vocab = target.shape[1]
    if draft.shape[1] != vocab:
        raise ValueError(f"draft: the rows have {draft.shape[1]} entries; expected {vocab}, as in target")
    if nodes.token.max() >= vocab:
        node = int(np.argmax(nodes.token >= vocab))
        outside = f"token {nodes.token[node]} is outside the vocabulary 0..{vocab - 1} of the rows"
        raise ValueError(f"{nodes.where_drafted(node)}: {outside}")


def undrafted(nodes: TreeNodes, node: int) -> str:
    """The message for a drafted node that the draft gives no probability."""
    context = format_context(nodes.path(int(nodes.parent[node])))
    return (
        f"{nodes.where_drafted(node)}: the draft gives token {nodes.token[node]} probability 0 after context "
        f"{context!r}; expected a token that the draft can draw"
    )


def sum_tolerance(rows: Array, precision: str) -> float:
    """How far a row may be from summing to one, as given or as summed in the laws' precision."""
    if precision == "exact":
        return 0
    bits = min(8 * rows.dtype.itemsize, int(precision.removeprefix("float")))
    return DOUBLE_TOLERANCE if bits >= 64 else SINGLE_TOLERANCE if bits >= 32 else HALF_TOLERANCE


def rounding_of(rows: Array, precision: str) -> float:
    """How far equal probabilities may be apart, relatively, in rows that are given and computed with so many
    bits.

    Rows in 16 bits are taken as the very numbers that they are.
    """
    if precision == "exact":
        return 0
    single = precision == "float32" or 8 * rows.dtype.itemsize == 32
    return rounding(np.float32 if single else np.float64)


def _kind(rows: Array) -> str:
    if array_api_compat.is_torch_array(rows):
        return f"a torch tensor on {rows.device}"
    return "exact (Fractions)" if rows.dtype == object else "a numpy array of floats"
