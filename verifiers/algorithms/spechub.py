"""SpecHub: the likeliest token, the hub, and one other; what one oversupplies goes to the hub."""

from __future__ import annotations

from nodebudget.lp.drafting import LikeliestAndSample, WithoutReplacement

from ..arithmetic.arrays import Arrays
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Needs, Verifier
from .one_step import Continuations, Emission
from .topdown import top_down

TWO_TOKENS = Needs(
    "two tokens at each node, top-sample:2,..,2 or without:2,..,2",
    lambda drafting: (
        isinstance(drafting, LikeliestAndSample | WithoutReplacement) and set(drafting.children) == {2}
    ),
)


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node transport the drafted pair to the target by way of the hub.

    The hub a is the draft's likeliest token. A pair is drafted in order, with Q(i, a) = q(i) and
    Q(a, i) = q(a) q(i) / (1 - q(a)), and no pair is without the hub: as a set it is the hub and one draw from the
    others, renormalised, and which came first is a coin of the verifier. In this order, each time from what is left:
    of (i, a) as much goes to i as p(i) asks for; of (a, i) likewise; what is left of all (a, i) goes to a, all pairs
    alike; then that of all (i, a). The remaining pairs go to what remains of p, in which a has no part. Lossless.

    For two ordinary draws without replacement, which the paper does not draw, the first of them is the hub: the same
    steps are lossless given any token that was drawn first (statement 15.3).

    Walked down it has the node budgets of greedy tree sampling with two children, token by token; the chance of a
    given the pair is another one, so that the two lifts differ.

    To be read: `nodebudget.verifiers.plain.spechub`, the same in Fractions.
    Reference: arXiv:2411.05289, in the order of steps of the verification in its public code; statement 15.1.
    """
    return top_down(tree, rule)


def rule(arrays: Arrays, here: Continuations) -> Emission:
    """Transport the pair of hub and drawn token (`one_step.Rule`)."""
    assert here.at is not None
    nodes, count = here.wanted.shape
    if count == 1:  # the hub alone has mass under the draft
        return Emission([], arrays.ones(nodes), arrays.zeros(nodes))
    xp, divide, positive = arrays.xp, arrays.divide, arrays.positive
    p, q = here.wanted[:, 1], here.drafted[:, 1]
    wanted, hub = here.wanted[:, 0], here.drafted[:, 0]
    others = here.at.draft_without(1)
    both = divide(q, others)  # Q(i, a) + Q(a, i)
    # What is left of Q(a, i) and of Q(i, a) when i has its part, and of all i together. The sum of the first is a
    # difference, but has a part of at most q(a) in any chance, so that what cancels does not matter.
    ahead, behind = xp.minimum(both * hub, positive(both - p)), positive(q - p)
    every_behind = here.at.over_without(arrays.ones(nodes), 1)
    every_ahead = positive(divide(here.at.over_without(others + arrays.zero, 1), others) - every_behind)
    needed = positive(wanted - every_ahead)
    kept = ahead * divide(xp.minimum(wanted, every_ahead), every_ahead) + behind * divide(
        xp.minimum(needed, every_behind), every_behind
    )
    rest = ahead * divide(positive(every_ahead - wanted), every_ahead) + behind * divide(
        positive(every_behind - needed), every_behind
    )
    taken = divide(arrays.ones(nodes), others)
    left = xp.stack([arrays.zeros(nodes), positive(p - both)], axis=1)
    accepted = [divide(kept, both), divide(xp.minimum(p, both), both)]
    return Emission(accepted, divide(rest, both), taken, left=left)


VERIFIER = Verifier(
    "spechub",
    law,
    multipath=True,
    reference="arXiv:2411.05289; statement 15.1",
    needs=TWO_TOKENS,
    one_step=lambda tree: rule,
)
