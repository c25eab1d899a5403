"""Looking at the rows of a drafted tree: are they laws, and could they have drafted it?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from nodebudget.lp.instances.trees import format_context

from ..arithmetic.arrays import Array
from .read_rows import undrafted

if TYPE_CHECKING:
    from .paths import DraftTree


def check_laws(tree: DraftTree, tolerance: float) -> None:
    """Raise ValueError for the first row that is not a law, or drafted token that cannot be drafted.

    Args:
        tree: with rows in this machine's memory.
        tolerance: how far a row may be from summing to one.
    """
    arrays, nodes = tree.arrays, tree.nodes
    models = (("target", tree.pairs.target), ("draft", tree.pairs.draft))
    every = [
        arrays.sum(given.rows) if tree.exact else given.totals(arrays.positions(len(given.rows)))
        for _, given in models
    ]
    if not tree.exact and arrays.read([tree.row_error])[0] <= 1:
        return
    for (name, given), totals in zip(models, every, strict=True):
        for node, row in enumerate(given.rows):
            where = f"{name} row after context {format_context(nodes.path(node))!r}"
            if not bool((row >= 0).all()):
                raise ValueError(f"{where}: it has a negative entry or NaN; expected probabilities")
            if not abs(totals[node] - 1) <= tolerance:
                raise ValueError(f"{where}: the entries sum to {totals[node]}; expected 1")
    if tree.drafting.from_draft:
        for node in range(1, len(nodes)):
            if not tree.drafted[node - 1] > 0:
                raise ValueError(undrafted(nodes, node))


def row_error(tree: DraftTree, tolerance: float) -> Array:
    """(1,): what `DraftTree.row_error` is, on the device."""
    arrays = tree.arrays
    errors = [given.error() for given in (tree.pairs.target, tree.pairs.draft)]
    if arrays.numpy:
        worst = math.nan if any(map(math.isnan, errors)) else max(errors)
        return np.array([math.inf if _undraftable(tree) else worst / tolerance])
    xp = arrays.xp
    error = xp.max(xp.stack(errors)) / tolerance
    return xp.reshape(xp.where(_undraftable(tree), xp.inf, error), (1,))


def _undraftable(tree: DraftTree) -> Array:
    """(): whether there is a drafted token to which the draft, where it is drawn from, gives no probability."""
    arrays, nodes = tree.arrays, tree.nodes
    if not tree.drafting.from_draft or len(nodes) == 1:
        return arrays.zeros(1)[0] > 0
    above, token = arrays.index(nodes.parent[1:]), arrays.index(nodes.token[1:])
    return arrays.xp.min(tree.pairs.draft.given_entries(above, token)) <= 0
