"""Mixed multi-path block verification: pick a path by scores, verify it as a block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from nodebudget.lp import Instance, skewed_draft
from nodebudget.lp.selection.cells import cells
from nodebudget.lp.selection.node_choices import (
    NodeChoice,
    choose,
    choose_at_stake,
    choose_exactly,
    lifted,
    root_state,
)
from nodebudget.lp.selection.scores import OnPath
from nodebudget.lp.selection.selections import Selection, mixed_selection

from ..arithmetic.arrays import Array
from ..arithmetic.scaled import Scaled, join, scaled
from ..drafts.laws import AcceptanceLaw, residual_laws
from ..drafts.paths import DraftTree
from ..drafts.tree_nodes import Ints
from ..verifier import Verifier
from .score_contest import win_chances


def law(tree: DraftTree, selection: Selection | None = None) -> AcceptanceLaw:
    """Pick the path with the largest score and verify it as a block under the law that the picked path has.

    At each node an ordering puts the tokens into classes; where drafted paths have different classes the
    highest goes on, and where they tie they are compared by what lies below, down to a uniform random number
    at the leaves. Orderings are chosen by a rule from numbers on the path to the node, in R families of which
    one is drawn; they never depend on what was drafted. The law of the picked path follows from the score
    state (`nodebudget.lp.selection.scores`), and its conditionals, the skewed draft, take the draft's place in block
    verification. The law of (Z, Y) given the drafted paths is averaged over scores and families.

    Lossless for every K and every rule. One class everywhere has the value of block verification, a class for
    each token by target / draft is greedy multi-path block verification.

    Args:
        tree: the drafted paths.
        selection: the node rule with its families of orderings; by default `mixed_selection`.

    To be read: `nodebudget.verifiers.plain.mixed`, the same in Fractions.
    Reference: this project; statements 12.1 to 12.4.
    """
    tree = tree.in_memory()
    nodes, arrays, xp = tree.nodes, tree.arrays, tree.arrays.xp
    found = _walk(tree, selection)
    inverse = found.inner.inverse()

    def rows(index: Array) -> Array:
        leaf = index >= nodes.inner
        inner = xp.where(leaf, 0, index)

        def left() -> Array:
            cell = _cells(tree, found, inner)
            return _left(tree, inner, arrays.take(inverse, inner), arrays.take(found.lift, inner), cell)[0]

        return residual_laws(tree, index, left, ~leaf)

    return AcceptanceLaw(tree, _stops(tree, found), rows)


def scores(tree: DraftTree, selection: Selection | None = None) -> tuple[Array, Array, Array]:
    """Between which scores the paths to each leaf of an exact tree lie, for exact audits of the selection.

    Returns:
        (R,), the probabilities of the families of orderings.
        (number of leaves, R) twice: scores are uniform in [low, low + length].
    """
    contest = _walk(tree, selection).contest
    return contest.probability, contest.low, contest.length


class _Walk(NamedTuple):
    """What a walk down the drafted tree finds.

    Attributes:
        contest: the scores of the drafted paths.
        inner, leaves: the weights w of the nodes above the leaves, and of the leaves.
        lift: (nodes.inner, C), by which factor the selection raises the draft's probabilities in each cell.
        left: (nodes.inner,), sum of max(0, p - nu / w) over the tokens.
        cell: for each node above the leaves the cells of its tokens, (V,), in memory of numpy only; None where all
            cells are in one class.
    """

    contest: _Contest
    inner: Scaled
    leaves: Scaled
    lift: Array
    left: Array
    cell: list[np.ndarray | None]


def _walk(tree: DraftTree, selection: Selection | None) -> _Walk:
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    selection = selection or mixed_selection(tree.vocab)
    contest = _Contest(tree)
    w, state = scaled(arrays, arrays.ones(1)), root_state(arrays.zeros(1, 1), tree.of_paths.paths)
    weights, lift, left = [w], [], []
    kept: list[np.ndarray | None] = []
    for d in range(nodes.depth):
        start, stop = int(nodes.level_start[d]), int(nodes.level_start[d + 1])
        below = slice(stop, int(nodes.level_start[d + 2]))
        places, tokens = nodes.parent[below] - start, nodes.token[below]
        index, drawn = arrays.index(places), arrays.index(tokens)
        level = arrays.index(np.arange(start, stop))
        choice = _choice(tree, selection, level, w.value(), state, nodes.depth - d)
        lift.append(choice.lift)
        if arrays.numpy:
            asked = [True] * (stop - start) if choice.asked is None else choice.asked
            kept += [choice.cell[i].astype(np.uint8) if one else None for i, one in enumerate(asked)]
        left += _left_sums(tree, level, w.inverse(), choice)
        contest.descend(choice, places, index, drawn)
        edges = slice(below.start - 1, below.stop - 1)
        state = choice.next_states(index, drawn, tree.drafted[edges])
        nu = xp.sum(xp.sum(state, axis=2), axis=1)
        state = arrays.divide(state, nu[:, None, None])
        w = w.take(index).times(tree.wanted[edges]).over(nu).capped()
        weights.append(w)
    return _Walk(contest, join(weights[:-1]), weights[-1], xp.concat(lift), xp.concat(left), kept)


def _cells(tree: DraftTree, found: _Walk, inner: Array) -> Array | None:
    """(m, V): the cells at nodes above the leaves, as the walk saw them; None where one class is all."""
    if not tree.arrays.numpy:
        return cells(tree.target_rows(inner), tree.draft_rows(inner))[0]
    kept = [found.cell[node] for node in inner]
    if all(row is None for row in kept):
        return None
    # Where all cells are in one class any cell will do.
    return np.stack([np.zeros(tree.vocab, dtype=np.uint8) if row is None else row for row in kept])


def _left_sums(tree: DraftTree, level: Array, inverse: Array, choice: NodeChoice) -> list[Array]:
    """The sums of `_left` over tokens, S / w, at the nodes of a level, a slice after the other."""
    arrays, sums = tree.arrays, []
    for some in arrays.slices(len(level), tree.vocab):
        cell = choice.cell[some] if choice.asked is None or choice.asked[some].any() else None
        if cell is None:
            sums.append(tree.pairs.left_sums(level[some], inverse[some] * choice.lift[some][:, 0]))
            continue
        rows, total = _left(tree, level[some], inverse[some], choice.lift[some], cell)
        sums.append(arrays.sum(rows) / total)
    return sums


def _left(
    tree: DraftTree, index: Array, inverse: Array, lift: Array, cell: Array | None
) -> tuple[Array, Array]:
    """(m, V), max(0, w p - nu) over w, times a factor for each row, (m,).

    Over w, because it then keeps its relative accuracy when w is tiny.

    Args:
        tree: the drafted paths.
        index: (m,), nodes above the leaves.
        inverse: (m,), 1 / w.
        lift: (m, C), as in `NodeChoice`.
        cell: (m, V), likewise; None where all cells are in one class.
    """

    if cell is None:
        return tree.pairs.left_rows(index, inverse * lift[:, 0])
    return tree.pairs.left(index, lambda factor: lifted(tree.draft_rows(index, inverse * factor), lift, cell))


def _choice(
    tree: DraftTree, selection: Selection, level: Array, weight: Array, state: Array, remaining: int
) -> NodeChoice:
    arrays, root = tree.arrays, remaining == tree.nodes.depth

    def at(places: Array) -> OnPath:
        some = arrays.take(level, places)
        laws = tree.target_rows(some), tree.draft_rows(some)
        return OnPath(
            *laws, arrays.take(weight, places), arrays.take(state, places), remaining, tree.rounding
        )

    if arrays.numpy and selection.least_stake and not root:
        return choose_at_stake(selection, weight, state, tree.vocab, at)
    here = at(arrays.positions(len(level)))
    if arrays.exact:
        return NodeChoice.joined(choose_exactly(selection, here, root=root))
    return choose(selection, here, root=root)


class _Contest:
    """The drafted paths' scores, level by level, for every family of orderings."""

    def __init__(self, tree: DraftTree) -> None:
        self.tree = tree
        self.probability: Array = None
        self.low: Array = None

    def descend(self, choice: NodeChoice, places: Ints, index: Array, tokens: Array) -> None:
        """Go on from the nodes of a level to their children.

        Args:
            choice: what the selection does at the nodes.
            places, index: (m,), the children's parents, by their place in the level; on the host, on the device.
            tokens: (m,), the children's tokens.
        """
        arrays, xp = self.tree.arrays, self.tree.arrays.xp
        if self.low is None:
            self.probability = xp.sum(choice.state, axis=2)[0]
            self.low, self.length = self.probability[None] * 0, self.probability[None] * 0 + arrays.one
            self.standing = self.low == 0
            # In rationals scores are told apart however near they are.
            self.alone = self.standing & (not arrays.exact)
        rank, c, B = (
            choice.along(table, index, tokens) for table in (choice.ranks, choice.below, choice.mass)
        )
        standing, alone = arrays.take(self.standing, index), arrays.take(self.alone, index)
        siblings = arrays.index(places[:, None] == places[None, :])[:, :, None] > 0
        lowest = self.tree.vocab**2
        top = xp.min(xp.where(siblings, rank[None], lowest), axis=1)
        winning = rank == top
        rivals = xp.sum(xp.where(siblings & winning[None], 1, 0), axis=1)
        # Scores matter only from where paths tie first: above, all that stand are moved alike.
        above_low, above_length = arrays.take(self.low, index), arrays.take(self.length, index)
        self.low = xp.where(alone, above_low, above_low + above_length * c)
        self.length = xp.where(alone, above_length, above_length * B)
        self.standing, self.alone = standing & winning, alone & (rivals == 1)

    def chances(self) -> Array:
        """(number of leaves,): the chance that each leaf is the picked path's."""
        arrays, xp, nodes = self.tree.arrays, self.tree.arrays.xp, self.tree.nodes
        low, length, standing = (
            xp.permute_dims(part, (1, 0)) for part in (self.low, self.length, self.standing)
        )
        wins = win_chances(arrays, low, length, standing, nodes.counts[nodes.inner :])
        return xp.sum(self.probability[:, None] * wins, axis=0)


