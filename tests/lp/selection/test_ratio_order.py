"""The order of tokens by target / draft: every way to it against a plain sort of rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from nodebudget.lp.numbers.rationals import fmpq_array
from nodebudget.lp.selection.ratio_order import device_order, order_by_ratio, places

DOUBLE, SINGLE = 16 * 2.0**-52, 16 * 2.0**-23
WAYS = [(order_by_ratio, "exact"), (order_by_ratio, "numpy 64"), (order_by_ratio, "numpy 32")]
WAYS += [(way, f"torch {bits}") for way in (order_by_ratio, device_order) for bits in (64, 32)]


def plain_order(target: list[Fraction], draft: list[Fraction]) -> list[int]:
    """From the lowest ratio up, ties from the largest token id down."""
    ratio = [t / d if d else Fraction(0) for t, d in zip(target, draft, strict=True)]
    return sorted(range(len(ratio)), key=lambda y: (ratio[y], -y))


def exact_law(counts: np.ndarray) -> list[Fraction]:
    return [Fraction(int(count), int(counts.sum())) for count in counts]


def as_rows(law: list[Fraction], kind: str) -> Any:
    if kind == "exact":
        return fmpq_array(law)[None]
    row = np.array([[float(value) for value in law]])
    row = row.astype(np.float32) if kind.endswith("32") else row
    return row if kind.startswith("numpy") else torch.tensor(row)


@pytest.mark.parametrize(("way", "kind"), WAYS)
@pytest.mark.parametrize("vocab", [1, 2, 7, 300])
@pytest.mark.parametrize("seed", range(4))
def test_order_is_that_of_the_rationals(way: Any, kind: str, vocab: int, seed: int) -> None:
    # Small counts: many ties, many tokens that one of the models does not give.
    rng = np.random.default_rng(seed)
    target, draft = (exact_law(rng.integers(0, 6, vocab) + np.eye(1, vocab, dtype=int)[0]) for _ in range(2))
    found = way(*(as_rows(law, kind) for law in (target, draft)), SINGLE if kind.endswith("32") else DOUBLE)
    listed = [int(y) for y in found[0]]
    right = plain_order(target, draft)
    drawn = [y for y in right if draft[y]]
    # Tokens that are not drafted come before all others that have mass, in any place among those of ratio 0.
    assert sorted(listed) == list(range(vocab))
    assert [y for y in listed if draft[y]] == drawn


def test_ratios_that_differ_by_rounding_are_ties_and_no_others() -> None:
    draft = np.full((1, 6), 1 / 6)
    nearly = 1 / 6 * (1 + 4 * 2.0**-52)
    target = np.array([[1 / 6, nearly, 1 / 6, 0.2, 0.2 * (1 - 1e-9), 0.1]])
    assert order_by_ratio(target, draft, DOUBLE)[0].tolist() == [5, 2, 1, 0, 4, 3]
    assert device_order(torch.tensor(target), torch.tensor(draft), DOUBLE)[0].tolist() == [5, 2, 1, 0, 4, 3]
    # Without the tolerance the second token would be above the first.
    assert np.argsort(target[0] / draft[0], kind="stable").tolist() != [5, 2, 1, 0, 4, 3]


def test_probabilities_that_overflow_a_quotient_are_told_apart() -> None:
    target = np.array([[0.3, 0.7, 1e-200, 0.0]])
    draft = np.array([[1e-310, 1e-312, 1e-320, 1.0]])
    with np.errstate(all="raise", under="ignore"):
        assert order_by_ratio(target, draft, DOUBLE)[0].tolist() == [3, 2, 0, 1]
    assert device_order(torch.tensor(target), torch.tensor(draft), DOUBLE)[0].tolist() == [3, 2, 0, 1]


def test_places_undo_an_order() -> None:
    orders = np.array([[2, 0, 1], [0, 1, 2]])
    assert places(orders).tolist() == [[1, 2, 0], [0, 1, 2]]
    assert places(torch.tensor(orders)).tolist() == [[1, 2, 0], [0, 1, 2]]
