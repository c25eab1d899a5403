"""Budgets of top-down verifiers from the number of surviving paths, without going through drafted tuples."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from nodebudget.lp import Instance
from nodebudget.lp.antichains import check_paths
from nodebudget.lp.rationals import settled

from .arrays import Array, Arrays
from .topdown import Rule, emitted

WORK_LIMIT = {True: 300_000, False: 6_000_000}
"""Most entries V^(K+1) times nodes above the leaves, for exact instances and for float ones."""


def top_down_budgets(instance: Instance, paths: int, rule: Rule) -> Array | None:
    """array (n,): Pr[z is a prefix of Z] for a verifier that walks down with a rule (`topdown.top_down`).

    The paths are i.i.d., so given that n of them pass z, their next tokens are n independent draws from the
    draft's law at z, whatever was seen above. Hence g_z[n] = Pr[the walk comes to z with n survivors] follows
    from the parent's by going through the V^n continuations of one node:

        g_zy[m] = sum over n and over (t_1 .. t_n) with m of them equal to y of g_z[n] q(t_1) .. q(t_n) e(y),

    e(y) the probability that the rule emits y. The budgets are the sums of g_z over n. Exact for an exact
    instance. The work is V^K a node, instead of V^(LK) drafted tuples; None where it is above `WORK_LIMIT`.

    Args:
        instance: on the full tree, exact or float.
        paths: number K of drafted paths.
        rule: what the verifier emits at a node.

    Raises ValueError for paths < 1 and for a sparse instance.
    """
    check_paths(paths)
    tree = instance.tree
    if len(tree.leaves) != tree.vocab**tree.depth:
        raise ValueError("the budgets of a walk need the full tree; this instance is sparse")
    if tree.leaves.start * tree.vocab ** (paths + 1) > WORK_LIMIT[instance.exact]:
        return None
    kind = object if instance.exact else np.float64
    arrays = Arrays(np.empty(0, dtype=kind), "float64")
    # Column n: the probability of coming to each node with n survivors.
    reach = arrays.zeros(len(tree), paths + 1)
    reach[0, paths] = arrays.one
    for depth in range(tree.depth):
        nodes = tree.level(depth)
        below = tree.level(depth + 1)
        target = arrays.numbers(instance.target[below]).reshape(-1, tree.vocab)
        draft = arrays.numbers(instance.draft[below]).reshape(-1, tree.vocab)
        children = arrays.zeros(len(target), tree.vocab, paths + 1)
        for survivors in range(1, paths + 1):
            here = reach[nodes, survivors]
            live = np.flatnonzero(here != 0)
            if len(live):
                children[live] += _step(arrays, target[live], draft[live], here[live], survivors, paths, rule)
        reach[below] = children.reshape(-1, paths + 1)
    return settled(arrays.sum(reach))


def _step(
    arrays: Arrays, target: Array, draft: Array, here: Array, survivors: int, paths: int, rule: Rule
) -> Array:
    """(g, V, K + 1): where g nodes with equally many survivors lead, from rows (g, V) and their mass (g,)."""
    count, vocab = target.shape
    listed: list[Any] = list(itertools.product(range(vocab), repeat=survivors))
    tokens = np.tile(np.array(listed), (count, 1))
    node = np.repeat(np.arange(count), len(listed))
    chance = here[node]
    for j in range(survivors):
        chance = chance * draft[node, tokens[:, j]]
    drafted = np.flatnonzero(chance != 0)
    tokens, node, chance = tokens[drafted], node[drafted], chance[drafted]
    target, draft = target[node], draft[node]
    emission = rule(arrays, target, draft, tokens)
    left = emission.left(arrays, target, draft)
    total = arrays.sum(left)
    led = arrays.zeros(count, vocab, paths + 1)
    for j in range(survivors):
        token = tokens[:, j]
        mass = emitted(arrays, emission, tokens, j, arrays.divide(arrays.pick(left, token), total))
        same = tokens == token[:, None]
        first = np.flatnonzero(~same[:, :j].any(axis=1))  # a token that came before was counted there
        np.add.at(led, (node[first], token[first], same[first].sum(axis=1)), (chance * mass)[first])
    return led
