"""Optimal transport at each node: the most that one step can accept, by fair transport."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from nodebudget.lp import Instance
from nodebudget.lp.drafting import FixedTree, GrownTree, LikeliestAndSample, WithoutReplacement
from nodebudget.lp.drafting.replacement import DrawnWithReplacement
from nodebudget.lp.drafting.specs import Drafted

from ..arithmetic.arrays import Array, Arrays
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Needs, Verifier
from . import nss
from .fair_draws import Fair, fair_draws
from .fair_sets import fair_listed, fair_top_sample
from .one_step import Continuations, Emission, Rows, Rule
from .survivors import top_down_budgets
from .topdown import top_down

GROWN_TREES = Needs("a tree grown node by node", lambda drafting: isinstance(drafting, GrownTree | FixedTree))

Choice = Callable[[Array, Array, Rows, int], Fair]
"""From p and q (V,), all that the rule is shown, and which of the g nodes it is asked about."""


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node choose one of the drawn tokens, then accept it or emit from the residual.

    Which flow is taken: **fair transport**. With F(S) the probability that the draws meet a set S of tokens, nu is the
    base of F that is lexicographically optimal for p: the first cell is the largest S that minimises F(S) / p(S),
    nu_y = p_y F(S) / p(S) on it; F is contracted by it, and so on; tokens with p = 0 come last. One of the drawn tokens
    is chosen such that y is with probability nu_y; y is accepted with probability min(1, p_y / nu_y), else the token is
    drawn from max(0, p - nu) over its sum. So y is accepted with min(nu_y, p_y), all together with min over S of
    F(S) + p(off S), the most that is possible at one node. Lossless.

    How a token is chosen matters to the lift. It is one of the first cell that the draws meet. Within a cell, of
    independent draws the one with the highest place wins (`fair_draws`), at any vocabulary; of the likeliest and one
    sample, the sample gives way to the likeliest ones in proportion to p (`fair_top_sample`); of other draws a maximum
    flow says (`fair_listed`), for few tokens. A fixed tree is drawn for sure: then nu is p on it, over its sum.
    With one draw this is token verification.

    To be read: `nodebudget.verifiers.plain.transport`, the same in Fractions.
    Reference: arXiv:2310.15141, arXiv:2410.18234, arXiv:2511.15898; statements 4.4, 15.1, 15.4 and 15.5.
    """
    return top_down(tree, one_step(tree))


def one_step(tree: DraftTree) -> Rule:
    """The rule for what was drafted."""
    drafting = tree.drafting
    if isinstance(drafting, FixedTree):
        return nss.rule  # choosing by p and accepting with W p(tree) emits what is drawn from the target
    if isinstance(drafting, DrawnWithReplacement):
        return with_replacement
    if isinstance(drafting, LikeliestAndSample):
        counts = np.array(drafting.children)

        def top_sample(p: Array, q: Array, rows: Rows, node: int) -> Fair:
            assert rows.lengths is not None
            drawn = rows.tokens[node]
            # Where fewer tokens have mass than are to be drawn, all of them are top, and nothing is drawn.
            sampled = bool(counts[rows.lengths[node]] == len(drawn))
            return fair_top_sample(p, q, drawn[: len(drawn) - sampled], sampled)

        return lambda arrays, here: _choose_then_accept(arrays, here, top_sample)
    assert isinstance(drafting, GrownTree)
    grown = drafting

    def listed(p: Array, q: Array, rows: Rows, node: int) -> Fair:
        return fair_listed(p, q, rows.tokens.shape[1], grown)

    single = isinstance(drafting, WithoutReplacement)
    return lambda arrays, here: _choose_then_accept(arrays, here, listed, single=single)


def with_replacement(arrays: Arrays, here: Continuations) -> Emission:
    """Choose one of independent draws, then accept it or not (`one_step.Rule`)."""
    return _choose_then_accept(
        arrays, here, lambda p, q, rows, node: fair_draws(p, q, rows.tokens.shape[1], rows.rounding)
    )


def _choose_then_accept(
    arrays: Arrays, here: Continuations, choice: Choice, *, single: bool = True
) -> Emission:
    """Accept the chosen token with min(1, W p / nu), else emit from what nu leaves of W p (15.4).

    `single` says that one draw alone has the draft's law.
    """
    nodes, count = here.wanted.shape
    if count == 1 and single:  # it is the one that is chosen: nu is the draft
        wanted, drafted = here.wanted[:, 0], here.drafted[:, 0]
        accepted = arrays.divide(arrays.xp.minimum(wanted, drafted), drafted)
        return Emission(
            [accepted], arrays.divide(arrays.positive(drafted - wanted), drafted), arrays.ones(nodes)
        )
    rows = here.rows()
    target, draft = (arrays.on_host(laws) for laws in (rows.target, rows.draft))
    fair: dict[int, Fair] = {}
    chances, masses = [], []
    for node, (row, drawn) in enumerate(zip(rows.row.tolist(), rows.tokens, strict=True)):
        if row not in fair:
            fair[row] = choice(target[row], draft[row], rows, node)
        chances.append(fair[row].choose(drawn))
        masses.append(fair[row].nu[drawn])
    chosen, nu = (arrays.from_rows(np.stack(part)) for part in (chances, masses))
    kept = arrays.divide(arrays.xp.minimum(here.wanted, nu), nu)
    lost = arrays.divide(arrays.positive(nu - here.wanted), nu)
    unchosen = arrays.xp.where(arrays.sum(chosen) == 0, arrays.one, arrays.zero)
    accepted, rejected = chosen * kept, arrays.sum(chosen * lost) + unchosen

    def left() -> Array:
        base = arrays.from_rows(np.stack([fair[row].nu for row in rows.row.tolist()]))
        wanted = arrays.take(rows.target, arrays.index(rows.row))
        weighted = wanted if here.at is None else here.at.weighted(wanted)
        return arrays.positive(arrays.subtract(weighted, base))

    return Emission(
        [accepted[:, j] for j in range(count)],
        rejected,
        arrays.zeros(nodes),
        left=arrays.positive(here.wanted - nu),
        rows=left,
    )


def budgets(instance: Instance, drafted: Drafted) -> Array | None:
    """array (n,): Pr[z is a prefix of Z] of K i.i.d. paths, by the number of surviving paths.

    None for other draftings, and where a node has too many continuations.
    """
    return top_down_budgets(instance, drafted, with_replacement) if isinstance(drafted, int) else None


VERIFIER = Verifier(
    "transport",
    law,
    multipath=True,
    reference="arXiv:2310.15141, arXiv:2410.18234, arXiv:2511.15898; statement 15.5",
    needs=GROWN_TREES,
    one_step=one_step,
    one_pass=budgets,
)
