"""The skewed draft and the budgets of a selection by scores, in one pass over the tree (section 12)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import array_api_compat
import numpy as np

from .antichains import check_paths
from .cells import cells
from .depth_one_mixture import depth_one_mixture
from .exact_mixture import exact_mixture
from .instances import Instance
from .mixed_rule import MixedRule
from .node_rules import NodeRule
from .rationals import Array, fast, fmpq_array, settled, to_fmpq
from .scores import OnPath, classes, lifts, next_state
from .selection import RATIO_TIE

GRADED = (1 / 16,) * 8 + (1 / 32,) * 8 + (1 / 64,) * 16
"""Probabilities of 32 families: a few large ones that do most of the work, small ones that even it out."""

DEPTH_ONE_STEPS = 64
"""Frank-Wolfe steps for a node whose children are leaves, at the root."""


@dataclass(frozen=True)
class Selection:
    """A selection by scores.

    Attributes:
        rule: the node rule.
        families: the probabilities of the R families of orderings, one of which is drawn beforehand.
        depth_one_steps: at depth one the probabilities of the orderings are found by as many Frank-Wolfe
            steps instead (`depth_one_mixture`); 0 leaves it to the rule.
    """

    rule: NodeRule
    families: tuple[float, ...] = (1.0,)
    depth_one_steps: int = 0

    def __post_init__(self) -> None:
        if not all(share > 0 for share in self.families) or sum(map(Fraction, self.families)) != 1:
            raise ValueError(
                f"families: got {self.families}; expected positive probabilities that sum to one"
            )
        if self.depth_one_steps < 0:
            raise ValueError(f"depth_one_steps: got {self.depth_one_steps}; expected at least 0")

    def weights(self, data: OnPath) -> tuple[Any, Any]:
        """(R,) probabilities of the families and (1, R, C) their orderings, at the root with its one state."""
        xp = array_api_compat.array_namespace(data.draft)
        if data.remaining == 1 and self.depth_one_steps:
            return depth_one_mixture(data, self.depth_one_steps)
        one = data.state[0, :1, -1]
        exact = data.draft.dtype == object
        shares = xp.concat([one * (to_fmpq(Fraction(share)) if exact else share) for share in self.families])
        return shares, self.ranks(replace(data, state=_by_family(data.state, shares)))

    def ranks(self, data: OnPath) -> Any:
        """(g, R, C): what the rule says, checked for its shape and repeated for every family."""
        found = self.rule(data)
        xp = array_api_compat.array_namespace(data.draft)
        nodes, families = data.state.shape[:2]
        count = data.draft.shape[1]
        if tuple(found.shape) not in {(nodes, families, count), (nodes, 1, count)}:
            raise ValueError(
                f"node rule: got shape {tuple(found.shape)}; expected ({nodes}, {families}, {count}) or "
                f"({nodes}, 1, {count}): the class of each cell, for each family of orderings"
            )
        return xp.broadcast_to(found, (nodes, families, count))


MIXED = Selection(MixedRule(), GRADED, DEPTH_ONE_STEPS)
"""The default of mixed-ordering multi-path block verification."""


@dataclass(frozen=True, eq=False)
class NodeChoice:
    """What a selection does at g nodes.

    Attributes:
        state: (g, R, K), the score states; at the root split by the families' probabilities.
        rows: (g, V), nu(y|z), the law of the selected path's next token.
        ranks: (g, R, C) integers, the class of each cell, 0 the highest.
        below, mass: (g, R, C), for each cell the draft mass of the lower classes and of its own.
        cell: (g, V) integers, the cell of each token.
        draft: (g, V), the draft's laws.
        table: (g, V, R, K), the states of all children, where they were computed beforehand.
    """

    state: Any
    rows: Any
    ranks: Any
    below: Any
    mass: Any
    cell: Any
    draft: Any
    table: Any = None

    @classmethod
    def joined(cls, parts: tuple[NodeChoice, ...]) -> NodeChoice:
        """The choices of several nodes, one after the other; of rationals."""
        if len(parts) == 1:
            return parts[0]
        names = ("state", "rows", "ranks", "below", "mass", "cell", "draft", "table")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def along(self, table: Any, places: Any, tokens: Any) -> Any:
        """(m, R): entries of a table (g, R, C) for m children, by their parents' places and their tokens."""
        xp = array_api_compat.array_namespace(self.draft)
        cell = self.cell[places, tokens]
        return xp.permute_dims(table, (0, 2, 1))[places, cell]

    def next_states(self, places: Any, tokens: Any) -> Any:
        """(m, R, K): the states of m children, times their nu(y|z); by their parents' places and their tokens."""
        if self.table is not None:
            return self.table[places, tokens]
        xp = array_api_compat.array_namespace(self.draft)
        draft = self.draft[places, tokens]
        below, mass = (self.along(table, places, tokens) for table in (self.below, self.mass))
        return next_state(xp.take(self.state, places, axis=0), draft, below, mass)


