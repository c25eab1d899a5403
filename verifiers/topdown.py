"""Verifiers that walk down the drafted tree, emitting one token at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .arrays import Array, Arrays
from .laws import AcceptanceLaw, residual_laws
from .nodes import Ints
from .paths import DraftTree


class Emission(NamedTuple):
    """The law of the token that a rule emits at a node, for g nodes at once.

    It emits the j-th continuation with probability `accepted[j]`, and with probability `rejected` a token drawn
    from the residual, max(0, target - taken min(draft, share target)) over its sum. They sum to one.

    Attributes:
        accepted: for each continuation an array (g,); empty for a rule that never looks at them.
        rejected: (g,).
        taken: (g,), how much of the draft is taken from the target; None for nothing.
        share: (g,), the share of the target that can be taken, or None where it can be more than all.
    """

    accepted: list[Array]
    rejected: Array
    taken: Array | None = None
    share: Array | None = None

    def left(self, arrays: Arrays, target: Array, draft: Array) -> Array:
        """(g, V): the residuals before they are divided by their sums, in the draft's memory.

        From rows (g, V), which may be laws times a factor, the same for both.
        """
        if self.taken is None:
            draft[...] = target
            return draft
        if self.share is not None:
            arrays.xp.minimum(draft, target * self.share[:, None], out=draft)
        draft *= self.taken[:, None]
        return arrays.positive(arrays.subtract(target, draft))


class Continuations(NamedTuple):
    """What a rule is shown at g nodes, each with m continuations.

    Attributes:
        wanted, drafted: (g, m), the target's and the draft's probabilities of the continuations.
        laws: the function that gives the laws of both, twice (g, V), which must not be changed.
    """

    wanted: Array
    drafted: Array
    laws: Callable[[], tuple[Array, Array]]


Rule = Callable[[Arrays, Continuations], Emission]
"""From what is drafted after some nodes to what is emitted there."""


def top_down(tree: DraftTree, rule: Rule) -> AcceptanceLaw:
    """The law of walking down from the root with a rule that emits one token per node.

    At node z the surviving paths are those that pass z, and their next tokens, duplicates included and in
    drafting order, are its continuations. The rule emits y. If y is one of the continuations, the walk moves
    to zy with the paths that have it, however y came about; otherwise it stops, Z = z and Y = y. At a leaf Y
    is drawn from the target.

    The law of what is emitted at a node depends on the node alone, so all nodes with equally many
    continuations can be done at once, and only the probability of reaching a node is carried down. Residuals
    are three numbers each until one of them is drawn from.
    """
    tree = tree.in_memory()
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    follow, leave, taken, shares = [], [], [], []
    order, edges = [], []
    drafted = np.zeros((len(nodes), nodes.paths), dtype=np.int64)
    for family in nodes.by_paths:
        tokens_there = nodes.token[family.children]
        # A node with fewer continuations names its first one again.
        drafted[family.nodes] = tokens_there[:, :1]
        drafted[family.nodes, : tokens_there.shape[1]] = tokens_there
        for part in arrays.parts(len(family.nodes), tree.vocab):
            here, tokens = arrays.index(family.nodes[part]), arrays.index(tokens_there[part])
            emission = rule(arrays, _continuations(tree, here, family.children[part]))
            remaining = _left(tree, emission, here)
            total = arrays.sum(remaining)
            for j in range(tokens.shape[1]):
                drawn = arrays.divide(arrays.pick(remaining, tokens[:, j]), total)
                follow.append(emitted(arrays, emission, tokens, j, drawn))
                edges.append(family.children[part, j])
            for j in range(tokens.shape[1]):
                arrays.clear(remaining, tokens[:, j])
            leave.append(emission.rejected * arrays.divide(arrays.sum(remaining), total))
            taken.append(emission.taken)
            shares.append(emission.share)
            order.append(family.nodes[part])

    # Every continuation that leads to a child has the same entry, the mass of its token: take the first.
    _, entry = np.unique(np.concatenate(edges), return_index=True)
    follow_child = arrays.take(xp.concat(follow), arrays.index(entry))
    place = arrays.index(np.argsort(np.concatenate(order)))
    reach = [arrays.ones(1)]
    for length in range(1, nodes.depth + 1):
        start, end = (int(bound) for bound in nodes.level_start[length : length + 2])
        above = arrays.index(nodes.parent[start:end] - nodes.level_start[length - 1])
        reach.append(arrays.take(reach[-1], above) * follow_child[start - 1 : end - 1])
    stop = xp.concat([xp.concat(reach[:-1]) * arrays.take(xp.concat(leave), place), reach[-1]])
    taken_at, share_at = (
        None if parts[0] is None else arrays.take(xp.concat(parts), place) for parts in (taken, shares)
    )
    continuations = arrays.index(drafted)

    def rows(index: Array) -> Array:
        leaf = index >= nodes.inner
        inner = xp.where(leaf, 0, index)
        what_is_left = (None if part is None else arrays.take(part, inner) for part in (taken_at, share_at))
        left = _left(tree, Emission([], stop, *what_is_left), inner)
        for j in range(nodes.paths):
            arrays.clear(left, arrays.take(continuations, inner)[:, j])
        return residual_laws(tree, index, left, ~leaf)

    return AcceptanceLaw(tree, stop, rows)


def _continuations(tree: DraftTree, here: Array, children: Ints) -> Continuations:
    """Of nodes (g,) with children (g, m), one for each path, on the host."""
    edges = tree.arrays.index(children.ravel() - 1)
    wanted, drafted = (
        tree.arrays.take(masses, edges).reshape(children.shape) for masses in (tree.wanted, tree.drafted)
    )
    return Continuations(wanted, drafted, lambda: (tree.target_rows(here), tree.draft_rows(here)))


def _left(tree: DraftTree, emission: Emission, here: Array) -> Array:
    """(g, V): the residuals at nodes (g,), each up to a factor, in memory of their own."""
    if emission.taken is None:
        return tree.target_rows(here)
    target, total = tree.given_target(here)
    return emission.left(tree.arrays, target, tree.draft_rows(here, total))


def emitted(arrays: Arrays, emission: Emission, tokens: Array, place: int, drawn: Array) -> Array:
    """(g,): how likely the token of one continuation is emitted, accepted under any place or drawn.

    Args:
        arrays: the kind of number.
        emission: what the rule says.
        tokens: (g, m), the continuations.
        place: which of them.
        drawn: (g,), the probability of its token in the residual.
    """
    mass = emission.rejected * drawn
    for i, accepted in enumerate(emission.accepted):
        mass = mass + arrays.xp.where(tokens[:, i] == tokens[:, place], accepted, arrays.zero)
    return mass
