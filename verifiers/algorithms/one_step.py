"""One-step rules: the law of the token that is emitted at a node, given what was drawn below it (section 15)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..arithmetic.arrays import Array, Arrays
from ..drafts.paths import DraftTree
from ..drafts.row_pairs import left_of
from ..drafts.tree_nodes import Family, Ints


class Emission(NamedTuple):
    """The law of the token that a rule emits at a node, for g nodes at once.

    It emits the j-th continuation with probability `accepted[j]`, and with probability `rejected` something drawn from
    the residual over its sum. They sum to one. The residual is max(0, target - taken min(draft, share target), or what
    `left` and `rows` say, and the mass of "none" where the target is weighted (`Continuations`).

    Attributes:
        accepted: for each continuation an array (g,); empty for a rule that never looks at them.
        rejected: (g,).
        taken: (g,), how much of the draft is taken from the target.
        share: (g,), the share of the target that can be taken, or None where it can be more than all.
        left: (g, m), the residual at the continuations, where that is something else than it is elsewhere, or None.
        rows: gives (g, V), the residual at all tokens, where it has another form, or None.
    """

    accepted: Sequence[Array]
    rejected: Array
    taken: Array
    share: Array | None = None
    left: Array | None = None
    rows: Callable[[], Array] | None = None


class Rows(NamedTuple):
    """The laws at g nodes as a whole, for a rule that has to look at all tokens.

    Attributes:
        target, draft: (r, V), laws of their own memory, without weights.
        row: int array (g,), which of the rows each node has.
        tokens: int array (g, m), the continuations' tokens.
        rounding: how far, relatively, numbers that should be equal may be apart; 0 for rationals.
        lengths: int array (g,), the numbers of tokens from the root to the nodes, or None where there is no tree.
    """

    target: Array
    draft: Array
    row: Ints
    tokens: Ints
    rounding: float
    lengths: Ints | None = None


class Continuations(NamedTuple):
    """What a rule is shown at g nodes, each with m continuations.

    The target is W times the target's law, W the weight of the node, and a further symbol "none", which the draft never
    draws, has the mass 1 - W (section 14). In a walk from the root W = 1.

    Attributes:
        wanted, drafted: (g, m), the target's and the draft's probabilities of the continuations.
        left: from taken (g,) to the sums of max(0, target - taken draft) over all tokens, (g,).
        served: gives a function from shares (g,) to the sums of min(draft, share target) over all tokens, (g,).
        rows: gives the laws as a whole.
        none: (g,), 1 - W, or None where W = 1.
        at: what else a rule may ask: the nodes and their rows (`Place`), or None where there is no tree.
    """

    wanted: Array
    drafted: Array
    left: Callable[[Array], Array]
    served: Callable[[], Callable[[Array], Array]]
    rows: Callable[[], Rows]
    none: Array | None = None
    at: Place | None = None


class Place(NamedTuple):
    """Where a rule is asked.

    Attributes:
        tree: the drafted tree.
        family: the g nodes with their continuations.
        weight: (g,), W, or None where W = 1.
    """

    tree: DraftTree
    family: Family
    weight: Array | None

    @property
    def nodes(self) -> Array:
        """(g,): the nodes."""
        return self.tree.arrays.index(self.family.nodes)

    @property
    def tokens(self) -> Ints:
        """int array (g, m): the continuations' tokens."""
        return self.tree.nodes.token[self.family.children]

    def weighted(self, values: Array) -> Array:
        """Values (g,) or (g, k) times W."""
        if self.weight is None:
            return values
        return values * (self.weight if len(values.shape) == 1 else self.weight[:, None])

    def draft_without(self, first: int) -> Array:
        """(g,): the draft's mass of all tokens but those of the first continuations."""
        return self.tree.pairs.draft_sums(self.nodes, self.tree.arrays.index(self.tokens[:, :first]))

    def over_without(self, share: Array, first: int) -> Array:
        """(g,): the sums of max(0, draft - share target) over all tokens but those of the first continuations."""
        tokens = self.tree.arrays.index(self.tokens[:, :first])
        return self.tree.pairs.over_sums(self.nodes, self.weighted(share), tokens)

    def left_without(self, taken: Array, first: int) -> Array:
        """(g,): the sums of max(0, target - taken draft) over all tokens but those of the first continuations."""
        tokens = self.tree.arrays.index(self.tokens[:, :first])
        return self.weighted(self.tree.pairs.left_sums(self.nodes, self.scaled(taken), None, tokens))

    def scaled(self, values: Array) -> Array:
        """Values (g,) over W."""
        return values if self.weight is None else self.tree.arrays.divide(values, self.weight)


Rule = Callable[[Arrays, Continuations], Emission]
"""From what is drafted after some nodes to what is emitted there."""


class Answer(NamedTuple):
    """What a rule does at g nodes with m continuations each.

    Attributes:
        tokens: (g, m), the chance that each continuation's token is emitted in one way or another, copies alike.
        leave: (g,), the chance that another token is.
        none: (g,), the chance of "none", or None where W = 1.
        residual: what is left of the target there, for `residual_rows`.
    """

    tokens: Array
    leave: Array
    none: Array | None
    residual: Residual


class Residual(NamedTuple):
    """What is left of the target at g nodes, up to a factor: as in `Emission`, for the law without its weight."""

    taken: Array
    share: Array | None
    rows: Callable[[], Array] | None


def answer(
    tree: DraftTree, rule: Rule, family: Family, weight: Array | None = None, none: Array | None = None
) -> Answer:
    """What a rule does at nodes with equally many continuations.

    Args:
        tree: in this machine's memory where it can be.
        rule: the rule.
        family: g nodes.
        weight, none: (g,), their weights W and 1 - W; None where W = 1.
    """
    arrays, xp = tree.arrays, tree.arrays.xp
    at = Place(tree, family, weight)
    edges = arrays.index(family.children.ravel() - 1)
    wanted, drafted = (
        arrays.take(masses, edges).reshape(family.children.shape) for masses in (tree.wanted, tree.drafted)
    )
    here, tokens = at.nodes, at.tokens
    shown = Continuations(
        at.weighted(wanted),
        drafted,
        lambda taken: at.weighted(tree.pairs.left_sums(here, at.scaled(taken))),
        lambda: _served(at),
        lambda: _rows(at),
        none,
        at,
    )
    emission = rule(arrays, shown)
    at_tokens = left_at(arrays, emission, shown)
    same = tokens[:, :, None] == tokens[:, None, :]
    first = arrays.index(first_copies(tokens)) > 0
    share = None if emission.share is None else at.weighted(emission.share)
    taken = at.scaled(emission.taken)
    if emission.rows is None:
        elsewhere = at.weighted(tree.pairs.left_sums(here, taken, share, arrays.index(tokens)))
    else:
        rows = emission.rows() + arrays.zero
        arrays.clear(rows, arrays.index(tokens))
        elsewhere = arrays.sum(rows)
    total = elsewhere + arrays.sum(xp.where(first, at_tokens, arrays.zero))
    if none is not None:
        total = total + none
    drawn = arrays.divide(at_tokens, total[:, None])
    # Where rounding leaves nothing, the target stands in for the residual: a draft that all but never happens.
    elsewhere = xp.where(total == 0, arrays.one, arrays.divide(elsewhere, total))
    return Answer(
        emitted(arrays, emission, arrays.index(same) > 0, drawn),
        emission.rejected * elsewhere,
        None if none is None else emission.rejected * arrays.divide(none, total),
        Residual(taken, share, emission.rows),
    )


def _served(at: Place) -> Callable[[Array], Array]:
    served = at.tree.pairs.served(at.nodes)
    return lambda share: served(at.weighted(share))


def _rows(at: Place) -> Rows:
    tree, nodes = at.tree, at.family.nodes
    target, draft = tree.pairs.target.laws(at.nodes), tree.pairs.draft.laws(at.nodes)
    return Rows(target, draft, np.arange(len(nodes)), at.tokens, tree.rounding, tree.nodes.lengths[nodes])


def first_copies(tokens: Ints) -> Ints:
    """bool array (g, m): the continuations whose tokens do not come before in their rows (g, m)."""
    same = tokens[:, :, None] == tokens[:, None, :]
    first: Ints = ~np.tril(same, -1).any(axis=2)
    return first


def left_at(arrays: Arrays, emission: Emission, here: Continuations) -> Array:
    """(g, m): the residual, not divided by its sum, at the continuations."""
    if emission.left is not None:
        return emission.left
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
