"""Greedy multi-path block verification: pick one path by a fixed ranking, verify it as a block."""

from __future__ import annotations

from nodebudget.lp import Instance, block_budgets, greedy_skewed_draft, stable_greedy_skewed_draft
from nodebudget.lp.drafting.power_sums import power_sum
from nodebudget.lp.selection.ratio_order import order_by_ratio

from ..algorithms import block_verification
from ..arithmetic.arrays import Array, Arrays
from ..arithmetic.scaled import scaled
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Verifier
from .picked import Picked, Skew, compiled_pick
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

    To be read: `nodebudget.verifiers.plain.gbv`, the same in Fractions.
    Reference: arXiv:2602.16961; statements 6.3 and 6.4.
    """
    if tree.of_paths.paths == 1:
        return block_verification.law(tree)  # without an order of the tokens
    tree = tree.in_memory()
    arrays = tree.arrays
    K, depth = tree.of_paths.paths, tree.nodes.depth
    picked = pick(tree)
    path, unit = picked.path, picked.unit
    q = tree.drafted_along(path)
    c, total = (arrays.divide(mass, unit) for mass in (picked.token_below, picked.total))
    rho, sigma, u, v = _along_the_ranking(arrays, q, c)

    # S(1, 1 - rho), with the row's own total for 1: K - 1 powers of a total that is off by rounding would add up.
    base = power_sum(K, sigma + rho * total, sigma)
    scale, slope = arrays.divide(arrays.ones(depth), base * unit), arrays.divide(rho, unit)

    def skew(position: Array, taken: Array) -> Skew:
        scale_there, *others = (arrays.take(part, position) for part in (scale, sigma, slope))
        return Skew(K, scale_there * taken, *others)

    def sums(position: Array, taken: Array) -> Array:
        factor = tree.pairs.target.totals(arrays.take(path, position))
        return picked.left_sums(position, skew(position, taken * factor)) / factor

    def rows(position: Array, taken: Array) -> Array:
        factor = tree.pairs.target.totals(arrays.take(path, position))
        return picked.left_rows(position, skew(position, taken * factor))

    # S(v, u) = v^(K-1) S(1, u/v): for the token itself, of which v^(K-1) may underflow.
    ratio = arrays.divide(u, v)
    leading = q * power_sum(K, ratio * 0 + arrays.one, ratio) / base
    nu = scaled(arrays, v).power(K - 1).times(leading)
    return block_along_path(tree, path, nu, sums, rows)


def _along_the_ranking(arrays: Arrays, q: Array, c: Array) -> tuple[Array, ...]:
    """rho, sigma = 1 - rho, u and v at each token of the picked path, (L,) each (statement 6.4).

    sigma is carried as a number of its own: taken from rho it would be lost once rho is near 1.

    Args:
        arrays: the kind of number.
        q, c: (L,), the draft's probabilities of the path's tokens, and its mass of what is ranked below them.
    """
    rho, sigma, u, v = arrays.split(arrays.ones(1)), arrays.split(arrays.zeros(1)), [], []
    for q_y, c_y in zip(arrays.split(q), arrays.split(c), strict=True):
        own = rho[-1] * q_y
        u.append(sigma[-1] + rho[-1] * c_y)
        v.append(u[-1] + own)
        rho.append(arrays.divide(own, v[-1]))
        sigma.append(arrays.divide(u[-1], v[-1]))
    return tuple(arrays.join(part) for part in (rho[:-1], sigma[:-1], u, v))


def pick_path(tree: DraftTree) -> Array:
    """(L + 1,) index array: the nodes of the highest-ranked of the drafted paths, chosen on the tree's device."""
    return pick(tree).path


def pick(tree: DraftTree) -> Picked:
    """The highest-ranked of the drafted paths."""
    compiled = compiled_pick(tree)
    if compiled is not None:
        return compiled
    arrays, xp, nodes = tree.arrays, tree.arrays.xp, tree.of_paths
    everyone = arrays.positions(nodes.paths)
    standing = everyone >= 0
    path, below = [arrays.index([0])], arrays.empty(nodes.depth, tree.vocab)
    totals, units = [], []
    for i in range(nodes.depth):
        draft, unit = tree.pairs.draft.given(path[-1])
        order = ranking(tree, tree.pairs.target.given(path[-1])[0], draft)
        total = mass_ranked_below(arrays, draft, order, below[i : i + 1])
        totals.append(total)
        units.append(unit)
        if not (arrays.numpy and standing.sum() == 1):  # else there is nothing left to choose
            rank = xp.where(standing, arrays.find(order, nodes.token[nodes.path_nodes[:, i + 1]]), -1)
            standing = standing & (rank == xp.max(rank))
        first = xp.reshape(xp.max(xp.where(standing, everyone, 0)), (1,))
        path.append(arrays.take(arrays.index(nodes.path_nodes[:, i + 1]), first))
    return Picked(tree, xp.concat(path), below, xp.concat(totals), xp.concat(units))


def ranking(tree: DraftTree, target: Array, draft: Array) -> Array:
    """(g, V) index array: for given rows (g, V), the tokens by target / draft, the highest last, ties by token id.

    See `order_by_ratio`. Any strict order that is fixed for a node keeps the law lossless.
    """
    return order_by_ratio(target, draft, tree.rounding)


def mass_ranked_below(arrays: Arrays, draft: Array, order: Array, out: Array) -> Array:
    """(g,), the mass of each of the draft's rows (g, V); in `out` for each token that of the tokens ranked below it."""
    listed = arrays.in_order(draft, order)
    before = arrays.sums_before(listed)
    arrays.out_of_order(before, order, out)
    total = before[:, -1] + listed[:, -1]
    return total if arrays.exact else arrays.xp.astype(total, arrays.dtype, copy=False)


def budgets(instance: Instance, paths: int) -> Array:
    """array (n,): Pr[z is a prefix of Z]: block verification under the skewed draft (statements 5.2, 6.3, 6.4)."""
    skewed = greedy_skewed_draft if instance.exact else stable_greedy_skewed_draft
    return block_budgets(instance, skewed(instance, paths))


VERIFIER = Verifier(
    "gbv",
    law,
    multipath=True,
    reference="arXiv:2602.16961; statements 6.3 and 6.4",
    ordered=False,
    blind_below=True,
    pick_path=pick_path,
    one_pass=budgets,
)
