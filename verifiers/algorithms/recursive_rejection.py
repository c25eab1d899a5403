"""Recursive rejection: the draws below a node one after the other, with or without replacement."""

from __future__ import annotations

from nodebudget.lp.drafting import Delayed, IidPaths, WithoutReplacement, WithReplacement

from ..arithmetic.arrays import Arrays
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Needs, Verifier
from .one_step import Continuations, Emission, Rule
from .topdown import top_down

DRAWS = Needs(
    "draws with or without replacement",
    lambda drafting: isinstance(drafting, IidPaths | WithReplacement | Delayed | WithoutReplacement),
)


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node try the tokens t_1 .. t_m that were drawn below it in turn, copies included.

    With r = target and d = draft at first, t_j is accepted with probability min(1, r(t_j) / d(t_j)). After a rejection
    r becomes max(0, r - d) over its sum; without replacement d loses t_j and is renormalised. After m rejections the
    token is drawn from r. Lossless. For K i.i.d. paths this is SpecInfer.

    To be read: `nodebudget.verifiers.plain.recursive_rejection`, the same in Fractions.
    Reference: arXiv:2305.09781, arXiv:2402.12374; statement 15.2.
    """
    return top_down(tree, one_step(tree))


def one_step(tree: DraftTree) -> Rule:
    """The rule for what was drafted."""
    return without_replacement if isinstance(tree.drafting, WithoutReplacement) else with_replacement


def with_replacement(arrays: Arrays, here: Continuations) -> Emission:
    """Try the draws in turn against what earlier ones left of the target (`one_step.Rule`)."""
    return _in_turn(arrays, here, lost=False)


def without_replacement(arrays: Arrays, here: Continuations) -> Emission:
    """The same where the draft has lost the tokens that were drawn before."""
    return _in_turn(arrays, here, lost=True)


def _in_turn(arrays: Arrays, here: Continuations, *, lost: bool) -> Emission:
    nodes, count = here.wanted.shape
    rejected, accepted = arrays.ones(nodes), []
    # r = max(0, p - a q) / A, residual after residual, A the sum (section 10), and d = q / b off the lost tokens. A
    # token that was rejected has no mass in r, so it does not matter there that d has lost it.
    a, A, b = arrays.zeros(nodes), arrays.ones(nodes), arrays.ones(nodes)
    for j in range(count):
        if lost and j:
            assert here.at is not None
            b = here.at.draft_without(j)
        d = arrays.divide(here.drafted[:, j], b)
        r = arrays.divide(arrays.positive(here.wanted[:, j] - a * here.drafted[:, j]), A)
        accepted.append(rejected * arrays.divide(arrays.xp.minimum(r, d), d))
        rejected = rejected * arrays.divide(arrays.positive(d - r), d)
        a = a + arrays.divide(A, b)
        if j + 1 < count:
            A = here.left(a) if here.none is None else here.left(a) + here.none
    return Emission(accepted, rejected, a)


VERIFIER = Verifier(
    "recursive-rejection",
    law,
    multipath=True,
    reference="arXiv:2305.09781, arXiv:2402.12374; statement 15.2",
    needs=DRAWS,
    one_step=one_step,
)
