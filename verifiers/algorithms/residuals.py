"""The law of the token that is emitted where a walk by a one-step rule leaves the tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..arithmetic.arrays import Array
from ..drafts.laws import residual_laws
from ..drafts.paths import DraftTree
from ..drafts.tree_nodes import Family, Ints
from .one_step import Residual


def residual_rows(
    tree: DraftTree, families: Sequence[Family], residuals: Sequence[Residual]
) -> Callable[[Array], Array]:
    """From nodes (m,) to (m, V), the laws of Y given that the walk leaves the tree there; the target's where it ends.

    Args:
        tree: the drafted tree.
        families: of its nodes, all that have continuations.
        residuals: what is left of the target at each family.
    """
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    drafted = np.zeros((len(nodes), max(family.children.shape[1] for family in families)), dtype=np.int64)
    for family in families:
        tokens = nodes.token[family.children]
        # A node with fewer continuations names its first one again.
        drafted[family.nodes] = tokens[:, :1]
        drafted[family.nodes, : tokens.shape[1]] = tokens
    continuations, ends, where = (
        arrays.index(drafted),
        arrays.index(nodes.ends),
        arrays.index(places(tree, families)),
    )

    def at_nodes(parts: Sequence[Array]) -> Array:
        return arrays.take(xp.concat([*parts, arrays.zeros(1, *parts[0].shape[1:])]), where)

    taken_at = at_nodes([residual.taken for residual in residuals])
    shares = [residual.share for residual in residuals if residual.share is not None]
    share_at = at_nodes(shares) if shares else None
    tables = [
        (arrays.index(places(tree, [family], missing=-1)), residual.rows)
        for family, residual in zip(families, residuals, strict=True)
        if residual.rows is not None
    ]

    def rows(index: Array) -> Array:
        leaf = arrays.take(ends, index) > 0
        inner = xp.where(leaf, 0, index)

        def left() -> Array:
            share = None if share_at is None else arrays.take(share_at, inner)
            remaining, _ = tree.pairs.left_rows(inner, arrays.take(taken_at, inner), share)
            for members, table in tables:
                member = arrays.take(members, inner)
                if arrays.torch or (member >= 0).any():
                    own = arrays.take(table(), xp.where(member < 0, 0, member))
                    remaining = xp.where((member >= 0)[:, None], own, remaining)
            arrays.clear(remaining, arrays.take(continuations, inner))
            return remaining

        return residual_laws(tree, index, left, ~leaf)

    return rows


def places(tree: DraftTree, families: Sequence[Family], missing: int | None = None) -> Ints:
    """(nodes.inner,): where each inner node is among the members of all families.

    What is in none has the place behind them all, or that of `missing`.
    """
    members = np.concatenate([family.nodes for family in families])
    place = np.full(tree.nodes.inner, len(members) if missing is None else missing)
    place[members] = np.arange(len(members))
    return place
