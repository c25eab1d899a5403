"""SpecInfer: multi-step speculative sampling, one drafted continuation after the other."""

from __future__ import annotations

from nodebudget.lp import Instance

from ..arithmetic.arrays import Array
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Verifier
from .recursive_rejection import with_replacement
from .survivors import top_down_budgets
from .topdown import top_down


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node try the continuations t_1 .. t_m in turn, duplicates included.

    With r = target at first, t_j is accepted with probability min(1, r(t_j) / draft(t_j)); after a rejection
    r becomes the residual max(0, r - draft) over its sum. After m rejections the token is drawn from r.
    Lossless; recursive rejection for K i.i.d. paths.

    To be read: `nodebudget.verifiers.plain.specinfer`, the same in Fractions.
    Reference: arXiv:2305.09781; statement 10.1.
    """
    return top_down(tree, with_replacement)


def budgets(instance: Instance, paths: int) -> Array | None:
    """array (n,): Pr[z is a prefix of Z], by the number of surviving paths.

    None where a node has too many continuations.
    """
    return top_down_budgets(instance, paths, with_replacement)


VERIFIER = Verifier(
    "specinfer",
    law,
    multipath=True,
    reference="arXiv:2305.09781; statement 10.1",
    one_step=lambda tree: with_replacement,
    one_pass=budgets,
)
