"""Block verification: one path, judged as a whole."""

from __future__ import annotations

from nodebudget.lp import Instance, block_budgets
from nodebudget.lp.drafting.iid_paths import check_paths

from ..arithmetic.arrays import Array
from ..arithmetic.scaled import scaled
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Verifier
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
    arrays, nodes = tree.arrays, tree.of_paths
    path = arrays.index(nodes.path_nodes[0])

    def sums(position: Array, taken: Array) -> Array:
        return tree.pairs.left_sums(arrays.take(path, position), taken)

    def rows(position: Array, taken: Array) -> Array:
        return tree.pairs.left_rows(arrays.take(path, position), taken)[0]

    return block_along_path(tree, path, scaled(arrays, tree.drafted_along(path)), sums, rows)


def budgets(instance: Instance, paths: int) -> Array:
    """array (n,): Pr[z is a prefix of Z] for every node z of an instance (statement 5.2)."""
    check_paths(paths)
    return block_budgets(instance)


VERIFIER = Verifier(
    "bv",
    law,
    multipath=False,
    reference="arXiv:2403.10444; statements 5.1 to 5.3",
    blind_below=True,
    one_pass=budgets,
)