def choose(selection: Selection, data: OnPath, *, root: bool) -> NodeChoice:
    """What a selection does at nodes, from their laws by tokens.

    Args:
        selection: the rule, and the families.
        data: on-path numbers with the laws (g, V) by tokens, not yet by cells.
        root: at the root the families' probabilities are fixed; its state has one family.
    """
    xp = array_api_compat.array_namespace(data.draft)
    cell, masses = cells(data.target, data.draft)
    by_cell = replace(data, target=masses(data.target), draft=masses(data.draft))
    if root:
        weights, ranks = selection.weights(by_cell)
        if data.draft.dtype == object and weights.dtype != object:
            weights = exact_mixture(by_cell, ranks)
        state = _by_family(data.state, weights)
    else:
        ranks, state = selection.ranks(by_cell), data.state
    below, mass = classes(by_cell.draft, ranks)
    rows = data.draft * xp.take_along_axis(lifts(state, below, mass), cell, axis=1)
    return NodeChoice(state, rows, ranks, below, mass, cell, data.draft)


@lru_cache(maxsize=4096)
def _choose_exactly(
    selection: Selection, laws: tuple[Any, ...], shape: tuple[int, ...], root: bool
) -> NodeChoice:
    families, count, vocab, remaining = shape
    values = fmpq_array(laws)
    target, draft, weight, state = np.split(values, [vocab, 2 * vocab, 2 * vocab + 1])
    data = OnPath(target[None], draft[None], weight, state.reshape((1, families, count)), remaining, 0)
    choice = choose(selection, data, root=root)
    every = np.arange(vocab)
    return replace(choice, table=choice.next_states(every * 0, every)[None])


def choose_exactly(selection: Selection, data: OnPath, *, root: bool) -> tuple[NodeChoice, ...]:
    """`choose` for rationals, node after node: a rule that computes in floats then says the same every time.

    Remembered, because audits come to the same node over and over.
    """
    families, count = data.state.shape[1:]
    shape = (families, count, data.draft.shape[1], data.remaining)
    return tuple(
        _choose_exactly(selection, (*target, *draft, weight, *state.ravel()), shape, root)
        for target, draft, weight, state in zip(data.target, data.draft, data.weight, data.state, strict=True)
    )


def root_state(like: Any, paths: int) -> Any:
    """(1, 1, K): the score state of the root, G(t) = t^K, in the kind of number of rows (g, V)."""
    xp = array_api_compat.array_namespace(like)
    zero = like[:1, :1, None] * 0
    return xp.concat([zero] * (paths - 1) + [zero + 1], axis=2)


def skewed_draft(instance: Instance, paths: int, selection: Selection = MIXED) -> tuple[Array, Array]:
    """nu and the budgets of block verification under it, in one pass over the tree (statements 12.1 and 6.1).

    Args:
        instance: exact or float, full or sparse.
        paths: number K of drafted paths.
        selection: the node rule with its families of orderings.

    Returns:
        array (n,): nu(z), the probability that the selected path passes z.
        array (n,): D(z), the budgets; their sum without the root is the expected number of accepted tokens.
    """
    check_paths(paths)
    tree = instance.tree
    target = fast(instance.target)
    nu, budgets = target * 0 + 1, target * 0 + 1
    state = root_state(target[:1, None], paths)
    for d in range(tree.depth):
        nodes, below = tree.level(d), tree.level(d + 1)
        if nodes.stop == nodes.start:
            break
        target_rows, draft_rows = (
            fast(np.concatenate([law(z) for z in range(nodes.start, nodes.stop)])).reshape((-1, tree.vocab))
            for law in (instance.target_law, instance.draft_law)
        )
        weight = _ratio(budgets[nodes], nu[nodes])
        data = OnPath(
            target_rows, draft_rows, weight, state, tree.depth - d, 0 if instance.exact else RATIO_TIE
        )
        places, tokens = tree.parent[below] - nodes.start, tree.token[below]
        if instance.exact:
            choice = NodeChoice.joined(choose_exactly(selection, data, root=d == 0))
        else:
            choice = choose(selection, data, root=d == 0)
        state = choice.next_states(places, tokens)
        passing = state.sum(axis=(1, 2))
        nu[below] = nu[tree.parent[below]] * passing
        wanted = target[below] * budgets[tree.parent[below]]
        budgets[below] = np.where(np.asarray(wanted < nu[below], dtype=bool), wanted, nu[below])
        state = _ratio(state, np.broadcast_to(passing[:, None, None], state.shape))
    return settled(nu), settled(budgets)


def _ratio(numerator: Any, denominator: Any) -> Any:
    empty = np.asarray(denominator == 0, dtype=bool)
    return np.where(empty, numerator * 0, numerator / np.where(empty, denominator * 0 + 1, denominator))


def _by_family(state: Any, weights: Any) -> Any:
    """(1, R, K): a state of one family, split by the families' probabilities."""
    return state * weights[None, :, None]
