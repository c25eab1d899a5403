"""Laws that accept a prefix of one path: token verification, and block verification on any path."""

from __future__ import annotations

from .arrays import Array
from .extended import Extended, join
from .laws import AcceptanceLaw
from .paths import DraftTree


def along_path(tree: DraftTree, path: Array, stop: Array, residuals: Array) -> AcceptanceLaw:
    """The law that accepts the first i tokens of one path with a given probability.

    Args:
        tree: the drafted paths.
        path: (L + 1,) index array, the nodes of the path from the root; it may have been chosen on the
            device.
        stop: (L + 1,), Pr[|Z| = i].
        residuals: (L + 1, V), the law of Y given |Z| = i, up to a factor per row. A row without mass belongs
            to an i that has no probability; the target's row stands in for it.
    """
    arrays = tree.arrays
    target, _ = tree.working_rows()
    lengths = arrays.index(tree.nodes.lengths)
    everywhere = arrays.positions(len(tree.nodes))
    on_path = arrays.take(path, lengths) == everywhere

    def rows(index: Array) -> Array:
        fallback = arrays.take(target, index)
        here = arrays.take(on_path, index)[:, None]
        residual = arrays.take(residuals, arrays.take(lengths, index))
        return arrays.normalise(arrays.xp.where(here, residual, arrays.zero), fallback)

    return AcceptanceLaw(tree, arrays.xp.where(on_path, arrays.take(stop, lengths), arrays.zero), rows)


def block_along_path(tree: DraftTree, path: Array, draft: Array, drafted: Extended) -> AcceptanceLaw:
    """Block verification on one path that was drawn from the conditional laws `draft`.

    With target conditionals p and draft conditionals q along the path x: w_0 = 1 and
    w_i = min(1, w_{i-1} p(x_i) / q(x_i)). For i < L, S_i = sum_y max(0, w_i p(y) - q(y)) and
    h_i = S_i / (S_i + 1 - w_i), 1 where the denominator is 0; h_0 = 1 and h_L = w_L. The accepted length is
    the largest i whose coin of probability h_i succeeds, Pr[|Z| = i] = h_i prod_{j > i} (1 - h_j), and Y is
    drawn from max(0, w_i p - q), from p at i = L.

    Args:
        tree: the drafted paths, for the target rows.
        path: (L + 1,) index array, the nodes of the path.
        draft: (L, V), the laws that the path's tokens were drawn from.
        drafted: (L,), the probabilities in `draft` of the path's tokens, which may be too small for a float.
    """
    arrays, xp = tree.arrays, tree.arrays.xp
    depth = tree.nodes.depth
    target = arrays.take(tree.working_rows()[0], path)
    tokens = arrays.take(arrays.index(tree.nodes.token), path[1:])
    wanted = arrays.pick(target[:depth], tokens)
    weights = [Extended(arrays, arrays.ones(1))]
    for i in range(depth):
        step = weights[-1].times(wanted[i : i + 1]).over(drafted.take(arrays.positions(depth)[i : i + 1]))
        weights.append(step.capped())
    before = join(weights[:-1])
    # max(0, w p - q) up to the factor w: the difference keeps its relative accuracy when w is tiny.
    residuals = arrays.positive(target[:depth] - draft * before.inverse()[:, None])
    excess = before.times(arrays.sum(residuals)).value()
    lack = 1 - before.value()
    # How often coins 1 .. L fail: never where S + 1 - w = 0. The coin at the root never fails.
    miss = xp.concat([arrays.divide(lack, excess + lack)[1:], 1 - weights[-1].value()])
    beyond = xp.flip(arrays.products(xp.flip(miss, axis=0)), axis=0)
    success = xp.concat([arrays.ones(1), 1 - miss])
    return along_path(tree, path, success * beyond, xp.concat([residuals, target[depth:]]))
