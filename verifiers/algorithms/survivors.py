"""Budgets of top-down verifiers from the number of surviving paths, without going through drafted tuples."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from nodebudget.lp import Instance
from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.numbers.rationals import settled
from nodebudget.lp.selection.ratio_order import ROUNDING

from ..arithmetic.arrays import Array, Arrays
from ..drafts.row_pairs import left_of
from .one_step import Continuations, Rows, Rule, emitted, left_at

WORK_LIMIT = {True: 300_000, False: 12_000_000}
"""Most continuations times tokens, over the nodes above the leaves, for exact instances and for float ones."""

ROWS_AT_ONCE = 100_000
"""Continuations that are gone through together."""


def top_down_budgets(instance: Instance, paths: int, rule: Rule) -> Array | None:
    """array (n,): Pr[z is a prefix of Z] for a verifier that walks down with a rule (`topdown.top_down`).

    The paths are i.i.d., so given that n of them pass z, their next tokens are n independent draws from the
    draft's law at z, whatever was seen above. Hence g_z[n] = Pr[the walk comes to z with n survivors] follows
    from the parent's by going through the continuations of one node:

        g_zy[m] = sum over n and over (t_1 .. t_n) with m of them equal to y of g_z[n] q(t_1) .. q(t_n) e(y),

    e(y) the probability that the rule emits y. The budgets are the sums of g_z over n. Exact for an exact
    instance. The work is S^K a node with S tokens that have draft mass, instead of S^(LK) drafted tuples; None
    where it is above `WORK_LIMIT`.

    Args:
        instance: exact or float, on a full tree or a sparse one.
        paths: number K of drafted paths.
        rule: what the verifier emits at a node.

    Raises ValueError for paths < 1.
    """
    check_paths(paths)
    tree = instance.tree
    levels = [_LocalRows.of(instance, depth) for depth in range(tree.depth)]
    work = sum(len(rows.child) * rows.drafted**paths * rows.child.shape[1] for rows in levels)
    if work > WORK_LIMIT[instance.exact]:
        return None
    kind = object if instance.exact else np.float64
    arrays = Arrays(np.empty(0, dtype=kind), "float64")
    # Column n: the probability of coming to each node with n survivors.
    reach = arrays.zeros(len(tree), paths + 1)
    reach[0, paths] = arrays.one
    for depth, rows in enumerate(levels):
        here = reach[tree.level(depth)]
        target, draft = arrays.numbers(rows.target), arrays.numbers(rows.draft)
        led = arrays.zeros(*rows.child.shape, paths + 1)
        for survivors in range(1, paths + 1):
            group = max(1, ROWS_AT_ONCE // rows.drafted**survivors)
            live = np.flatnonzero(here[:, survivors] != 0)
            for start in range(0, len(live), group):
                some = live[start : start + group]
                led[some] += _step(
                    arrays,
                    target[some],
                    draft[some],
                    here[some, survivors],
                    rows.drafted,
                    survivors,
                    paths,
                    rule,
                )
        on_tree = rows.child >= 0
        reach[rows.child[on_tree]] = led[on_tree]
    return settled(arrays.sum(reach))


class _LocalRows(NamedTuple):
    """The laws of one level by columns of their own: tokens that neither model can emit have none.

    Attributes:
        target, draft: (g, m), the laws of g nodes, filled up with zeros; tokens with draft mass come first.
        child: (g, m), the tree's node that each column leads to, -1 where there is none.
        drafted: most tokens with draft mass at any of the nodes.
    """

    target: Array
    draft: Array
    child: Array
    drafted: int

    @classmethod
    def of(cls, instance: Instance, depth: int) -> _LocalRows:
        tree, level = instance.tree, instance.tree.level(depth)
        listed = []
        for node in range(level.start, level.stop):
            own = [(instance.target[child], instance.draft[child], child) for child in tree.children(node)]
            own += [(*pair, -1) for pair in instance.off_tree.get(node, {}).values()]
            listed.append(sorted(own, key=lambda entry: not entry[1] > 0))
        drafted = max((sum(mass > 0 for _, mass, _ in own) for own in listed), default=0)
        shape = len(listed), max(map(len, listed), default=0)
        kind = object if instance.exact else np.float64
        target, draft = (
            np.full(shape, instance.target[0] * 0, kind),
            np.full(shape, instance.draft[0] * 0, kind),
        )
        child = np.full(shape, -1)
        for place, own in enumerate(listed):
            for column, entry in enumerate(own):
                target[place, column], draft[place, column], child[place, column] = entry
        return cls(target, draft, child, max(drafted, 1))


def _step(
    arrays: Arrays,
    target: Array,
    draft: Array,
    here: Array,
    drafted_tokens: int,
    survivors: int,
    paths: int,
    rule: Rule,
) -> Array:
    """(g, m, K + 1): where g nodes with equally many survivors lead, from rows (g, m) and their mass (g,)."""
    count, vocab = target.shape
    listed: list[Any] = list(itertools.product(range(drafted_tokens), repeat=survivors))
    tokens = np.tile(np.array(listed), (count, 1))
    node = np.repeat(np.arange(count), len(listed))
    chance = here[node]
    for j in range(survivors):
        chance = chance * draft[node, tokens[:, j]]
    drafted = np.flatnonzero(chance != 0)
    tokens, node, chance = tokens[drafted], node[drafted], chance[drafted]
    laws = target, draft
    target, draft = target[node], draft[node]
    wanted, masses = (np.take_along_axis(law, tokens, axis=1) for law in (target, draft))
    shown = Continuations(
        wanted,
        masses,
        lambda taken: arrays.sum(left_of(arrays, target, draft + arrays.zero, taken, None)),
        lambda: lambda share: arrays.sum(np.minimum(draft, target * share[:, None])),
        lambda: Rows(*laws, node, tokens, 0 if arrays.exact else ROUNDING),
    )
    emission = rule(arrays, shown)
    rows = emission.rows or (lambda: left_of(arrays, target, draft, emission.taken, emission.share))
    same = tokens[:, :, None] == tokens[:, None, :]
    drawn = arrays.divide(left_at(arrays, emission, shown), arrays.sum(rows())[:, None])
    mass = emitted(arrays, emission, same, drawn)
    led = arrays.zeros(count, vocab, paths + 1)
    for j in range(survivors):
        first = np.flatnonzero(~same[:, j, :j].any(axis=1))  # a token that came before was counted there
        np.add.at(
            led, (node[first], tokens[first, j], same[first, j].sum(axis=1)), chance[first] * mass[first, j]
        )
    return led
