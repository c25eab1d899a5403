"""The lift: from a one-step rule to a block verifier, which decides from the leaves up (statement 14.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from nodebudget.lp.drafting import GivenTree, GrownTree

from ..arithmetic.arrays import Array, Arrays
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import ANY_DRAFTING, IID_PATHS, Needs
from .one_step import Answer, Rule, answer, first_copies
from .residuals import places, residual_rows


def grown_only(needs: Needs) -> Needs:
    """What the lift of a verifier needs: what the verifier does, and that siblings' subtrees are independent."""
    if needs is IID_PATHS:
        return needs
    return Needs(
        needs.text if needs is not ANY_DRAFTING else "a tree grown node by node",
        lambda drafting: needs.met(drafting) and isinstance(drafting, GrownTree | GivenTree),
    )


def lifted(tree: DraftTree, rule: Rule) -> AcceptanceLaw:
    """The law of the lift of a rule.

    Every node has a weight W, 1 at the root. At z with distinct drawn children t_1 .. t_m, in order of first
    appearance, the rule answers what was drawn for the target measure W p with the mass 1 - W on "none"; a_j is the
    whole chance of t_j. Its child has the weight a_j / (1 - a_1 - .. - a_(j-1)). Then from the leaves up, depth first:
    a leaf accepts with probability W, and Y is drawn from the target; z, when all its children have failed, accepts
    with the chance of no child and not "none" over that of no child, and Y is what the rule emits off the children. The
    root accepts always.

    Lossless where what is drafted below siblings is independent given what was drawn: for trees grown node by node, and
    for K i.i.d. paths given how many pass. With one draw at each node the lift of token verification is block
    verification (14.3).

    Reference: statement 14.2.
    """
    tree = tree.in_memory()
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    if not nodes.by_draws:  # nothing is drafted
        return AcceptanceLaw(tree, arrays.ones(1), tree.target_rows)
    weight, none = arrays.ones(1), arrays.zeros(1)
    families, residuals, accepts, fails, ends = [], [], [], [], []
    for length in range(nodes.depth):
        start = nodes.level_start[length]
        below, entries = [], []
        for family in nodes.by_draws_at(length):
            place = arrays.index(family.nodes - start)
            found = answer(tree, rule, family, arrays.take(weight, place), arrays.take(none, place))
            split = _split(arrays, found, first_copies(nodes.token[family.children]))
            families.append(family)
            residuals.append(found.residual)
            accepts.append(split.accept)
            fails.append(split.fail)
            below.append(split)
            entries.append(family.children.ravel())
        ends.append((weight, none))
        # Every copy of a child has the same entry, as `_split` gives it to the first: take that.
        _, entry = np.unique(np.concatenate(entries), return_index=True)
        chosen = arrays.index(entry)
        weight, none = (
            arrays.take(xp.concat([xp.reshape(part, (-1,)) for part in parts]), chosen)
            for parts in zip(*((split.weights, split.nones) for split in below), strict=True)
        )
    where = arrays.index(places(tree, families))
    ending = arrays.index(nodes.ends[: nodes.inner]) > 0
    deciding = []
    for drawn, own in ((accepts, [w for w, _ in ends]), (fails, [v for _, v in ends])):
        decided = arrays.take(xp.concat([*drawn, arrays.zeros(1)]), where)
        deciding.append(xp.where(ending, xp.concat(own), decided))
    accept, fail = xp.concat([deciding[0], weight]), xp.concat([deciding[1], none])
    turn = np.argsort(nodes.post_order)
    before = arrays.products(arrays.take(fail, arrays.index(nodes.post_order)))
    stop = accept * arrays.take(before, arrays.index(turn))
    return AcceptanceLaw(tree, stop, residual_rows(tree, families, residuals))


class _Split(NamedTuple):
    """What an answer means for g nodes with m continuations.

    Attributes:
        weights, nones: (g, m), W and 1 - W of the child that is first drawn as each continuation.
        accept, fail: (g,), of the nodes themselves when all their children have failed.
    """

    weights: Array
    nones: Array
    accept: Array
    fail: Array


def _split(arrays: Arrays, found: Answer, first: Array) -> _Split:
    """The weights of children in their order, from sums without cancellation."""
    xp = arrays.xp
    masses = xp.where(arrays.index(first) > 0, found.tokens, arrays.zero)
    assert found.none is not None
    off = found.leave + found.none
    left, weights, nones = off, [], []
    for j in range(masses.shape[1] - 1, -1, -1):
        after, left = left, left + masses[:, j]
        weights.append(arrays.divide(masses[:, j], left))
        nones.append(arrays.divide(after, left))
    # Where no child can fail all of them do not, and the node accepts for sure what never comes to it.
    accept = xp.where(off == 0, arrays.one, arrays.divide(found.leave, off))
    return _Split(
        xp.stack(weights[::-1], axis=1), xp.stack(nones[::-1], axis=1), accept, arrays.divide(found.none, off)
    )
