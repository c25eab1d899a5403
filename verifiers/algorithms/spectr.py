"""SpecTr: K-SEQ selection, which divides the target among the drafted continuations."""

from __future__ import annotations

from collections.abc import Callable

from nodebudget.lp import Instance
from nodebudget.lp.drafting.power_sums import power_sum

from ..arithmetic.arrays import Array, Arrays
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Verifier
from .one_step import Continuations, Emission
from .survivors import top_down_budgets
from .topdown import top_down

BISECTION_STEPS = 12
"""Halvings of the interval [1, m] in the search for a division factor."""


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node accept a continuation t_j with probability min(1, target / (g draft)).

    The m continuations are tried in turn. With b = sum_y min(draft(y), target(y) / g), after m rejections the
    token is drawn from target - min(draft, target / g) (1 - (1 - b)^m) / b over its sum. That may be a token
    that was rejected before: then the walk goes on below it.

    Lossless for every division factor g with 1 - (1 - b)^m <= g b. The factor is found by twelve halvings of
    [1, m], which give the smallest valid one of 1, 1 + (m - 1) / 4096, 1 + 2 (m - 1) / 4096, ...; in exact
    arithmetic its validity is exact. The smallest factor need not accept the most tokens: a larger one
    rejects more, but its residual emits rejected tokens more often.

    To be read: `nodebudget.verifiers.plain.spectr`, the same in Fractions.
    Reference: arXiv:2310.15141; statement 10.1.
    """
    return top_down(tree, rule)


def rule(arrays: Arrays, here: Continuations) -> Emission:
    """Accept the continuations in turn against the divided target (`topdown.Rule`)."""
    nodes, count = here.wanted.shape
    share = turns = arrays.ones(nodes)
    if count > 1:
        served = here.served()
        share = 1 / division_factor(arrays, served, nodes, count)
        turns = _turns(arrays, served, count, share)
    rejected, accepted = arrays.ones(nodes), []
    for j in range(count):
        q = here.drafted[:, j]
        kept = arrays.xp.minimum(q, here.wanted[:, j] * share)  # min(q, p / g)
        accepted.append(rejected * arrays.divide(kept, q))
        rejected = rejected * arrays.divide(q - kept, q)
    return Emission(accepted, rejected, turns, share)


def division_factor(arrays: Arrays, served: Callable[[Array], Array], nodes: int, count: int) -> Array:
    """(g,): at g nodes, a division factor in [1, count] that is valid for `count` continuations.

    `served` gives the sums over tokens of min(draft, share target) for shares (g,).
    """
    low, high = arrays.ones(nodes), arrays.ones(nodes) * count
    if count == 1:
        return low
    high = arrays.xp.where(_valid(arrays, served, count, low), low, high)
    if not arrays.torch and (low == high).all():
        return high  # halving nothing changes nothing
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        valid = _valid(arrays, served, count, middle)
        low, high = arrays.xp.where(valid, low, middle), arrays.xp.where(valid, middle, high)
    return high


def _valid(arrays: Arrays, served: Callable[[Array], Array], count: int, factor: Array) -> Array:
    return _turns(arrays, served, count, 1 / factor) <= factor + arrays.slack


def _turns(arrays: Arrays, served: Callable[[Array], Array], count: int, share: Array) -> Array:
    """(1 - (1 - b)^m) / b, without the division: the expected number of continuations that are tried."""
    miss = arrays.positive(1 - served(share))
    return power_sum(count, miss * 0 + arrays.one, miss)


def budgets(instance: Instance, paths: int) -> Array | None:
    """array (n,): Pr[z is a prefix of Z], by the number of surviving paths.

    None where a node has too many continuations.
    """
    return top_down_budgets(instance, paths, rule)


VERIFIER = Verifier(
    "spectr",
    law,
    multipath=True,
    reference="arXiv:2310.15141; statement 10.1",
    one_step=lambda tree: rule,
    one_pass=budgets,
)
