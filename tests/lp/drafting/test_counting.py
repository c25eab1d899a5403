"""How many trees, nodes and copies: counted without listing them, and equal to what listing finds."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from nodebudget.lp import Instance, random_instance, solve_multi_path
from nodebudget.lp.drafting import parse_drafting
from nodebudget.lp.instances.laws import dyadic_law
from nodebudget.verifiers import expected_accepted
from nodebudget.verifiers.audit import audit_exact

SPECS = [
    "iid:3", "with:2,2", "with:3,1", "with:1,3", "without:2,2", "without:3,1", "top-sample:2,2", "top-sample:3,1",
    "top:2,2", "delayed:1,3",
]  # fmt: skip
INSTANCES = [
    random_instance("flat", 3, 2, seed, zeros=zeros) for seed, zeros in itertools.product(range(4), (0, 0.4))
]


@pytest.mark.parametrize("spec", SPECS)
def test_counts_are_those_of_what_is_listed(spec: str) -> None:
    drafting = parse_drafting(spec)
    for instance in INSTANCES:
        outcomes = list(drafting.outcomes(instance))
        assert drafting.count_outcomes(instance) == len(outcomes)
        assert sum(chance for _, chance in outcomes) == 1
        assert drafting.most_nodes(instance) == max(len(set(nodes)) for nodes, _ in outcomes)
        trees: dict[tuple[int, ...], Fraction] = {}
        for nodes, chance in outcomes:
            tree = (0, *sorted(set(nodes)))
            trees[tree] = trees.get(tree, Fraction(0)) + chance
        assert dict(drafting.trees(instance)) == trees


def test_most_nodes_where_copies_meet() -> None:
    """After either first token only token 0 is drawn: five draws below one node find one node."""
    half, first = [Fraction(1, 2)] * 2, [Fraction(1), Fraction(0)]
    laws = {(): half, (0,): first, (1,): first}
    instance = Instance.from_laws(2, 2, laws, laws)
    assert parse_drafting("with:1,5").most_nodes(instance) == 2
    assert parse_drafting("with:2,5").most_nodes(instance) == 4


def test_many_draws_need_no_list() -> None:
    instance = random_instance("flat", 2, 2, seed=3)
    found = audit_exact("nss", instance, drafting="with:30,30")
    assert found.lossless
    assert found.accepted_tokens == expected_accepted("nss", instance, drafting="with:30,30")
    with pytest.raises(
        ValueError, match=r"with:30,30 of this instance can be drafted in .* ways; at most 250000"
    ):
        audit_exact("recursive-rejection", instance, drafting="with:30,30")


@pytest.mark.parametrize("spec", ["with:999999,999999", "with:1000,1000"])
def test_too_many_copies_are_refused(spec: str) -> None:
    with pytest.raises(ValueError, match=r"copies at the last length; expected at most 10000"):
        parse_drafting(spec)


@pytest.mark.parametrize("spec", ["top:2", "top-sample:2", "top-sample:3"])
def test_ties_of_a_float_draft_are_ties_of_its_rational_reading(spec: str) -> None:
    """Three sevenths of 23 in floats do not sum to one with 2/23, and stay equally likely all the same."""
    draft, target = np.array([7, 7, 2, 7]) / 23, np.array([1, 4, 5, 2]) / 12
    assert draft.sum() != 1 or sum(map(Fraction, draft.tolist())) != 1
    instance = Instance.from_laws(4, 1, {(): target.tolist()}, {(): draft.tolist()})
    certified, floats = (solve_multi_path(instance, spec, certify=certify) for certify in (True, False))
    assert certified.certified
    assert abs(float(certified.value) - float(floats.value)) < 1e-9
    if spec == "top:2":
        assert abs(float(certified.value) - 5 / 12) < 1e-9
    assert abs(float(audit_exact("nss", instance, drafting=spec).accepted_tokens)
               - expected_accepted("nss", instance, drafting=spec)) < 1e-9  # fmt: skip


def test_a_reading_keeps_the_order_of_entries_and_sums_to_one() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        counts = rng.integers(0, 4, size=6)
        counts[0] += 1
        law = counts / counts.sum()
        read = dyadic_law(law)
        assert sum(read.values()) == 1
        for (y, a), (x, b) in itertools.combinations(read.items(), 2):
            assert np.sign(law[y] - law[x]) == (a > b) - (a < b)
