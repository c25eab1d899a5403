"""Traversal verification: from the leaves up, the whole tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algorithms import block_verification
from ..arithmetic.arrays import Array
from ..arithmetic.scaled import Scaled, join, scaled
from ..drafts.laws import AcceptanceLaw, residual_laws
from ..drafts.paths import DraftTree
from ..drafts.tree_nodes import Family
from ..verifier import Verifier


def law(tree: DraftTree) -> AcceptanceLaw:
    """Try the nodes from the leaves up, depth first, and accept the first that passes.

    Duplicate nodes are merged, and children are in order of first appearance. Weights: W(root) = 1 and
    W(zy) = min(1, W(z) r_z(y) / d_z(y)), with r = target and d = draft at first. The first leaf in
    depth-first order is accepted with its weight, the root always, and Y is drawn from r there. A rejected
    leaf is removed, and at its parent z, with R = max(0, W(z) r_z - d_z) and |R| its sum: W(z) becomes |R| /
    (|R| + 1 - W(z)), 0 where |R| = 0, r_z becomes R / |R|, and d_z loses the removed token and is
    renormalised. The weights below z follow, and the next leaf is tried.

    Lossless; block verification for one path.

    To be read: `nodebudget.verifiers.plain.traversal`, the same in Fractions.
    Reference: arXiv:2505.12398; statement 10.1.
    """
    if tree.of_paths.paths == 1:
        return block_verification.law(tree)
    tree = tree.in_memory()
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    # Removing a child changes its parent only, and in the same way whatever happened below the child. So
    # every node's states can be computed from its own weight, nodes of a level with equally many children
    # together; the depth-first order enters only at the end, as the order in which nodes are tried.
    level = scaled(arrays, arrays.ones(1))
    weights, removed, order = [], [], []
    most = max(len(below) for below in nodes.children)
    tokens_at = np.zeros((len(nodes), most), dtype=np.int64)
    for length in range(nodes.depth):
        start = nodes.level_start[length]
        child_weight, children = [], []
        for family in nodes.by_children(length):
            tokens = nodes.token[family.children]
            # A node with fewer children names its first one again.
            tokens_at[family.nodes] = tokens[:, :1]
            tokens_at[family.nodes, : tokens.shape[1]] = tokens
            weight = level.take(arrays.index(family.nodes - start))
            emptied = _remove_children(tree, family, weight)
            child_weight += emptied.children
            children += list(family.children.T)
            weights.append(emptied.weight.value())
            frozen = emptied.frozen + emptied.frozen[:1] * (most - tokens.shape[1])
            removed.append(xp.stack([emptied.taken, *frozen], axis=1))
            order.append(family.nodes)
        level = join(child_weight).take(arrays.index(np.argsort(np.concatenate(children))))
    place = arrays.index(np.argsort(np.concatenate(order)))
    final = xp.concat([arrays.ones(1), arrays.take(xp.concat(weights), place)[1:], level.value()])
    tried = arrays.take(final, arrays.index(nodes.post_order))
    turn = arrays.index(np.argsort(nodes.post_order))
    stop = final * arrays.take(arrays.products(1 - tried), turn)
    removed_at, drafted = arrays.take(xp.concat(removed), place), arrays.index(tokens_at)

    def rows(index: Array) -> Array:
        leaf = index >= nodes.inner
        inner = xp.where(leaf, 0, index)

        def left() -> Array:
            state = arrays.take(removed_at, inner)
            remaining, factor = tree.pairs.left_rows(inner, state[:, 0])
            arrays.put(remaining, arrays.take(drafted, inner), state[:, 1:] * factor[:, None])
            return remaining

        return residual_laws(tree, index, left, ~leaf)

    return AcceptanceLaw(tree, stop, rows)


class _Emptied(NamedTuple):
    """What g nodes are once all their children have been removed.

    Attributes:
        children: for each child, the weights it had when it was tried.
        weight: the nodes' own.
        taken: (g,); what is left of the target is max(0, target - taken draft) up to a factor, but at the
            removed tokens.
        frozen: for each child (g,), what is left at its token: the draft, which has lost it, takes no more of it.
    """

    children: list[Scaled]
    weight: Scaled
    taken: Array
    frozen: list[Array]


def _remove_children(tree: DraftTree, family: Family, weight: Scaled) -> _Emptied:
    """Remove the children of g nodes one after the other, from the nodes' weights at first.

    With r = max(0, p - a q) / A and d = q / b, where the draft has lost the removed tokens, R / W = max(0, r - d / W):
    a grows by A / (b W), and no row need be written down (section 10). In floats p - a q cancels where the children
    were all but never drafted: there the law given the drafted paths is off by rounding over their probability, and
    the law of the output is not.
    """
    arrays = tree.arrays
    count = family.children.shape[1]
    here, tokens = arrays.index(family.nodes), arrays.index(tree.nodes.token[family.children])
    W = weight
    a, A, b = (values(len(family.nodes)) for values in (arrays.zeros, arrays.ones, arrays.ones))
    children: list[Scaled] = []
    frozen: list[Array] = []
    for j in range(count):
        edge = arrays.index(family.children[:, j] - 1)
        p, q = arrays.take(tree.wanted, edge), arrays.take(tree.drafted, edge)
        r = arrays.divide(arrays.positive(p - a * q), A)
        d = arrays.divide(q, b)
        children.append(W.times(scaled(arrays, r).over(d)).capped())
        with np.errstate(over="ignore"):
            a = a + arrays.divide(A, b) * W.inverse()
        if not arrays.exact:
            a = a.clip(max=arrays.largest)
        removed = sum(frozen, start=arrays.zeros(len(family.nodes)))
        left = tree.pairs.left_sums(here, a, None, tokens[:, :j]) + removed
        R = W.times(arrays.divide(left, A))  # its sum
        W = R.over(R.value() + (1 - W.value()))
        frozen.append(arrays.positive(p - a * q))
        A = left
        if j + 1 < count:
            b = tree.pairs.draft_sums(here, tokens[:, : j + 1])
    return _Emptied(children, W, a, frozen)


VERIFIER = Verifier("traversal", law, multipath=True, reference="arXiv:2505.12398; statement 10.1")
