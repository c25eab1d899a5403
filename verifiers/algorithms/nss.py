"""Naive speculative sampling: emit the target's token, keep the draft while it agrees."""

from __future__ import annotations

from nodebudget.lp import Instance
from nodebudget.lp.drafting import Problem
from nodebudget.lp.drafting.specs import Drafted, as_drafting
from nodebudget.lp.numbers.rationals import Array, fast, settled

from ..arithmetic.arrays import Arrays
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import ANY_DRAFTING, Verifier
from .one_step import Continuations, Emission
from .topdown import top_down


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node emit a token drawn from the target.

    The walk goes on while the emitted token was drafted, and stops with it otherwise (see `top_down`). Lossless for
    any drafting, even given the drafted tree.

    To be read: `nodebudget.verifiers.plain.nss`, the same in Fractions.
    Reference: the naive sampling of arXiv:2305.09781; statements 10.1, 13.3 and 13.4.
    """
    return top_down(tree, rule)


def rule(arrays: Arrays, here: Continuations) -> Emission:
    """Emit a token drawn from the target, whatever the continuations are (`topdown.Rule`)."""
    nodes = len(here.wanted)
    return Emission([], arrays.ones(nodes), arrays.zeros(nodes))


def budgets(instance: Instance, drafted: Drafted) -> Array:
    """array (n,): Pr[z is a prefix of Z] for every node z of an instance.

    The tokens do not depend on what was drafted, so D(z) = p(z) F({z}), F({z}) the probability that z is drafted;
    f(q(z)), f(t) = 1 - (1 - t)^K, for K i.i.d. paths. This is the most that a verifier can keep which is lossless
    given the drafted tree (statement 13.4), and the optimum of a fixed tree (13.3).
    """
    hits = Problem(instance, as_drafting(drafted)).single_hits
    return settled(fast(instance.joint_target) * fast(hits))


VERIFIER = Verifier(
    "nss",
    law,
    multipath=True,
    reference="arXiv:2305.09781; statement 10.1",
    ordered=False,
    needs=ANY_DRAFTING,
    one_step=lambda tree: rule,
    one_pass=budgets,
)
