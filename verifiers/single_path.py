"""Laws that accept a prefix of one path: token verification, and block verification on any path."""

from __future__ import annotations

from collections.abc import Callable

from .arrays import Array
from .extended import Extended, join
from .laws import AcceptanceLaw, residual_laws
from .paths import DraftTree

Laws = Callable[[Array, Array], Array]
"""From positions (m,) on a path, 0..L-1, and factors (m,) to laws times these, (m, V), in memory of their own."""

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
        left = residual(xp.where(length < depth, length, depth - 1))
        return residual_laws(tree, index, left, inside)

    return AcceptanceLaw(tree, xp.where(on_path, arrays.take(stop, lengths), arrays.zero), rows)


def block_along_path(tree: DraftTree, path: Array, draft: Laws, drafted: Extended) -> AcceptanceLaw:
    """Block verification on one path that was drawn from the conditional laws `draft`.

    With target conditionals p and draft conditionals q along the path x: w_0 = 1 and
    w_i = min(1, w_{i-1} p(x_i) / q(x_i)). For i < L, S_i = sum_y max(0, w_i p(y) - q(y)) and
    h_i = S_i / (S_i + 1 - w_i), 1 where the denominator is 0; h_0 = 1 and h_L = w_L. The accepted length is
    the largest i whose coin of probability h_i succeeds, Pr[|Z| = i] = h_i prod_{j > i} (1 - h_j), and Y is
    drawn from max(0, w_i p - q), from p at i = L.

    Args:
        tree: the drafted paths, for the target rows.
        path: (L + 1,) index array, the nodes of the path.
        draft: the laws that the path's tokens were drawn from.
        drafted: (L,), the probabilities in `draft` of the path's tokens, which may be too small for a float.
    """
    arrays, xp = tree.arrays, tree.arrays.xp
    depth = tree.nodes.depth
    wanted, _ = tree.of_path(path)
    weights = [Extended(arrays, arrays.ones(1))]
    for i in range(depth):
        step = weights[-1].times(wanted[i : i + 1]).over(drafted.take(arrays.positions(depth)[i : i + 1]))
        weights.append(step.capped())
    before = join(weights[:-1])
    inverse = before.inverse()

    def left(position: Array) -> tuple[Array, Array]:
        # max(0, w p - q) up to the factor w: the difference keeps its relative accuracy when w is tiny.
        scale = arrays.take(inverse, position)
        return tree.target_left(arrays.take(path, position), lambda factor: draft(position, scale * factor))

    # Coins of weight one never fail, the root's among them: what is left there is not summed, where that can be seen.
    positions, lack = arrays.positions(depth), 1 - before.value()
    sums = [arrays.zeros(1)]
    for part in arrays.parts(depth - 1, tree.vocab):
        if arrays.numpy and not lack[1:][part].any():
            sums.append(lack[1:][part])
            continue
        rows, factor = left(positions[1:][part])
        sums.append(arrays.sum(rows) / factor)
    excess = before.times(xp.concat(sums)).value()
    # How often coins 1 .. L fail: never where S + 1 - w = 0. The coin at the root never fails.
    miss = xp.concat([arrays.divide(lack, excess + lack)[1:], 1 - weights[-1].value()])
    beyond = xp.flip(arrays.products(xp.flip(miss, axis=0)), axis=0)
    success = xp.concat([arrays.ones(1), 1 - miss])
    return along_path(tree, path, success * beyond, lambda position: left(position)[0])
