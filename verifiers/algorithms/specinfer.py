"""SpecInfer: multi-step speculative sampling, one drafted continuation after the other."""

from __future__ import annotations

from nodebudget.lp import Instance

from ..arithmetic.arrays import Array, Arrays
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Verifier
from .survivors import top_down_budgets
from .topdown import Continuations, Emission, top_down


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node try the continuations t_1 .. t_m in turn, duplicates included.

    With r = target at first, t_j is accepted with probability min(1, r(t_j) / draft(t_j)); after a rejection
    r becomes the residual max(0, r - draft) over its sum. After m rejections the token is drawn from r.
    Lossless.

    To be read: `nodebudget.verifiers.plain.specinfer`, the same in Fractions.
    Reference: arXiv:2305.09781; statement 10.1.
    """
    return top_down(tree, rule)


def rule(arrays: Arrays, here: Continuations) -> Emission:
    """Accept the continuations in turn against what earlier ones left of the target (`topdown.Rule`)."""
    nodes, count = here.wanted.shape
    rejected, accepted = arrays.ones(nodes), []
    # r = max(0, p - a q) / A, residual after residual, A the sum (section 10).
    a, A = arrays.zeros(nodes), arrays.ones(nodes)
    for j in range(count):
        q = here.drafted[:, j]
        r = arrays.divide(arrays.positive(here.wanted[:, j] - a * q), A)
        accepted.append(rejected * arrays.divide(arrays.xp.minimum(r, q), q))
        rejected = rejected * arrays.divide(arrays.positive(q - r), q)
        a = a + A
        if j + 1 < count:
            A = here.left(a)
    return Emission(accepted, rejected, a)


def budgets(instance: Instance, paths: int) -> Array | None:
    """array (n,): Pr[z is a prefix of Z], by the number of surviving paths.

    None where a node has too many continuations.
    """
    return top_down_budgets(instance, paths, rule)


VERIFIER = Verifier(
    "specinfer", law, multipath=True, reference="arXiv:2305.09781; statement 10.1", one_pass=budgets
)
