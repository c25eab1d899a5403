"""Laws that accept a prefix of one path: token verification, and block verification on any path."""

from __future__ import annotations

from collections.abc import Callable

from ..arithmetic.arrays import Array, Arrays
from ..arithmetic.scaled import Scaled, scaled
from ..drafts.laws import AcceptanceLaw, residual_laws
from ..drafts.paths import DraftTree

Left = Callable[[Array, Array], Array]
"""From positions (m,) on a path, 0..L-1, and how much is taken from the target there, (m,), to what is left."""

Residual = Callable[[Array], Array]
"""From positions (m,) on a path, 0..L-1, to what is left of the target's laws there, (m, V), in memory of its own."""


def along_path(tree: DraftTree, path: Array, stop: Array, residual: Residual) -> AcceptanceLaw:
    """The law that accepts the first i tokens of one path with a given probability.

    Args:
        tree: the drafted paths.
        path: (L + 1,) index array, the nodes of the path from the root; it may have been chosen on the
            device.
        stop: (L + 1,), Pr[|Z| = i].
        residual: the law of Y given |Z| = i < L, up to a factor. A row without mass belongs to an i that has no
            probability; the target's row stands in for it. After the last token Y is drawn from the target.
    """
    arrays, xp, depth = tree.arrays, tree.arrays.xp, tree.nodes.depth
    lengths = arrays.index(tree.nodes.lengths)
    everywhere = arrays.positions(len(tree.nodes))
    on_path = arrays.take(path, lengths) == everywhere

    def rows(index: Array) -> Array:
        length = arrays.take(lengths, index)
        inside = arrays.take(on_path, index) & (length < depth)
        position = xp.where(length < depth, length, depth - 1)
        return residual_laws(tree, index, lambda: residual(position), inside)

    return AcceptanceLaw(tree, xp.where(on_path, arrays.take(stop, lengths), arrays.zero), rows)


def block_along_path(
    tree: DraftTree, path: Array, drafted: Scaled, left_sums: Left, left_rows: Left
) -> AcceptanceLaw:
    """Block verification on one path that was drawn from certain conditional laws (to be read: `plain/bv.py`).

    With target conditionals p and these conditionals q along the path x: w_0 = 1 and
    w_i = min(1, w_{i-1} p(x_i) / q(x_i)). For i < L, S_i = sum_y max(0, w_i p(y) - q(y)) and
    h_i = S_i / (S_i + 1 - w_i), 1 where the denominator is 0; h_0 = 1 and h_L = w_L. The accepted length is
    the largest i whose coin of probability h_i succeeds, Pr[|Z| = i] = h_i prod_{j > i} (1 - h_j), and Y is
    drawn from max(0, w_i p - q), from p at i = L.

    Args:
        tree: the drafted paths, for the target's probabilities.
        path: (L + 1,) index array, the nodes of the path.
        drafted: (L,), the probabilities in q of the path's tokens, which may be too small for a float.
        left_sums: the sums of max(0, p - taken q).
        left_rows: these rows themselves.
    """
    arrays, xp = tree.arrays, tree.arrays.xp
    w = scaled(arrays, tree.wanted_along(path)).over(drafted).capped_products()
    positions = arrays.positions(tree.nodes.depth)
    before = w.take(positions)
    # max(0, w p - q) up to the factor w: the difference keeps its relative accuracy when w is tiny.
    inverse = before.inverse()
    weights = w.value()
    S = before.times(_sums_left(arrays, positions, weights, inverse, left_sums)).value()
    miss = _misses(arrays, weights, S)
    # |Z| = i where coin i shows success and all behind it have failed.
    beyond = xp.flip(arrays.products(xp.flip(miss, axis=0)), axis=0)
    h = xp.concat([arrays.ones(1), 1 - miss])

    def residual(position: Array) -> Array:
        return left_rows(position, arrays.take(inverse, position))

    return along_path(tree, path, h * beyond, residual)


def _sums_left(arrays: Arrays, positions: Array, w: Array, inverse: Array, left_sums: Left) -> Array:
    """(L,): S_i / w_i at positions 0..L-1; 0 where it need not be summed, as at the root and where w is 0 or 1."""
    # Coins of weight one never fail, the root's among them, and those of weight zero always do.
    below = positions[1:]
    if arrays.numpy:
        below = below[(1 - w[1:-1] > 0) & (w[1:-1] > 0)]
    sums = arrays.zeros(len(positions))
    if len(below):
        sums[below] = left_sums(below, arrays.take(inverse, below))
    return sums


def _misses(arrays: Arrays, w: Array, S: Array) -> Array:
    """(L,): 1 - h_i for i = 1..L; never where S + 1 - w = 0."""
    lack = 1 - w[:-1]
    return arrays.xp.concat([arrays.divide(lack, S + lack)[1:], 1 - w[-1:]])
