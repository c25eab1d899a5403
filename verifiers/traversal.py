"""Traversal verification: from the leaves up, the whole tree."""

from __future__ import annotations

import numpy as np

from .arrays import Array
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
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    target, draft = tree.working_rows()
    # Removing a child changes its parent only, and in the same way whatever happened below the child. So
    # every node's states can be computed from its own weight, all nodes of a level with equally many children
    # at once; the depth-first order enters only at the end, as the order in which nodes are tried.
    level = Extended(arrays, arrays.ones(1))
    final_weight, final_rows, order = [], [], []
    for length in range(nodes.depth):
        start = nodes.level_start[length]
        child_weight, children = [], []
        for family in nodes.by_children(length):
            here = arrays.index(family.nodes)
            weight = level.take(arrays.index(family.nodes - start))
            rows, drafts = arrays.take(target, here), arrays.take(draft, here)
            tokens = arrays.index(nodes.token[family.children])
            for j in range(family.children.shape[1]):
                token = tokens[:, j]
                ratio = Extended(arrays, arrays.pick(rows, token)).over(arrays.pick(drafts, token))
                child_weight.append(weight.times(ratio).capped())
                children.append(family.children[:, j])
                weight, rows, drafts = _without_child(weight, rows, drafts, token)
            final_weight.append(weight.value())
            final_rows.append(rows)
            order.append(family.nodes)
        level = join(child_weight).take(arrays.index(np.argsort(np.concatenate(children))))
    place = arrays.index(np.argsort(np.concatenate(order)))
    weights = xp.concat([arrays.take(xp.concat(final_weight), place), level.value()])
    residuals = xp.concat([arrays.take(xp.concat(final_rows), place), target[nodes.inner :]])

    weights = xp.concat([arrays.ones(1), weights[1:]])
    tried = arrays.take(weights, arrays.index(nodes.post_order))
    turn = arrays.index(np.argsort(nodes.post_order))
    stop = weights * arrays.take(arrays.products(1 - tried), turn)
    return AcceptanceLaw(tree, stop, lambda index: arrays.take(residuals, index))


def _without_child(
    weight: Extended, rows: Array, drafts: Array, token: Array
) -> tuple[Extended, Array, Array]:
    """The state (W, r, d) of nodes after the child by `token` has been rejected and removed."""
    arrays = weight.arrays
    # R up to the factor W, which may be too small for a float. Without mass W becomes 0 and any law will do.
    excess = arrays.positive(rows - drafts * weight.inverse()[:, None])
    mass = weight.times(arrays.sum(excess))
    drafts = arrays.without(drafts, token)
    return (
        mass.over(mass.value() + 1 - weight.value()),
        arrays.normalise(excess, rows),
        arrays.normalise(drafts, drafts),
    )
