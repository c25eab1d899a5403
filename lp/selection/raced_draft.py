"""The skewed draft and the budgets of a selection by races, in one pass over the tree (section 16)."""

from __future__ import annotations

import numpy as np

from ..drafting.drafting import Drafting
from ..drafting.fixed_trees import FixedTree
from ..drafting.grown import GrownTree
from ..drafting.supports import support
from ..instances.instance import Instance
from ..numbers.rationals import Array, fast, settled
from .fair_orders import fair_order
from .race_entries import entries
from .races import LEVELS, Draws, Rule, fresh_levels, run


def raced_draft(
    instance: Instance, drafting: Drafting, rule: Rule = fair_order, levels: int = LEVELS
) -> tuple[Array, Array]:
    """nu and the budgets of block verification under it, in one pass over the tree (statements 16.1, 16.2 and 13.5).

    Of a fixed tree nothing is to be selected: every node has all of the target's mass, and nu is that.

    Args:
        instance: exact or float, full or sparse.
        drafting: a tree grown node by node, or a fixed one.
        rule: the order of pairs at a node, from on-path numbers.
        levels: of a score.

    Returns:
        array (n,): nu(z), the probability that the picked path passes z.
        array (n,): D(z), the budgets; their sum without the root is the expected number of accepted tokens.
    """
    if isinstance(drafting, FixedTree):
        kept = np.where(drafting.drafted(instance), instance.joint_target, instance.joint_target * 0)
        return kept, kept
    assert isinstance(drafting, GrownTree)
    tree, counts, target = instance.tree, drafting.counts(instance.depth), fast(instance.target)
    zero = target[:1] * 0
    nu, weight = np.repeat(zero, len(tree)), np.repeat(zero, len(tree))
    nu[0] = weight[0] = zero[0] + 1
    masses = {0: fresh_levels(zero[0] + 1, levels)}
    for node in range(tree.leaves.start):
        below, own = support(instance, node), masses.pop(node, None)
        if own is None or not below.tokens:
            continue
        length = int(np.searchsorted(tree.level_start, node, side="right")) - 1
        count = drafting.most_drawn(below, counts[length])
        law, draft = fast(instance.target_law(node)), fast(instance.draft_law(node))
        racing = entries(drafting, law, draft, count)
        draws = Draws(drafting, racing.below, count, levels, racing.moments)
        here = run(rule, draws, racing.wanted * weight[node], own)
        passing = here.below(own)
        for child, token in zip(below.children, below.tokens, strict=True):
            if child is None:
                continue
            p, place = law[token], racing.place[token]
            row = passing[place] * here.token(place, draft[token])
            share = row.sum()
            nu[child] = nu[node] * share
            if share > 0:
                weight[child] = min(weight[node] * p / share, zero[0] + 1)
                masses[child] = row / share
    return settled(nu), settled(nu * weight)
