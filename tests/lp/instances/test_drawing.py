"""Paths drawn from the draft."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from nodebudget.lp import Instance, random_instance

HOLED = {(): [F(1, 2), F(0), F(1, 2)], (0,): [F(0), F(1), F(0)], (2,): [F(1, 4), F(3, 4), F(0)]}
"""A draft law for every context that can be drafted."""


def holed() -> Instance:
    """Sparse: the target never follows with 2, so that token has no node although it is drafted half of the time."""
    target = {(): [F(1), F(0), F(0)], (0,): [F(0), F(1), F(0)]}
    return Instance.from_laws(3, 2, target, HOLED, sparse=True)


def assert_law(drawn: list[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> None:
    """Every count is within five standard errors of its expectation, and nothing else was drawn."""
    counts, total = Counter(drawn), len(drawn)
    assert set(counts) <= {path for path, mass in law.items() if mass}
    for path, mass in law.items():
        assert abs(counts[path] - total * mass) <= 5 * (total * mass * (1 - mass)) ** 0.5


@pytest.mark.parametrize("exact", [True, False])
def test_paths_have_the_draft_s_law(exact: bool) -> None:
    instance = random_instance("flat", 3, 2, seed=3, zeros=0.3)
    law = {instance.tree.path(leaf): float(instance.joint_draft[leaf]) for leaf in instance.tree.leaves}
    assert 0 in law.values()
    drawn = (instance if exact else instance.to_float()).draw_paths(4000, seed=1)
    assert_law([tuple(path) for path in drawn.tolist()], law)
    other = random_instance("flat", 3, 2, seed=4, zeros=0.3)
    with pytest.raises(AssertionError):  # the comparison can fail
        assert_law([tuple(path) for path in other.draw_paths(4000, seed=1).tolist()], law)


def test_tokens_off_the_tree_are_drawn_and_followed_by_zeros() -> None:
    drawn = [tuple(path) for path in holed().draw_paths(1000, seed=2).tolist()]
    assert holed().tree.find((2,)) is None
    assert_law(drawn, {(0, 1): 0.5, (2, 0): 0.5})


def test_shape_kind_and_seed() -> None:
    instance = random_instance("iid", 3, 4, seed=0)
    drawn = instance.draw_paths(5, seed=7)
    assert drawn.shape == (5, 4)
    assert drawn.dtype == np.int64
    assert drawn.tolist() == instance.draw_paths(5, seed=7).tolist()
    assert drawn.tolist() != instance.draw_paths(5, seed=8).tolist()
    assert drawn.tolist() == instance.draw_paths(5, seed=np.random.default_rng(7)).tolist()
    # A float instance with the same laws: the same uniform numbers, the same paths.
    assert drawn.tolist() == instance.to_float().draw_paths(5, seed=7).tolist()


@pytest.mark.parametrize(
    ("paths", "seed", "said"),
    [
        (0, 0, "paths: got 0; expected an integer of at least 1"),
        (2.0, 0, "paths: got 2.0; expected an integer of at least 1"),
        (True, 0, "paths: got True; expected an integer of at least 1"),
        (2, "x", "seed: got the str 'x'; expected an integer of at least 0"),
        (2, -1, "seed: got the int -1; expected an integer of at least 0"),
    ],
)
def test_what_is_refused(paths: Any, seed: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        holed().draw_paths(paths, seed)
