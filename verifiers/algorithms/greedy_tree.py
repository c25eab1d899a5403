"""Greedy tree sampling: the likeliest tokens for sure, and one draw from the others."""

from __future__ import annotations

import numpy as np
from nodebudget.lp.drafting import LikeliestAndSample

from ..arithmetic.arrays import Arrays
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Needs, Verifier
from .one_step import Continuations, Emission, Rule
from .topdown import top_down

LIKELIEST_AND_SAMPLE = Needs(
    "the likeliest tokens and one draw, top-sample", lambda drafting: isinstance(drafting, LikeliestAndSample)
)


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node try the token that was drawn, then emit from the residual.

    With the likeliest children called top, u the draw from ms = the draft off top, renormalised: u is accepted with
    probability min(1, p(u) / ms(u)), else the token is drawn from max(0, p - ms) over its sum, in which the tokens of
    top have all of p. If that is one of top the walk goes on below it. Lossless.

    To be read: `nodebudget.verifiers.plain.greedy`, the same in Fractions.
    Reference: arXiv:2502.18779; statement 15.3.
    """
    return top_down(tree, one_step(tree))


def one_step(tree: DraftTree) -> Rule:
    """The rule for what was drafted."""
    drafting = tree.drafting
    assert isinstance(drafting, LikeliestAndSample)
    counts = np.array(drafting.children)

    def rule(arrays: Arrays, here: Continuations) -> Emission:
        """Accept the drawn token, else emit from the residual, in which top is whole (`one_step.Rule`)."""
        assert here.at is not None
        nodes, count = here.wanted.shape
        length = tree.nodes.lengths[here.at.family.nodes]
        # Where fewer tokens have mass than are to be drawn, all of them are top, and nothing is drawn.
        sampled = arrays.index(counts[length] == count) > 0
        p, q, zero, one = here.wanted[:, -1], here.drafted[:, -1], arrays.zeros(nodes), arrays.ones(nodes)
        rest = here.at.draft_without(count - 1)
        ms = arrays.divide(q, rest)
        where = arrays.xp.where
        accept = where(sampled, arrays.divide(arrays.xp.minimum(p, ms), ms), zero)
        reject = where(sampled, arrays.divide(arrays.positive(ms - p), ms), one)
        taken = where(sampled, arrays.divide(one, rest), zero)
        last = arrays.positive(p - taken * q)
        left = arrays.xp.concat([here.wanted[:, :-1], last[:, None]], axis=1)
        return Emission([zero] * (count - 1) + [accept], reject, taken, left=left)

    return rule


VERIFIER = Verifier(
    "greedy",
    law,
    multipath=True,
    reference="arXiv:2502.18779; statement 15.3",
    needs=LIKELIEST_AND_SAMPLE,
    one_step=one_step,
)
