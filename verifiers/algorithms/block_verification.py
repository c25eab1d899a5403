"""Block verification: one path, judged as a whole."""

from __future__ import annotations

from ..arithmetic.arrays import Array
from ..arithmetic.scaled import scaled
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from .single_path import block_along_path


def law(tree: DraftTree) -> AcceptanceLaw:
    """Block verification of the first path (see `block_along_path`); the other paths are ignored.

    Lossless, and optimal for one path: its node budgets D(zy) = min(draft(zy), target(y|z) D(z)) are the
    pointwise largest solution of the single-path linear program, even against algorithms that read off-path
    laws.

    To be read: `nodebudget.verifiers.plain.bv`, the same in Fractions.
    Reference: arXiv:2403.10444; statements 5.1 to 5.3.
    """
    tree = tree.in_memory()
    arrays, nodes = tree.arrays, tree.nodes
    path = arrays.index(nodes.path_nodes[0])

    def sums(position: Array, taken: Array) -> Array:
        return tree.pairs.left_sums(arrays.take(path, position), taken)

    def rows(position: Array, taken: Array) -> Array:
        return tree.pairs.left_rows(arrays.take(path, position), taken)[0]

    return block_along_path(tree, path, scaled(arrays, tree.drafted_along(path)), sums, rows)
