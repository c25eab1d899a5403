"""The node budgets of verifiers that need no look at drafted tuples: one pass over an instance's tree.

Each function goes from an instance and the number K of drafted paths to an array (n,), Pr[z is a prefix of Z],
exact for an exact instance; `accepted_tokens` of it is E|Z|. They agree with the laws, enumerated.
"""

from __future__ import annotations

from nodebudget.lp import (
    Instance,
    Selection,
    block_budgets,
    greedy_skewed_draft,
    hit_probability,
    skewed_draft,
    stable_greedy_skewed_draft,
    token_budgets,
)
from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.numbers.rationals import Array, fast, fill, settled

from ..algorithms import specinfer, spectr
from .survivors import top_down_budgets


def token_verification(instance: Instance, paths: int) -> Array:
    """Token verification of the first path (statement 5.4)."""
    check_paths(paths)
    return token_budgets(instance)


def block_verification(instance: Instance, paths: int) -> Array:
    """Block verification of the first path (statement 5.2)."""
    check_paths(paths)
    return block_budgets(instance)


def greedy_multipath(instance: Instance, paths: int) -> Array:
    """GBV: block verification under its skewed draft (statements 5.2, 6.3, 6.4)."""
    skewed = greedy_skewed_draft if instance.exact else stable_greedy_skewed_draft
    return block_budgets(instance, skewed(instance, paths))


def mixed_multipath(instance: Instance, paths: int, selection: Selection | None = None) -> Array:
    """Mixed selection: block verification under its skewed draft (statements 5.2, 12.1, 12.3)."""
    return skewed_draft(instance, paths, selection)[1]


def naive_sampling(instance: Instance, paths: int) -> Array:
    """NSS: its tokens do not depend on what was drafted, so D(z) = p(z) f(q(z)), f(t) = 1 - (1 - t)^K."""
    check_paths(paths)
    hit = [hit_probability(mass, paths) for mass in fast(instance.joint_draft)]
    return settled(fast(instance.joint_target) * (fill(hit) if instance.exact else hit))


def spec_infer(instance: Instance, paths: int) -> Array | None:
    """SpecInfer, by the number of surviving paths; None where a node has too many continuations."""
    return top_down_budgets(instance, paths, specinfer.rule)


def spec_tr(instance: Instance, paths: int) -> Array | None:
    """SpecTr, by the number of surviving paths; None where a node has too many continuations."""
    return top_down_budgets(instance, paths, spectr.rule)
