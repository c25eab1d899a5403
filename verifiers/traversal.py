"""Traversal verification: from the leaves up, the whole tree."""

from __future__ import annotations

from functools import partial

import numpy as np

from .arrays import Array, Arrays
from .extended import Extended, join
from .laws import AcceptanceLaw
from .paths import DraftTree


def law(tree: DraftTree) -> AcceptanceLaw:
    """Try the nodes from the leaves up, depth first, and accept the first that passes.

    Duplicate nodes are merged, and children are in order of first appearance. Weights: W(root) = 1 and
    W(zy) = min(1, W(z) r_z(y) / d_z(y)), with r = target and d = draft at first. The first leaf in
    depth-first order is accepted with its weight, the root always, and Y is drawn from r there. A rejected
    leaf is removed, and at its parent z, with R = max(0, W(z) r_z - d_z) and |R| its sum: W(z) becomes |R| /
    (|R| + 1 - W(z)), 0 where |R| = 0, r_z becomes R / |R|, and d_z loses the removed token and is
    renormalised. The weights below z follow, and the next leaf is tried.

    Lossless; block verification for one path.

    Reference: arXiv:2505.12398; statement 10.1.
    """
    tree = tree.in_memory()
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    # Removing a child changes its parent only, and in the same way whatever happened below the child. So
    # every node's states can be computed from its own weight, nodes of a level with equally many children
    # together; the depth-first order enters only at the end, as the order in which nodes are tried. A node's
    # residual is the inverse weights of its states until it is drawn from.
    level = Extended(arrays, arrays.ones(1))
    final_weight, inverses, order = [], [], []
    most = max(len(below) for below in nodes.children)
    drafted = np.zeros((nodes.inner, most), dtype=np.int64)
    for length in range(nodes.depth):
        start = nodes.level_start[length]
        child_weight, children = [], []
        for family in nodes.by_children(length):
            count = family.children.shape[1]
            # A node with fewer children names its first one again, with nothing to take.
            drafted[family.nodes] = nodes.token[family.children[:, :1]]
            drafted[family.nodes, :count] = nodes.token[family.children]
            for part in arrays.parts(len(family.nodes), tree.vocab):
                here = arrays.index(family.nodes[part])
                weight = level.take(arrays.index(family.nodes[part] - start))
                scales: list[Array] = []
                left: tuple[Array, Array] | None = None  # the laws r and d, once a child has been removed
                for j in range(count):
                    child = family.children[part, j]
                    token = arrays.index(nodes.token[child])
                    scales.append(weight.inverse())
                    if left is None:
                        edge = arrays.index(child - 1)
                        wanted, offered = (arrays.take(of, edge) for of in (tree.wanted, tree.drafted))
                        taken = partial(_scaled_draft, tree, here, scales[0])
                        excess, total = tree.target_left(here, taken)
                    else:
                        wanted, offered = (arrays.pick(law, token) for law in left)
                        excess = arrays.positive(arrays.subtract(left[0], left[1] * scales[j][:, None]))
                        total = arrays.one
                    child_weight.append(weight.times(Extended(arrays, wanted).over(offered)).capped())
                    children.append(child)
                    mass = weight.times(arrays.sum(excess) / total)
                    weight = mass.over(mass.value() + (1 - weight.value()))
                    if j + 1 < count:
                        left = left or (tree.target_rows(here), tree.draft_rows(here))
                        left = _without_child(arrays, excess, *left, token)
                final_weight.append(weight.value())
                scales += [arrays.zeros(len(family.nodes[part]))] * (most - count)
                inverses.append(xp.stack(scales, axis=1))
                order.append(family.nodes[part])
        level = join(child_weight).take(arrays.index(np.argsort(np.concatenate(children))))
    place = arrays.index(np.argsort(np.concatenate(order)))
    weights = xp.concat([arrays.ones(1), arrays.take(xp.concat(final_weight), place)[1:], level.value()])
    tried = arrays.take(weights, arrays.index(nodes.post_order))
    turn = arrays.index(np.argsort(nodes.post_order))
    stop = weights * arrays.take(arrays.products(1 - tried), turn)
    scales_at, tokens_at = arrays.take(xp.concat(inverses), place), arrays.index(drafted)

    def residuals(index: Array) -> Array:
        target = tree.target_rows(index)
        leaf = index >= nodes.inner
        inner = xp.where(leaf, 0, index)
        scales, tokens = arrays.take(scales_at, inner), arrays.take(tokens_at, inner)
        left, drafts = target, tree.draft_rows(inner)
        for j in range(most):
            excess = arrays.positive(left - drafts * scales[:, j][:, None])
            left, drafts = _without_child(arrays, excess, left, drafts, tokens[:, j])
        return xp.where(leaf[:, None], target, left)

    return AcceptanceLaw(tree, stop, residuals)


def _scaled_draft(tree: DraftTree, here: Array, scale: Array, factor: Array) -> Array:
    return tree.draft_rows(here, scale * factor)


def _without_child(
    arrays: Arrays, excess: Array, rows: Array, drafts: Array, token: Array
) -> tuple[Array, Array]:
    """The laws r and d of nodes after the child by `token` has been removed.

    `excess` is R over the weight W, max(0, r - d / W), since W may be too small for a float. Without mass any
    law will do.
    """
    drafts = arrays.without(drafts, token)
    return arrays.normalise(excess, lambda: rows), arrays.normalise(drafts, lambda: drafts)
