"""Token verification: one path, one token at a time."""

from __future__ import annotations

from nodebudget.lp import Instance, token_budgets
from nodebudget.lp.drafting.iid_paths import check_paths

from ..arithmetic.arrays import Array
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Verifier
from .single_path import along_path


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the first path; accept its next token y with probability min(1, target(y) / draft(y)).

    At the first rejection stop with Y drawn from the residual, max(0, target - draft) over its sum; after the
    last token Y is drawn from the target. The other paths are ignored.

    Lossless. Its node budgets, D(zy) = D(z) min(target(y|z), draft(y|z)), are nowhere larger than those of
    block verification.

    To be read: `nodebudget.verifiers.plain.token`, the same in Fractions.
    Reference: arXiv:2211.17192 and arXiv:2302.01318; statement 5.4.
    """
    tree = tree.in_memory()
    arrays, xp = tree.arrays, tree.arrays.xp
    path = arrays.index(tree.of_paths.path_nodes[0])
    p, q = tree.wanted_along(path), tree.drafted_along(path)
    accept = arrays.divide(xp.minimum(p, q), q)
    reject = arrays.divide(arrays.positive(q - p), q)
    stop = arrays.products(accept) * xp.concat([reject, arrays.ones(1)])

    def residual(position: Array) -> Array:
        return tree.pairs.left_rows(arrays.take(path, position), arrays.ones(len(position)))[0]

    return along_path(tree, path, stop, residual)


def budgets(instance: Instance, paths: int) -> Array:
    """array (n,): Pr[z is a prefix of Z] for every node z of an instance (statement 5.4)."""
    check_paths(paths)
    return token_budgets(instance)


VERIFIER = Verifier(
    "token",
    law,
    multipath=False,
    reference="arXiv:2211.17192, arXiv:2302.01318; statement 5.4",
    blind_below=True,
    one_pass=budgets,
)
