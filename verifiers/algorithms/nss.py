"""Naive speculative sampling: emit the target's token, keep the draft while it agrees."""

from __future__ import annotations

from nodebudget.lp import Instance, hit_probability
from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.numbers.rationals import Array, fast, fill, settled

from ..arithmetic.arrays import Arrays
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Verifier
from .topdown import Continuations, Emission, top_down


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node emit a token drawn from the target.

    The walk goes on while some path continues with the emitted token, and stops with it otherwise (see
    `top_down`). Lossless, for drafted paths of any law.

    To be read: `nodebudget.verifiers.plain.nss`, the same in Fractions.
    Reference: the naive sampling of arXiv:2305.09781; statement 10.1.
    """
    return top_down(tree, rule)


def rule(arrays: Arrays, here: Continuations) -> Emission:
    """Emit a token drawn from the target, whatever the continuations are (`topdown.Rule`)."""
    nodes = len(here.wanted)
    return Emission([], arrays.ones(nodes), arrays.zeros(nodes))


def budgets(instance: Instance, paths: int) -> Array:
    """array (n,): Pr[z is a prefix of Z] for every node z of an instance.

    The tokens do not depend on what was drafted, so D(z) = p(z) f(q(z)), f(t) = 1 - (1 - t)^K.
    """
    check_paths(paths)
    hit = [hit_probability(mass, paths) for mass in fast(instance.joint_draft)]
    return settled(fast(instance.joint_target) * (fill(hit) if instance.exact else hit))


VERIFIER = Verifier(
    "nss",
    law,
    multipath=True,
    reference="arXiv:2305.09781; statement 10.1",
    ordered=False,
    one_pass=budgets,
)
