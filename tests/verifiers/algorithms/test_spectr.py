"""The division factor of SpecTr's K-SEQ."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from nodebudget.lp.drafting.power_sums import power_sum
from nodebudget.lp.instances.families import random_instance
from nodebudget.lp.numbers.rationals import to_fraction
from nodebudget.verifiers import DraftTree
from nodebudget.verifiers.algorithms.spectr import division_factor as smallest_factor
from nodebudget.verifiers.arithmetic.arrays import Array


def excess(target: list[Fraction], draft: list[Fraction], count: int, factor: Fraction) -> Fraction:
    """1 - (1 - b)^m - g b, which must not be positive."""
    b = sum((min(q, p / factor) for p, q in zip(target, draft, strict=True)), Fraction(0))
    return 1 - (1 - b) ** count - factor * b


def division_factor(tree: DraftTree, count: int) -> Array:
    root = tree.arrays.index([0])
    return smallest_factor(tree.arrays, tree.pairs.served(root), 1, count)


def root_rows(family: str, vocab: int, seed: int) -> DraftTree:
    instance = random_instance(family, vocab, 1, seed, zeros=0.2)
    drafted = next(leaf for leaf in instance.tree.leaves if instance.joint_draft[leaf] > 0)
    return DraftTree.from_instance(instance, [instance.tree.path(drafted)])


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("family", ["flat", "identical"])
def test_exact_factors_are_valid_and_the_smallest_of_their_grid(family: str, count: int) -> None:
    for seed in range(12):
        tree = root_rows(family, 2 + seed % 4, seed)
        factor = to_fraction(division_factor(tree, count)[0])
        rows = tree.target[0].tolist(), tree.draft[0].tolist()
        step = Fraction(count - 1, 4096)
        assert 1 <= factor <= count
        assert excess(*rows, count, factor) <= 0
        assert factor == 1 or excess(*rows, count, factor - step) > 0
        if family == "identical":
            assert factor == 1


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_float_factors_are_the_exact_ones(kind: str) -> None:
    for seed in range(20):
        exact = root_rows("identical" if seed % 4 == 0 else "flat", 2 + seed % 4, seed)
        rows = exact.target.astype(np.float64), exact.draft.astype(np.float64)
        tree = DraftTree(exact.nodes, *(map(torch.tensor, rows) if kind == "torch" else rows))
        for count in (1, 2, 5):
            factors = [
                float(to_fraction(value) if which is exact else value)
                for which in (exact, tree)
                for value in division_factor(which, count)
            ]
            assert factors[0] == factors[1]


def test_sums_of_powers() -> None:
    for count in (1, 2, 3, 7, 8, 64):
        first, second = np.array([Fraction(2, 3), Fraction(0)]), np.array([Fraction(1, 5), Fraction(1)])
        wanted = [
            sum(a**i * b ** (count - 1 - i) for i in range(count)) for a, b in zip(first, second, strict=True)
        ]
        assert power_sum(count, first, second).tolist() == wanted
    assert power_sum(64, np.array([1.0]), np.array([1.0])).tolist() == [64]
