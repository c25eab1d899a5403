"""What a selection by scores does at nodes: the classes of their cells, the states of their children (section 12)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import array_api_compat
import numpy as np

from ..numbers.rationals import float_array, fmpq_array
from .cells import CELLS, cells
from .exact_mixture import exact_mixture
from .rule_answers import ask
from .scores import OnPath, classes, lifts, next_state
from .selections import Selection, by_family


@dataclass(frozen=True, eq=False)
class NodeChoice:
    """What a selection does at g nodes.

    Attributes:
        state: (g, R, K), the score states; at the root split by the families' probabilities.
        lift: (g, C), by which factor the selection raises the draft's probabilities of a cell's tokens.
        ranks: (g, R, C) integers, the class of each cell, 0 the highest.
        below, mass: (g, R, C), for each cell the draft mass of the lower classes and of its own.
        cell: (g, V) integers, the cell of each token; of no account where all cells are in one class, and None if
            they are everywhere.
        asked: (g,), whether the rule was asked, else all cells are in one class; None where it always was.
        table: (g, V, R, K), the states of all children, where they were computed beforehand.
    """

    state: Any
    lift: Any
    ranks: Any
    below: Any
    mass: Any
    cell: Any
    asked: Any = None
    table: Any = None

    @classmethod
    def joined(cls, parts: tuple[NodeChoice, ...]) -> NodeChoice:
        """The choices of several nodes, one after the other; of rationals."""
        if len(parts) == 1:
            return parts[0]
        names = ("state", "lift", "ranks", "below", "mass", "cell", "table")
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def along(self, table: Any, places: Any, tokens: Any) -> Any:
        """(m, R): entries of a table (g, R, C) for m children, by their parents' places and their tokens."""
        xp = array_api_compat.array_namespace(table)
        cell = 0 if self.cell is None else self.cell[places, tokens]
        return xp.permute_dims(table, (0, 2, 1))[places, cell]

    def next_states(self, places: Any, tokens: Any, draft: Any) -> Any:
        """(m, R, K): the states of m children, times their nu(y|z).

        Args:
            places, tokens: (m,), the children's parents, by their place, and their tokens.
            draft: (m,), the draft's probabilities of the tokens.
        """
        if self.table is not None:
            return self.table[places, tokens]
        xp = array_api_compat.array_namespace(self.state)
        below, mass = (self.along(table, places, tokens) for table in (self.below, self.mass))
        return next_state(xp.take(self.state, places, axis=0), draft, below, mass)


def choose(selection: Selection, data: OnPath, *, root: bool) -> NodeChoice:
    """What a selection does at nodes, from their laws by tokens.

    Args:
        selection: the rule, and the families.
        data: on-path numbers with the laws (g, V) by tokens, not yet by cells.
        root: at the root the families' probabilities are fixed; its state has one family.
    """
    if root or not selection.least_stake:
        return _choose(selection, data, root=root)
    if array_api_compat.is_torch_array(data.draft):
        # To look at the numbers would make the host wait for the device.
        at_stake = _at_stake(selection, data.weight, data.state)
        return _choose(selection, data, root=False, at_stake=at_stake)
    return choose_at_stake(selection, data.weight, data.state, data.draft.shape[1], data.at)


def choose_at_stake(
    selection: Selection, weight: Any, state: Any, vocab: int, at: Callable[[Any], OnPath]
) -> NodeChoice:
    """`choose` below the root in this machine's memory, with laws only where the rule is asked.

    Args:
        selection: the rule, and the families.
        weight, state: of g nodes, as in `OnPath`.
        vocab: number of tokens.
        at: from the places of the nodes where something is at stake to their numbers, with laws by tokens.
    """
    asked = _at_stake(selection, weight, state)
    if asked.all():
        return _choose(selection, at(np.arange(len(asked))))
    # One class at the others, whose cells are not looked for.
    shape = (len(asked), state.shape[1], min(vocab, CELLS))
    zero = state[0, 0, 0] * 0
    ranks, below, mass = np.zeros(shape, dtype=np.int64), np.full(shape, zero), np.full(shape, zero + 1)
    lift = np.repeat(state.sum(axis=2).sum(axis=1)[:, None], shape[2], axis=1)
    cell = None
    if asked.any():
        cell = np.zeros((len(asked), vocab), dtype=np.int64)
        found = _choose(selection, at(np.flatnonzero(asked)))
        for table, part in (
            (ranks, found.ranks),
            (below, found.below),
            (mass, found.mass),
            (lift, found.lift),
            (cell, found.cell),
        ):
            table[asked] = part
    return NodeChoice(state, lift, ranks, below, mass, cell, asked)


def _at_stake(selection: Selection, weight: Any, state: Any) -> Any:
    """(g,): where there is enough to gain for the rule to be asked."""
    several = state[:, :, 1:].sum(2).sum(1)
    if several.dtype == object:
        weight, several = float_array(weight), float_array(several)
    return weight * several >= selection.least_stake


def _choose(
    selection: Selection, data: OnPath, *, root: bool = False, at_stake: Any | None = None
) -> NodeChoice:
    cell, masses = cells(data.target, data.draft)
    by_cell = replace(data, target=masses(data.target), draft=masses(data.draft))
    if root:
        weights, ranks = selection.weights(by_cell)
        if data.draft.dtype == object and weights.dtype != object:
            weights = exact_mixture(by_cell, ranks)
        state = by_family(data.state, weights)
    else:
        ranks, state = ask(selection.rule, by_cell), data.state
    if at_stake is not None:
        ranks = ranks * at_stake[:, None, None]
    below, mass = classes(by_cell.draft, ranks)
    return NodeChoice(state, lifts(state, below, mass), ranks, below, mass, cell)


def lifted(draft: Any, lift: Any, cell: Any) -> Any:
    """(g, V): nu(y|z), the law of the selected path's next token.

    Args:
        draft: (g, V), the draft's laws.
        lift: (g, C), by which factor the selection raises the probabilities of each cell's tokens.
        cell: (g, V) integers, the cell of each token.
    """
    if isinstance(draft, np.ndarray):
        factors = np.empty_like(draft)
        for out, row, places in zip(factors, lift, cell, strict=True):
            row.take(places, out=out, mode="clip")  # with the default mode there would be one more copy
    else:
        factors = array_api_compat.array_namespace(draft).take_along_axis(lift, cell, axis=1)
    factors *= draft
    return factors


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
    return replace(choice, table=choice.next_states(every * 0, every, draft)[None])


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