def _stops(tree: DraftTree, found: _Walk) -> Array:
    """(n,): Pr[Z = node], block verification along each path averaged over the pick."""
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    S = found.inner.times(found.left).value()
    lack = 1 - found.inner.value()
    # 1 - h, how often the coins of the nodes below the root fail: never where S + 1 - w = 0.
    miss = xp.concat([arrays.zeros(1), arrays.divide(lack, S + lack)[1:], 1 - found.leaves.value()])
    reached = [found.contest.chances()]
    for d in range(nodes.depth - 1, -1, -1):
        start, stop = (int(nodes.level_start[d + i]) for i in range(2))
        below = slice(stop, int(nodes.level_start[d + 2]))
        places = nodes.parent[below] - start
        child = arrays.index(places[None, :] == np.arange(stop - start)[:, None]) > 0
        reached.insert(0, arrays.sum(xp.where(child, (miss[below] * reached[0])[None, :], arrays.zero)))
    return (1 - miss) * xp.concat(reached)


def budgets(instance: Instance, paths: int, selection: Selection | None = None) -> Array:
    """array (n,): Pr[z is a prefix of Z]: block verification under the skewed draft (statements 5.2, 12.1, 12.3)."""
    return skewed_draft(instance, paths, selection)[1]


VERIFIER = Verifier(
    "mixed",
    law,
    multipath=True,
    reference="this project, on block verification (arXiv:2403.10444); statements 12.1 to 12.4",
    ordered=False,
    scores=scores,
    one_pass=budgets,
)
