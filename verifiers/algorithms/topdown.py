"""Verifiers that walk down the drafted tree, emitting one token at a time (statement 14.1)."""

from __future__ import annotations

import numpy as np

from ..arithmetic.arrays import Array
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from .one_step import Rule, answer
from .residuals import places, residual_rows


def top_down(tree: DraftTree, rule: Rule) -> AcceptanceLaw:
    """The law of walking down from the root with a rule that emits one token per node.

    At node z the tokens that were drawn below it, copies included and in the order of drawing, are its continuations;
    of K paths they are the next tokens of those that pass z. The rule emits y. If y is one of the continuations, the
    walk moves to zy, however y came about; otherwise it stops, Z = z and Y = y. Where nothing was drawn Y is drawn
    from the target.

    The law of what is emitted at a node depends on the node alone, so all nodes with equally many
    continuations can be done at once, and only the probability of reaching a node is carried down. Residuals
    are two numbers each and sums over the vocabulary until one of them is drawn from.
    """
    tree = tree.in_memory()
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    families = nodes.by_draws
    if not families:  # nothing is drafted
        return AcceptanceLaw(tree, arrays.ones(1), tree.target_rows)
    answers = [answer(tree, rule, family) for family in families]
    follow = xp.concat([xp.reshape(each.tokens, (-1,)) for each in answers])
    # Every continuation that leads to a child has the same entry, the mass of its token: take the first.
    _, entry = np.unique(np.concatenate([family.children.ravel() for family in families]), return_index=True)
    reach = _reach(tree, arrays.take(follow, arrays.index(entry)))
    # A walk that comes to where nothing is drafted below ends there.
    ending = xp.concat([*(each.leave for each in answers), arrays.ones(1)])
    leave = arrays.take(ending, arrays.index(places(tree, families)))
    stop = xp.concat([xp.concat(reach[:-1]) * leave, reach[-1]])
    return AcceptanceLaw(tree, stop, residual_rows(tree, families, [each.residual for each in answers]))


def _reach(tree: DraftTree, follow: Array) -> list[Array]:
    """For each level the chance to come to its nodes, from that to go on to each node, (n - 1,), from its parent."""
    arrays, nodes = tree.arrays, tree.nodes
    reach = [arrays.ones(1)]
    for length in range(1, nodes.depth + 1):
        start, end = (int(bound) for bound in nodes.level_start[length : length + 2])
        above = arrays.index(nodes.parent[start:end] - nodes.level_start[length - 1])
        reach.append(arrays.take(reach[-1], above) * follow[start - 1 : end - 1])
    return reach
