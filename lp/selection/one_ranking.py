"""Picking a path by one ranking of the leaves: vertices of the base polytope, and GBV (statements 6.2 to 6.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..drafting.iid_paths import check_paths
from ..drafting.power_sums import power_sum
from ..instances.instance import Instance
from ..instances.trees import PrefixTree
from ..numbers.rationals import Array, fast, settled, to_fmpq
from .ratio_order import ROUNDING, order_tokens


def ranked_skewed_draft(tree: PrefixTree, joint_draft: Array, ranking: Sequence[int], paths: int) -> Array:
    """Skewed draft of picking the highest-ranked of K paths: nu(z) = (A + x)^K - A^K on leaves (statement 6.2).

    A is the draft mass of the leaves ranked below z, x = q(z). These are the vertices of the base polytope of
    the polymatroid A -> f(q(A)).

    Args:
        tree: the prefix tree.
        joint_draft: array (n,), q(z), exact or float.
        ranking: every leaf once, the best first.
        paths: number K of drafted paths.

    Returns:
        array (n,): nu(z) = Pr[the picked path passes z], summed up the tree from the leaves.
    """
    check_paths(paths)
    if sorted(ranking) != list(tree.leaves):
        raise ValueError("ranking: expected every leaf exactly once, the best first")
    mass = fast(joint_draft)
    nu = mass * 0
    below = nu[0]
    for leaf in reversed(ranking):
        nu[leaf] = (below + mass[leaf]) ** paths - below**paths
        below = below + mass[leaf]
    for d in range(tree.depth - 1, -1, -1):
        nu[tree.level(d)] = tree.sum_children(nu, d)
    return settled(nu)


def ratio_order(instance: Instance) -> Array:
    """int array (n,): nodes in level order, the children of each node from the lowest to the highest rank.

    The rank is p(y|z)/q(y|z), higher is better, ties to the smaller token id (statement 6.3), in the one order of
    `nodebudget.lp.selection.ratio_order`. Tokens with q = 0 are never drafted; where they stand is of no account.
    """
    tree = instance.tree
    order = np.arange(len(tree))
    target, draft = fast(instance.target), fast(instance.draft)
    for node in range(tree.leaves.start):
        below = slice(tree.children(node).start, tree.children(node).stop)
        tokens, laws = tree.token[below], (target[below], draft[below])
        ranked = order_tokens(*_with_off_tree(instance, node, tokens, laws), tree.vocab, ROUNDING)
        order[below] = below.start + np.searchsorted(tokens, ranked[np.isin(ranked, tokens)])
    return order


def _with_off_tree(
    instance: Instance, node: int, tokens: Array, laws: tuple[Array, Array]
) -> tuple[Array, Array, Array]:
    """The tokens of a node with target and draft, those without a node of their own, too: rows are ordered whole."""
    rest = instance.off_tree.get(node)
    if not rest:
        return tokens, *laws
    every = np.concatenate((tokens, list(rest)))
    place = np.argsort(every)
    pairs = fast(np.array(list(rest.values()), dtype=laws[0].dtype).reshape(-1)).reshape(-1, 2)
    target, draft = (np.concatenate((law, pairs[:, i]))[place] for i, law in enumerate(laws))
    return every[place], target, draft


def greedy_skewed_draft(instance: Instance, paths: int) -> Array:
    """array (n,): nu(z) of greedy multi-path selection, nu(z) = (A + x)^K - A^K, exactly (statements 6.2, 6.3).

    Children are ranked by p(y|z)/q(y|z) at every node and paths are compared lexicographically, so the leaves
    below a node are contiguous in the ranking: A is the draft mass of the leaves ranked below all of them.

    For floats use `stable_greedy_skewed_draft`: the difference of powers cancels there.
    """
    check_paths(paths)
    tree, order = instance.tree, ratio_order(instance)
    mass = fast(instance.joint_draft)
    below = mass * 0
    nu = mass.copy()
    for node in range(tree.leaves.start):
        ahead = below[node] + mass[node] * _draft_off_tree(instance, node)
        for child in order[tree.children(node).start : tree.children(node).stop].tolist():
            below[child] = ahead
            nu[child] = (ahead + mass[child]) ** paths - ahead**paths
            ahead = ahead + mass[child]
    return settled(nu)


def stable_greedy_skewed_draft(instance: Instance, paths: int) -> Array:
    """array (n,): the same nu(z) from on-path numbers, without cancellation for any K and depth (statement 6.4).

    With rho(z) = x/(A + x), c_y the draft mass at z of the tokens ranked below y, u = 1 - rho + rho c_y and
    v = u + rho q(y|z): nu(y|z) = q(y|z) S(v, u)/S(1, 1 - rho) and rho(zy) = rho q(y|z)/v, where
    S(a, b) = sum of a^i b^(K-1-i). 1 - rho is carried as a number of its own, 1 - rho(zy) = u/v: taken from
    rho it would cancel where almost all mass is on one path.
    """
    check_paths(paths)
    tree, order = instance.tree, ratio_order(instance)
    draft = fast(instance.draft)
    one = draft[0]
    rho, rest, nu = draft * 0 + one, draft * 0, draft * 0 + one
    for node in range(tree.leaves.start):
        ahead = one * 0 + _draft_off_tree(instance, node)
        whole = power_sum(paths, one, rest[node])
        for child in order[tree.children(node).start : tree.children(node).stop].tolist():
            u = rest[node] + rho[node] * ahead
            v = u + rho[node] * draft[child]
            nu[child] = nu[node] * draft[child] * power_sum(paths, v, u) / whole
            rho[child], rest[child] = (rho[node] * draft[child] / v, u / v) if v > 0 else (one * 0, one)
            ahead = ahead + draft[child]
    return settled(nu)


def _draft_off_tree(instance: Instance, node: int) -> Any:
    """Draft mass at a node of the tokens that a sparse tree leaves out: without target mass, they rank lowest."""
    total = sum((draft for _, draft in instance.off_tree.get(node, {}).values()), instance.draft[0] * 0)
    return to_fmpq(total) if instance.exact else total
