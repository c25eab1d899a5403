"""Greedy multi-path block verification: pick one path by a fixed ranking, verify it as a block."""

from __future__ import annotations

from nodebudget.lp.power_sums import power_sum
from nodebudget.lp.ratio_order import order_by_ratio

from .arrays import Array, Arrays
from .extended import Extended
from .laws import AcceptanceLaw
from .paths import DraftTree
from .single_path import block_along_path


def law(tree: DraftTree) -> AcceptanceLaw:
    """Pick the highest-ranked path and verify it as a block under the law that the picked path has.

    At every node the tokens are ranked by target(y) / draft(y), higher first, ties by smaller token id: one
    strict order that does not depend on what was drafted. Paths are compared token by token from the root.
    The picked path passes node z with probability (A + x)^K - A^K, where x is the draft's probability of z
    and A that of everything ranked below z; its conditionals, the skewed draft, take the draft's place in
    block verification.

    Only numbers on the picked path are needed. With rho = x / (A + x), c_y the draft's mass of the tokens
    ranked below y, u = 1 - rho + rho c_y, v = u + rho draft(y) and S(a, b) = sum_{i < K} a^i b^(K-1-i), the
    skewed draft is draft(y) S(v, u) / S(1, 1 - rho), and rho becomes rho draft(y) / v below y. Nothing
    cancels, for any K and depth.

    Lossless for every K, and for K = 1 it is block verification. The expected accepted tokens do not always
    grow with K, and are far below those of block verification where draft and target are close.

    Reference: arXiv:2602.16961; statements 6.3 and 6.4.
    """
    tree = tree.in_memory()
    arrays, xp = tree.arrays, tree.arrays.xp
    count, depth = tree.nodes.paths, tree.nodes.depth
    path, order = pick_path(tree)
    tokens = arrays.take(arrays.index(tree.nodes.token), path[1:])
    below, totals = [], []
    for part in arrays.parts(depth):
        draft = tree.draft_rows(path[:-1][part])
        below.append(mass_ranked_below(arrays, draft, order[part]))
        totals.append(xp.max(below[-1] + draft, axis=1))
    below = xp.concat(below)
    token_draft, token_below = arrays.take(tree.drafted, path[1:] - 1), arrays.pick(below, tokens)

    # rest = 1 - rho is carried as a number of its own: taken from rho it would be lost once rho is near 1.
    share, rest, under, upto = [arrays.ones(1)], [arrays.zeros(1)], [], []
    for i in range(depth):
        own = share[-1] * token_draft[i : i + 1]
        under.append(rest[-1] + share[-1] * token_below[i : i + 1])
        upto.append(under[-1] + own)
        share.append(arrays.divide(own, upto[-1]))
        rest.append(arrays.divide(under[-1], upto[-1]))
    rho, sigma = xp.concat(share[:-1]), xp.concat(rest[:-1])

    # The row's own total in place of 1, since K - 1 powers of a total that is off by rounding would add up.
    base = power_sum(count, sigma + rho * xp.concat(totals), sigma)

    def skewed(position: Array) -> Array:
        draft = tree.draft_rows(arrays.take(path, position))
        own = arrays.take(rho, position)[:, None]
        under = own * arrays.take(below, position)
        under += arrays.take(sigma, position)[:, None]
        upto = own * draft
        upto += under
        factor = power_sum(count, upto, under)
        factor /= arrays.take(base, position)[:, None]
        factor *= draft
        return factor

    # S(v, u) = v^(K-1) S(1, u/v): for the token itself, of which v^(K-1) may underflow.
    ratio = arrays.divide(xp.concat(under), xp.concat(upto))
    scale = token_draft * power_sum(count, ratio * 0 + arrays.one, ratio) / base
    drafted = Extended(arrays, xp.concat(upto)).power(count - 1).times(scale)
    return block_along_path(tree, path, skewed, drafted)


def pick_path(tree: DraftTree) -> tuple[Array, Array]:
    """The highest-ranked of the drafted paths, and the rankings along it; chosen on the tree's device.

    Returns:
        (L + 1,) index array, the nodes of the path.
        (L, V) index array, at each node above its leaf the tokens in their order, the highest-ranked first.
    """
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.nodes
    everyone = arrays.positions(nodes.paths)
    standing = everyone >= 0
    path, orders = [arrays.index([0])], []
    for i in range(nodes.depth):
        order = ranking(tree, tree.target_rows(path[-1]), tree.draft_rows(path[-1]))
        rank = arrays.find(order, nodes.token[nodes.path_nodes[:, i + 1]])
        rank = xp.where(standing, rank, tree.vocab)
        standing = standing & (rank == xp.min(rank))
        picked = xp.reshape(xp.max(xp.where(standing, everyone, 0)), (1,))
        path.append(arrays.take(arrays.index(nodes.path_nodes[:, i + 1]), picked))
        orders.append(order)
    return xp.concat(path), xp.concat(orders)


def ranking(tree: DraftTree, target: Array, draft: Array) -> Array:
    """(g, V) index array: for rows (g, V), the tokens by target / draft, the highest first, ties by token id.

    See `order_by_ratio`. Any strict order that is fixed for a node keeps the law lossless.
    """
    return order_by_ratio(target, draft, tree.rounding)


def mass_ranked_below(arrays: Arrays, draft: Array, order: Array) -> Array:
    """(g, V): for each token the draft's mass of the tokens that are ranked below it, from rows (g, V)."""
    xp = arrays.xp
    from_lowest = xp.flip(arrays.in_order(draft, order), axis=1)
    return arrays.out_of_order(xp.flip(arrays.sums_before(from_lowest), axis=1), order)
