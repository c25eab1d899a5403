"""The first drafted node of an order, against every tree that can be drafted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from nodebudget.lp import random_instance
from nodebudget.lp.drafting import GrownTree, LikeliestAndSample, WithoutReplacement, WithReplacement
from nodebudget.lp.drafting.orders import first_drafted
from nodebudget.lp.instances.instance import Instance

DRAFTINGS = [WithoutReplacement(2, 2), LikeliestAndSample(2, 1), WithReplacement(2, 2)]


def by_trees(instance: Instance, drafting: GrownTree, order: list[int]) -> list[Fraction]:
    """Pr[z is the first of the order that is drafted], tree by tree."""
    found = [Fraction(0)] * len(instance.tree)
    for nodes, chance in drafting.trees(instance):
        first = next((z for z in order if z in nodes), None)
        if first is not None:
            found[first] += chance
    return found


@pytest.mark.parametrize("drafting", DRAFTINGS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_against_every_tree(drafting: GrownTree, seed: int) -> None:
    instance = random_instance("flat", 3, 2, seed, zeros=0.3 * (seed == 2))
    rng = np.random.default_rng(seed)
    for size in (1, 5, 12):
        order = rng.permutation(np.arange(1, 13))[:size]
        found = first_drafted(instance, drafting, order)
        assert found.tolist() == by_trees(instance, drafting, order.tolist())
        floats = first_drafted(instance.to_float(), drafting, order)
        assert floats == pytest.approx(np.array([float(mass) for mass in found]), abs=1e-14)


def test_control_the_order_matters() -> None:
    instance, order = random_instance("flat", 3, 2, 0), [4, 8, 9]
    drafting = DRAFTINGS[0]
    backwards = first_drafted(instance, drafting, np.array(order[::-1])).tolist()
    assert backwards == by_trees(instance, drafting, order[::-1])
    assert backwards != by_trees(instance, drafting, order)
