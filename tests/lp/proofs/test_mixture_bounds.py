"""Brackets by mixtures of orders, where antichains are too many to list: against certified optima of smaller trees."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from nodebudget.lp import OptimumStatus, random_instance, solve_multi_path
from nodebudget.lp.drafting import (
    GrownTree,
    IidPaths,
    LikeliestAndSample,
    Problem,
    WithoutReplacement,
    WithReplacement,
)
from nodebudget.lp.instances.instance import Instance
from nodebudget.lp.proofs.mixture_bounds import chain_of_weights, mixture_value, proven_by_orders
from nodebudget.lp.solving import order_mixtures
from nodebudget.lp.solving.order_mixtures import best_mixture


def bracket(instance: Instance, drafting: GrownTree) -> tuple[Fraction, Fraction]:
    problem = Problem(instance, drafting)
    found = best_mixture(problem.floats, drafting)
    assert found.converged
    chain = chain_of_weights(instance.tree, found.weights)
    return proven_by_orders(problem.reading, drafting, found.orders, found.shares, chain)


@pytest.mark.parametrize("family", ["flat", "markov", "identical"])
@pytest.mark.parametrize(
    "drafting", [WithoutReplacement(2, 2), WithoutReplacement(3, 1), LikeliestAndSample(2, 2), IidPaths(3)], ids=str
)  # fmt: skip
def test_the_certified_optimum_lies_between(family: str, drafting: GrownTree) -> None:
    for seed in range(3):
        instance = random_instance(family, 3, 2, seed, zeros=0.2 * (seed == 2))
        optimum = solve_multi_path(instance, drafting)
        assert optimum.certified
        low, high = bracket(instance, drafting)
        assert low <= optimum.value <= high
        assert high - low < 1e-8


def test_beyond_the_table_against_the_exact_oracle_of_draws_with_replacement() -> None:
    """389,017,000 antichains: draws with replacement have an oracle of their own, which knows nothing of orders."""
    instance, drafting = random_instance("flat", 3, 3, 1), WithReplacement(2, 2, 1)
    optimum = solve_multi_path(instance, drafting)
    assert optimum.certified
    low, high = bracket(instance, drafting)
    assert low <= optimum.value <= high
    assert high - low < 1e-8


def test_control_another_draft_s_orders_and_multipliers_do_not_meet() -> None:
    instance = random_instance("flat", 3, 2, 0)
    more, fewer = WithoutReplacement(2, 2), WithoutReplacement(2, 1)
    best = solve_multi_path(instance, more).value
    found = best_mixture(Problem(instance, fewer).floats, fewer)
    chain = chain_of_weights(instance.tree, found.weights)
    low, high = proven_by_orders(Problem(instance, more), more, found.orders, found.shares, chain)
    assert low < best < high
    assert high - low > 1e-3
    one = mixture_value(Problem(instance, more), more, found.orders[:1], np.ones(1))
    assert one < best


def test_multipliers_of_a_chain_sum_to_the_weights() -> None:
    instance = random_instance("flat", 2, 2, 0)
    weights = np.array([0.0, 0.5, 0.25, 0.25, 0.0, 1.0, 0.25])
    chain = chain_of_weights(instance.tree, weights)
    assert all(tight.multiplier > 0 for tight in chain)
    for node in range(1, 7):
        assert sum(tight.multiplier for tight in chain if node in tight.nodes) == weights[node]
    # t in (0, 1/4): {0, 1}; (1/4, 1/2): {0, 10, 11}; (1/2, 3/4): {00, 10}; (3/4, 5/4): {10}
    assert [tight.nodes for tight in chain] == [(1, 2), (1, 5, 6), (3, 5), (5,)]


LARGE = WithoutReplacement(2, 2, 1)


def test_a_large_tree_says_what_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance("flat", 3, 3, 3)
    optimum = solve_multi_path(instance, LARGE)
    assert optimum.status is OptimumStatus.BRACKETED
    assert "the tree has 389017000 antichains; certificates are tried up to 100000" in optimum.verdict
    assert optimum.proven is not None
    low, high = optimum.proven
    assert optimum.bracket[0] <= low <= high <= optimum.bracket[1]
    assert high - low < 1e-9
    in_floats = solve_multi_path(instance, LARGE, certify=False)
    assert in_floats.status is OptimumStatus.NOT_CERTIFIED
    assert (in_floats.proven, in_floats.certificate) == (None, None)
    assert low - Fraction(1, 10**9) <= in_floats.value <= high + Fraction(1, 10**9)
    # stopped early: floats say that they are bounded only, and what is proven stays true
    monkeypatch.setattr(order_mixtures, "ROUND_LIMIT", 2)
    early = solve_multi_path(instance, LARGE, certify=False)
    assert early.status is OptimumStatus.BOUNDED
    assert early.reason.startswith("stopped after 2 rounds; the optimum lies between")
    assert early.bracket[0] < in_floats.value < early.bracket[1]
    proven = solve_multi_path(instance, LARGE).proven
    assert proven is not None
    assert proven[0] < low <= high < proven[1]


def test_tiny_probabilities_do_not_stop_the_solver() -> None:
    """Differences of 1e-17 in hit probabilities are rounding; shown to the solver they left it without a verdict."""
    instance = random_instance("logits", 3, 3, 26, similarity=0.9, concentration=2.0)
    drafting = LikeliestAndSample(2, 2, 1)
    found = best_mixture(Problem(instance, drafting).floats, drafting)
    assert found.converged
    chain = chain_of_weights(instance.tree, found.weights)
    low, high = proven_by_orders(
        Problem(instance, drafting).reading, drafting, found.orders, found.shares, chain
    )
    assert low <= found.upper
    assert high - low < 1e-8


def test_more_draws_are_worth_more_and_never_more_than_the_target_gives() -> None:
    """13.1 lets a verifier ignore nodes; k_1 = 3 of 3 tokens at every length is the whole tree, worth L."""
    instance = random_instance("flat", 3, 3, 5)
    values = [
        solve_multi_path(instance, WithoutReplacement(*counts), certify=False).value
        for counts in ((1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (3, 3, 3))
    ]
    assert all(low < high for low, high in pairwise(values))
    assert values[-1] == pytest.approx(3, abs=1e-9)
    assert values[0] == pytest.approx(solve_multi_path(instance, 1, certify=False).value, abs=1e-8)


def test_an_instance_of_which_nothing_is_accepted() -> None:
    one, other = [Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]
    instance = Instance.from_laws(2, 1, {(): one}, {(): other})
    problem = Problem(instance, WithoutReplacement(1))
    found = best_mixture(problem.floats, WithoutReplacement(1))
    assert (found.lower, found.upper, found.converged) == (0, 0, True)
