"""Verifiers that walk down the drafted tree, emitting one token at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..arithmetic.arrays import Array, Arrays
from ..drafts.laws import AcceptanceLaw, residual_laws
from ..drafts.paths import DraftTree
from ..drafts.row_pairs import left_of
from ..drafts.tree_nodes import Family, Ints, TreeNodes


class Emission(NamedTuple):
    """The law of the token that a rule emits at a node, for g nodes at once.

    It emits the j-th continuation with probability `accepted[j]`, and with probability `rejected` a token drawn
    from the residual, max(0, target - taken min(draft, share target)) over its sum. They sum to one.

    Attributes:
        accepted: for each continuation an array (g,); empty for a rule that never looks at them.
        rejected: (g,).
        taken: (g,), how much of the draft is taken from the target.
        share: (g,), the share of the target that can be taken, or None where it can be more than all.
    """

    accepted: list[Array]
    rejected: Array
    taken: Array
    share: Array | None = None


class Continuations(NamedTuple):
    """What a rule is shown at g nodes, each with m continuations.

    Attributes:
        wanted, drafted: (g, m), the target's and the draft's probabilities of the continuations.
        left: from taken (g,) to the sums of max(0, target - taken draft) over all tokens, (g,).
        served: gives a function from shares (g,) to the sums of min(draft, share target) over all tokens, (g,).
    """

    wanted: Array
    drafted: Array
    left: Callable[[Array], Array]
    served: Callable[[], Callable[[Array], Array]]


Rule = Callable[[Arrays, Continuations], Emission]
"""From what is drafted after some nodes to what is emitted there."""


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
    drafted = np.zeros((len(nodes), max(family.children.shape[1] for family in families)), dtype=np.int64)
    for family in families:
        tokens = nodes.token[family.children]
        # A node with fewer continuations names its first one again.
        drafted[family.nodes] = tokens[:, :1]
        drafted[family.nodes, : tokens.shape[1]] = tokens
    follow, leave, taken, shares = zip(*(_step(tree, rule, family) for family in families), strict=True)
    # Every continuation that leads to a child has the same entry, the mass of its token: take the first.
    _, entry = np.unique(np.concatenate([family.children.ravel() for family in families]), return_index=True)
    reach = _reach(tree, arrays.take(xp.concat(follow), arrays.index(entry)))
    place = arrays.index(_places(nodes))
    # A walk that comes to where nothing is drafted below ends there.
    ending = arrays.take(xp.concat([*leave, arrays.ones(1)]), place)
    stop = xp.concat([xp.concat(reach[:-1]) * ending, reach[-1]])
    taken_at = arrays.take(xp.concat([*taken, arrays.zeros(1)]), place)
    share_at = None
    if shares[0] is not None:
        share_at = arrays.take(xp.concat([*shares, arrays.zeros(1)]), place)
    continuations = arrays.index(drafted)
    ends = arrays.index(nodes.ends)

    def rows(index: Array) -> Array:
        leaf = arrays.take(ends, index) > 0
        inner = xp.where(leaf, 0, index)

        def left() -> Array:
            share = None if share_at is None else arrays.take(share_at, inner)
            remaining, _ = tree.pairs.left_rows(inner, arrays.take(taken_at, inner), share)
            arrays.clear(remaining, arrays.take(continuations, inner))
            return remaining

        return residual_laws(tree, index, left, ~leaf)

    return AcceptanceLaw(tree, stop, rows)


def _places(nodes: TreeNodes) -> Ints:
    """(nodes.inner,): where each inner node is among the members of all families; behind them where it ends."""
    members = np.concatenate([family.nodes for family in nodes.by_draws])
    place = np.full(nodes.inner, len(members))
    place[members] = np.arange(len(members))
    return place


def _step(tree: DraftTree, rule: Rule, family: Family) -> tuple[Array, Array, Array, Array | None]:
    """What a rule does at g nodes with m continuations each.

    Returns for each continuation the chance that its token is emitted, (g m,), for each node the chance that no
    continuation's is, (g,), and `taken` and `share` of the residual that is left there.
    """
    arrays, xp = tree.arrays, tree.arrays.xp
    tokens, here = tree.nodes.token[family.children], arrays.index(family.nodes)
    shown = _continuations(tree, here, family.children)
    emission = rule(arrays, shown)
    at_tokens = left_at(arrays, emission, shown)
    same = tokens[:, :, None] == tokens[:, None, :]
    first = arrays.index(~np.tril(same, -1).any(axis=2)) > 0
    elsewhere = tree.pairs.left_sums(here, emission.taken, emission.share, arrays.index(tokens))
    total = elsewhere + arrays.sum(xp.where(first, at_tokens, arrays.zero))
    drawn = arrays.divide(at_tokens, total[:, None])
    follow = xp.reshape(emitted(arrays, emission, arrays.index(same) > 0, drawn), (-1,))
    # Where rounding leaves nothing, the target stands in for the residual: a draft that all but never happens.
    elsewhere = xp.where(total == 0, arrays.one, arrays.divide(elsewhere, total))
    return follow, emission.rejected * elsewhere, emission.taken, emission.share


def _reach(tree: DraftTree, follow: Array) -> list[Array]:
    """For each level the chance to come to its nodes, from that to go on to each node, (n - 1,), from its parent."""
    arrays, nodes = tree.arrays, tree.nodes
    reach = [arrays.ones(1)]
    for length in range(1, nodes.depth + 1):
        start, end = (int(bound) for bound in nodes.level_start[length : length + 2])
        above = arrays.index(nodes.parent[start:end] - nodes.level_start[length - 1])
        reach.append(arrays.take(reach[-1], above) * follow[start - 1 : end - 1])
    return reach


def _continuations(tree: DraftTree, here: Array, children: Ints) -> Continuations:
    """Of nodes (g,) with children (g, m), one for each path, on the host."""
    edges = tree.arrays.index(children.ravel() - 1)
    wanted, drafted = (
        tree.arrays.take(masses, edges).reshape(children.shape) for masses in (tree.wanted, tree.drafted)
    )
    return Continuations(
        wanted, drafted, partial(tree.pairs.left_sums, here), partial(tree.pairs.served, here)
    )


def left_at(arrays: Arrays, emission: Emission, here: Continuations) -> Array:
    """(g, m): the residual, not divided by its sum, at the continuations."""
    return left_of(arrays, here.wanted, here.drafted + arrays.zero, emission.taken, emission.share)


def emitted(arrays: Arrays, emission: Emission, same: Array, drawn: Array) -> Array:
    """(g, m): how likely each continuation's token is emitted, accepted under any place or drawn.

    Args:
        arrays: the kind of number.
        emission: what the rule says.
        same: (g, m, m), which continuations have the same token.
        drawn: (g, m), the probabilities of their tokens in the residual.
    """
    mass = emission.rejected[:, None] * drawn
    if not emission.accepted:
        return mass
    accepted = arrays.xp.stack(emission.accepted, axis=1)[:, None, :]
    return mass + arrays.sum(arrays.xp.where(same, accepted, arrays.zero))
