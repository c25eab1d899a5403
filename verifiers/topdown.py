"""Verifiers that walk down the drafted tree, emitting one token at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .arrays import Array, Arrays
from .laws import AcceptanceLaw
from .paths import DraftTree


class Emission(NamedTuple):
    """The law of the token that a rule emits at a node, for g nodes at once.

    It emits the j-th continuation with probability `accepted[j]`, and a token drawn from `residual` with
    probability `rejected`. They sum to one.

    Attributes:
        accepted: for each continuation an array (g,); empty for a rule that never looks at them.
        rejected: (g,).
        residual: (g, V), laws.
    """

    accepted: list[Array]
    rejected: Array
    residual: Array


Rule = Callable[[Arrays, Array, Array, Array], Emission]
"""From target rows (g, V), draft rows (g, V) and continuations (g, m), token ids, to what is emitted."""


def top_down(tree: DraftTree, rule: Rule) -> AcceptanceLaw:
    """The law of walking down from the root with a rule that emits one token per node.

    At node z the surviving paths are those that pass z, and their next tokens, duplicates included and in
    drafting order, are its continuations. The rule emits y. If y is one of the continuations, the walk moves
    to zy with the paths that have it, however y came about; otherwise it stops, Z = z and Y = y. At a leaf Y
    is drawn from the target.

    The law of what is emitted at a node depends on the node alone, so all nodes with equally many
    continuations are done at once, and only the probability of reaching a node is carried down.
    """
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    target, draft = tree.working_rows()
    follow, leave, leave_mass = [], [], []
    order, edges = [], []
    for family in nodes.by_paths:
        here = arrays.index(family.nodes)
        tokens = arrays.index(nodes.token[family.children])
        emission = rule(arrays, arrays.take(target, here), arrays.take(draft, here), tokens)
        remaining = emission.residual
        for j in range(family.children.shape[1]):
            token = tokens[:, j]
            emitted = emission.rejected * arrays.pick(emission.residual, token)
            for i, accepted in enumerate(emission.accepted):
                emitted = emitted + xp.where(tokens[:, i] == token, accepted, arrays.zero)
            follow.append(emitted)
            edges.append(family.children[:, j])
            remaining = arrays.without(remaining, token)
        leave.append(remaining)
        leave_mass.append(emission.rejected * arrays.sum(remaining))
        order.append(family.nodes)

    # Every continuation that leads to a child has the same entry, the mass of its token: take the first.
    _, entry = np.unique(np.concatenate(edges), return_index=True)
    follow_child = arrays.take(xp.concat(follow), arrays.index(entry))
    place = arrays.index(np.argsort(np.concatenate(order)))
    reach = [arrays.ones(1)]
    for length in range(1, nodes.depth + 1):
        start, end = (int(bound) for bound in nodes.level_start[length : length + 2])
        above = arrays.index(nodes.parent[start:end] - nodes.level_start[length - 1])
        reach.append(arrays.take(reach[-1], above) * follow_child[start - 1 : end - 1])
    stop = xp.concat([xp.concat(reach[:-1]) * arrays.take(xp.concat(leave_mass), place), reach[-1]])
    residuals = xp.concat([arrays.take(xp.concat(leave), place), target[nodes.inner :]])

    def rows(index: Array) -> Array:
        return arrays.normalise(arrays.take(residuals, index), arrays.take(target, index))

    return AcceptanceLaw(tree, stop, rows)
