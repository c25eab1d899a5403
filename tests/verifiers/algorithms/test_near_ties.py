"""Where ratios p/q are nearly equal, the budgets of a verifier in floats are those of the law that decodes.

At the root the tokens 1 and 2 have ratios (1/2 -+ d) / (2/7). Below token 1 the models are alike, below token 2
disjoint, so that it matters which of the two is ranked higher. By hand, with two paths and nu from (A + x)^2 - A^2:

token 1 on top: nu(1) = 24/49, nu(2) = 16/49; nu(11) = 13/49, nu(12) = 11/49, of which p leaves 12/49 and 6/49;
token 2 on top: nu(2) = 24/49, nu(1) = 16/49; nu(11) = 9/49, nu(12) = 7/49, of which p leaves 8/49 and 4/49.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from nodebudget.lp import Instance, accepted_tokens
from nodebudget.lp.selection import one_ranking
from nodebudget.verifiers import VERIFIERS, DraftTree

TIED, APART = Fraction(24 + 16 + 12 + 6, 49), Fraction(16 + 24 + 8 + 4, 49)
DISTANCES = [10.0**exponent for exponent in np.arange(-17, -9.75, 0.25)]


def nearly_tied(distance: Any, vocab: int = 3, like: type = float, stray: float = 0.0) -> Instance:
    """The instance over the tokens 0, V // 2 and V - 1 of a vocabulary.

    A token 1 that the target does not want may be drafted with the probability `stray`, far below rounding.
    """
    tokens = (0, vocab // 2, vocab - 1)

    def law(*numerators: int) -> dict[int, Any]:
        return {y: like(Fraction(n, sum(numerators))) for y, n in zip(tokens, numerators, strict=True) if n}

    half = like(Fraction(1, 2))
    target = {
        (): {tokens[1]: half - distance, tokens[2]: half + distance},
        (tokens[0],): law(1, 0, 0),
        (tokens[1],): law(1, 2, 1),
        (tokens[2],): law(1, 0, 0),
    }
    draft = {
        (): law(3, 2, 2) | ({1: stray} if stray else {}),
        (tokens[0],): law(1, 0, 0),
        (tokens[1],): law(0, 1, 1),
        (tokens[2],): law(0, 1, 0),
    }
    return Instance.from_laws(vocab, 2, target, draft, sparse=True)


def accepted_by_law(name: str, instance: Instance, paths: int = 2) -> Any:
    """E|Z| of what decodes: the law given each drafted tuple, weighted."""
    total = instance.target[0] * 0
    for drafted in itertools.product(drafted_paths(instance), repeat=paths):
        tree = DraftTree.from_instance(instance, [path for path, _ in drafted])
        chance = instance.target[0]
        for _, mass in drafted:
            chance = chance * mass
        total += chance * VERIFIERS[name].law(tree).expected_accepted
    return total


def drafted_paths(instance: Instance) -> list[tuple[Sequence[int], Any]]:
    """Every path of two tokens with its probability; below a token without a node the second one is token 0."""
    found = []
    for y in np.flatnonzero(instance.draft_law(0)).tolist():
        node, first = instance.tree.find([y]), instance.draft_law(0)[y]
        if node is None:
            found.append(((y, 0), first))
            continue
        law = instance.draft_law(node)
        found += [((y, second), first * law[second]) for second in np.flatnonzero(law).tolist()]
    return found


def accepted_by_budgets(name: str, instance: Instance) -> Any:
    budgets = VERIFIERS[name].budgets
    assert budgets is not None
    return accepted_tokens(budgets(instance, 2))


@pytest.mark.parametrize("vocab", [3, 300])  # the second is ranked by compiled code, where there is any
@pytest.mark.parametrize("name", ["gbv", "mixed"])
def test_budgets_are_those_of_the_law_however_near_the_ratios(name: str, vocab: int) -> None:
    for distance in DISTANCES[:: 1 if name == "gbv" else 4]:  # mixed takes longer
        instance = nearly_tied(distance, vocab)
        by_law, by_budgets = accepted_by_law(name, instance), accepted_by_budgets(name, instance)
        assert abs(by_law - by_budgets) < 1e-9, distance


def test_tokens_without_a_node_count_in_the_order_of_a_row() -> None:
    """A row with a probability whose quotient could overflow is ordered by square roots, in both ways."""
    for distance in np.geomspace(1e-15, 1e-14, 25):
        instance = nearly_tied(float(distance), vocab=8, stray=1e-305)
        assert instance.tree.find([1]) is None
        by_law, by_budgets = accepted_by_law("gbv", instance), accepted_by_budgets("gbv", instance)
        assert abs(by_law - by_budgets) < 1e-9, distance


def test_in_floats_near_ratios_are_tied_and_others_are_not() -> None:
    values = [accepted_by_budgets("gbv", nearly_tied(distance)) for distance in DISTANCES]
    apart = [abs(value - APART) < 1e-9 for value in values]
    assert all(abs(value - TIED) < 1e-9 for value, differs in zip(values, apart, strict=True) if not differs)
    assert apart == sorted(apart)
    assert not apart[0]
    assert all(differs for differs, distance in zip(apart, DISTANCES, strict=True) if distance >= 1e-14)


@pytest.mark.parametrize("distance", [Fraction(0), Fraction(1, 10**30), Fraction(1, 10**17)])
def test_rationals_are_never_tied_unless_they_are_equal(distance: Fraction) -> None:
    instance = nearly_tied(distance, like=Fraction)
    wanted = APART if distance else TIED
    for name, found in (("law", accepted_by_law), ("budgets", accepted_by_budgets)):
        assert found("gbv", instance) == wanted, name


def test_control_another_rule_for_ties_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_ranking, "ROUNDING", 1e-12)
    instance = nearly_tied(1e-13)
    assert abs(accepted_by_law("gbv", instance) - accepted_by_budgets("gbv", instance)) > 0.1
