"""Prices of subtrees for draws with replacement, against certified optima and against plain cutting planes."""

from __future__ import annotations

import pytest
from nodebudget.lp import Instance, OptimumStatus, random_instance, solve_multi_path
from nodebudget.lp.drafting import Delayed, Drafting, IidPaths, Problem, WithReplacement
from nodebudget.lp.numbers.rationals import to_fraction
from nodebudget.lp.optimum import solve_problem
from nodebudget.lp.proofs.brackets import proven_by_antichains
from nodebudget.lp.solving import prices
from nodebudget.lp.solving.cutting_planes import SMALL_TREE
from nodebudget.lp.solving.prices import price_phase

CASES: list[tuple[str, int, int, Drafting]] = [
    ("flat", 3, 3, WithReplacement(2, 2, 2)),
    ("zeros", 3, 3, WithReplacement(2, 1, 3)),
    ("logits", 3, 3, WithReplacement(1, 2, 2)),
    ("flat", 4, 2, WithReplacement(3, 2)),
    ("logits", 4, 3, Delayed(1, 3)),
    ("flat", 3, 3, IidPaths(3)),
    ("flat", 5, 1, WithReplacement(3)),
]


def instance_of(family: str, vocab: int, depth: int, seed: int) -> Instance:
    if family == "zeros":
        return random_instance("flat", vocab, depth, seed, zeros=0.3)
    if family == "logits":
        return random_instance("logits", vocab, depth, seed, similarity=0.5, concentration=2.0)
    return random_instance(family, vocab, depth, seed)


@pytest.mark.parametrize("split_nodes", [200, 2], ids=["root only", "split below"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_bracket_holds_the_certified_optimum(
    case: tuple[str, int, int, Drafting], split_nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prices, "SPLIT_NODES", split_nodes)
    family, vocab, depth, drafting = case
    for seed in range(2):
        instance = instance_of(family, vocab, depth, seed)
        optimum = solve_multi_path(instance, drafting)
        assert optimum.certified
        problem = Problem(instance, drafting)
        found = price_phase(problem.floats, 1e-7)
        assert found.upper - found.lower <= 1e-7 * found.upper
        low, high = proven_by_antichains(problem.reading, found)
        assert low <= to_fraction(optimum.certificate.optimum) <= high  # type: ignore[union-attr]
        assert high - low <= 2e-7 * high


def test_control_multipliers_of_another_program_prove_less() -> None:
    """The bound is proven from the multipliers that it is given: without a part of them it is wide, never wrong."""
    instance = random_instance("flat", 3, 3, 0)
    problem = Problem(instance, WithReplacement(2, 2, 2))
    found = price_phase(problem.floats, 1e-7)
    _, high = proven_by_antichains(problem.reading, found)
    found.weighted[:] = found.weighted[: len(found.weighted) // 2]
    _, less = proven_by_antichains(problem.reading, found)
    assert less > high + 1e-3


def test_a_large_tree_is_bracketed() -> None:
    """2,801 nodes: beyond certificates."""
    instance = random_instance("logits", 7, 4, 0, similarity=0.8, concentration=1.0)
    assert len(instance.tree) > SMALL_TREE
    found = solve_problem(Problem(instance, WithReplacement(2, 2, 2, 2)))
    assert found.proven is not None
    low, high = found.proven
    assert 0 < high - low <= 1e-5 * high
    assert found.status is OptimumStatus.BRACKETED
