"""Races: pick a path of the drafted tree by fair weights and by what was drafted below, verify it as a block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from nodebudget.lp import Instance
from nodebudget.lp.drafting import FixedTree, GrownTree
from nodebudget.lp.drafting.specs import Drafted, as_drafting
from nodebudget.lp.selection.fair_orders import fair_order
from nodebudget.lp.selection.race_entries import entries
from nodebudget.lp.selection.raced_draft import raced_draft
from nodebudget.lp.selection.races import LEVELS, Draws, Race, Rule, fresh_levels, run

from ..arithmetic.arrays import Array
from ..drafts.laws import AcceptanceLaw, residual_laws
from ..drafts.paths import DraftTree
from ..drafts.tree_nodes import TreeNodes
from ..verifier import Needs, Verifier
from . import nss
from .race_contest import picked
from .race_floats import Walk

GROWN_OR_FIXED = Needs(
    "a tree grown node by node, or a fixed one",
    lambda drafting: isinstance(drafting, GrownTree | FixedTree),
)


def law(tree: DraftTree, rule: Rule = fair_order, levels: int = LEVELS) -> AcceptanceLaw:
    """Pick a path by races and verify it as a block under the law that the picked path has.

    Every drawn node has a score, one of M levels: at a leaf a fresh uniform one. At an inner node a rule orders the
    pairs (token, level of the child's score) by numbers on the path to the node, never by what was drawn. The highest
    drawn pair wins, and the node's score is how likely the best drawn pair is lower than it: uniform, given that the
    node is drawn. The picked path goes from winner to winner. Its law nu follows from the mass of each level on the
    path (`nodebudget.lp.selection.races`), and its conditionals take the draft's place in block verification. The law
    of (Z, Y) given the drafted tree is averaged over all scores.

    Lossless for every rule. A fixed tree has no chance to select by: there this is `nss`, which is optimal.

    Args:
        tree: the drafted tree.
        rule: the order of pairs; by default the fair race of statement 16.3.
        levels: M.

    To be read: `nodebudget.verifiers.plain.race`, the same in Fractions.
    Reference: this project; statements 16.1 to 16.4.
    """
    nodes = tree.nodes
    if isinstance(tree.drafting, FixedTree) or not nodes.by_draws:
        return nss.law(tree)
    tree = tree.in_memory()
    arrays = tree.arrays
    if tree.pairs.target.kernels and tree.pairs.draft.kernels:
        return _law_in_floats(tree, rule, levels)
    target, draft = _on_host(tree)
    found = _select(tree, target, draft, rule, levels)
    chances = picked(nodes, found.races, found.places, fresh_levels(found.weight[0], levels))
    stop = arrays.from_host(_stops(nodes, found.weight, _left(nodes, target, found), chances))
    taken = _sent(tree, found.taken)

    def rows(index: Array) -> Array:
        leaf = index >= nodes.inner
        inner = arrays.xp.where(leaf, 0, index)

        def left() -> Array:
            return arrays.positive(tree.target_rows(inner) - arrays.take(taken, inner))

        return residual_laws(tree, index, left, ~leaf)

    return AcceptanceLaw(tree, stop, rows)


class _Selection(NamedTuple):
    """What a walk down the drafted tree finds, in rationals or in double precision on the host.

    Attributes:
        races: for each node above the deepest level its race, None where nothing was drawn below it.
        places: for each of these the entry of each token in its race, (V,).
        weight: (n,), w.
        taken: (nodes.inner, V), nu / w at every token, at most 1.
    """

    races: list[Race | None]
    places: list[Array]
    weight: Array
    taken: Array


def _select(tree: DraftTree, target: Array, draft: Array, rule: Rule, levels: int) -> _Selection:
    nodes, drafting = tree.nodes, tree.drafting
    assert isinstance(drafting, GrownTree)
    zero = target[0, 0] * 0
    races: list[Race | None] = [None] * nodes.inner
    places: list[Array] = [None] * nodes.inner
    masses, weight = {0: fresh_levels(zero + 1, levels)}, np.repeat(zero, len(nodes))
    weight[0] += 1
    taken = np.repeat(zero, nodes.inner * tree.vocab).reshape(nodes.inner, tree.vocab)
    for node in range(nodes.inner):
        own, w = masses.pop(node), weight[node]
        if nodes.ends[node]:
            continue
        copies = int(nodes.counts[node]) if node else 1
        count = len(nodes.drawn[node]) // copies
        racing = entries(drafting, target[node], draft[node], count)
        draws = Draws(drafting, racing.below, count, levels, racing.moments)
        here = run(rule, draws, racing.wanted * w, own)
        races[node], places[node] = here, racing.place
        passing = here.below(own)
        if w > 0:
            of_draft, of_odds = (
                (passing * part).sum(axis=1)[racing.place] for part in (here.draft, here.odds)
            )
            q = draft[node]
            odds = q / np.where(q < 1, 1 - q, zero + 1)
            taken[node] = np.minimum((of_draft * q + of_odds * odds) / w, zero + 1)
        for child in nodes.children[node]:
            token = int(nodes.token[child])
            place = racing.place[token]
            row = passing[place] * here.token(place, draft[node, token])
            share = row.sum()
            masses[child] = row / share if share > 0 else row
            weight[child] = min(w * target[node, token] / share, zero + 1) if share > 0 else zero
    return _Selection(races, places, weight, taken)


def _law_in_floats(tree: DraftTree, rule: Rule, levels: int) -> AcceptanceLaw:
    """The same for floats in this machine's memory: residuals are formed where they are drawn from."""
    nodes, arrays = tree.nodes, tree.arrays
    walk = Walk(tree, rule, levels)
    chances = picked(nodes, walk.races, walk.places, fresh_levels(1.0, levels))
    stop = _stops(nodes, walk.weight, walk.left, chances).astype(arrays.dtype)

    def rows(index: Array) -> Array:
        inner = index < nodes.inner

        def left() -> Array:
            found = arrays.empty(len(index), tree.vocab)
            for place, node in enumerate(index):
                found[place] = walk.rows(node) if node < nodes.inner else 0.0
            return found

        return residual_laws(tree, index, left, inner)

    return AcceptanceLaw(tree, stop, rows)


def _left(nodes: TreeNodes, target: Array, found: _Selection) -> Array:
    """(nodes.inner,): what is left of the target times w at each node."""
    zero = found.weight[:1] * 0
    sums = [
        found.weight[node] * np.maximum(target[node] - found.taken[node], zero).sum()
        for node in range(nodes.inner)
    ]
    return np.array(sums)


def _stops(nodes: TreeNodes, weight: Array, left: Array, chances: Array) -> Array:
    """(n,): Pr[Z = node], block verification along each path averaged over the pick (statement 13.5)."""
    reached, stop = chances + 0, chances * 0
    one = weight[0]
    for node in range(len(nodes) - 1, -1, -1):
        w = weight[node]
        h = one
        if node:
            rest = left[node] if node < nodes.inner else w
            h = rest / (rest + one - w) if rest + one - w > 0 else one
            reached[nodes.parent[node]] += (one - h) * reached[node]
        stop[node] = h * reached[node]
    return stop


def _on_host(tree: DraftTree) -> tuple[Array, Array]:
    """The laws of target and draft in the numbers of the walk, of floats in double precision whatever the tree's.

    The order of pairs is no continuous function of the laws, so that they should not be rounded before.
    """
    if tree.exact:
        return tree.working_rows()
    given = (tree.pairs.target.rows, tree.pairs.draft.rows)
    rows = [part.double().cpu().numpy() if tree.arrays.torch else part.astype(np.float64) for part in given]
    return rows[0] / rows[0].sum(axis=1)[:, None], rows[1] / rows[1].sum(axis=1)[:, None]


def _sent(tree: DraftTree, rows: Array) -> Array:
    """Rows (m, V) from the host in the tree's numbers, on its device."""
    return rows if tree.exact else tree.arrays.numbers(tree.arrays.double(rows))


def budgets(instance: Instance, drafted: Drafted) -> Array:
    """array (n,): Pr[z is a prefix of Z]: block verification under the law of the picked path (statement 13.5)."""
    return raced_draft(instance, as_drafting(drafted))[1]


VERIFIER = Verifier(
    "race",
    law,
    multipath=True,
    reference="this project, on block verification (arXiv:2403.10444); statements 16.1 to 16.4",
    needs=GROWN_OR_FIXED,
    one_pass=budgets,
)
