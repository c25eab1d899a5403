"""Transport: the most that one step can accept, by brute force; lossless; its lift; floats; and controls."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from nodebudget.lp import Instance, random_instance
from nodebudget.lp.drafting import Drafting, GivenTree, WithoutReplacement, WithReplacement
from nodebudget.lp.drafting.specs import parse_drafting
from nodebudget.lp.instances.instance_json import load_instance
from nodebudget.lp.numbers.rationals import fmpq_array, to_fraction
from nodebudget.verifiers import DraftTree, Verifier, expected_accepted, get_verifier, plain
from nodebudget.verifiers.algorithms.fair_draws import fair_draws
from nodebudget.verifiers.algorithms.fair_sets import SUPPORT_LIMIT, fair_listed, fair_top_sample
from nodebudget.verifiers.audit import audit_exact
from nodebudget.verifiers.plain.shared import Number, Row
from nodebudget.verifiers.plain.slots import Places
from nodebudget.verifiers.plain.slots import chosen as chosen_by_place
from nodebudget.verifiers.plain.trees import walk
from nodebudget.verifiers.verifier import ANY_DRAFTING

CASES = sorted((Path(__file__).parents[2] / "cases" / "drafts").glob("*.json"))
ONE_NODE = (
    "iid:2",
    "iid:3",
    "with:2",
    "delayed:0,3",
    "without:2",
    "without:3",
    "top-sample:2",
    "top-sample:3",
)
BLOCKS = ("iid:2", "with:2,1", "with:1,2", "delayed:1,2", "without:2,2", "top-sample:2,2", "top:2,1")


def F(*numbers: int) -> list[Fraction]:
    return [Fraction(n, sum(numbers)) for n in numbers]


def one_node(p: list[Fraction], q: list[Fraction]) -> Instance:
    return Instance.from_laws(len(p), 1, {(): p} | {(y,): p for y in range(len(p))}, {(): q})


NODES = {
    "flat": random_instance("flat", 4, 1, seed=1),
    "zeros": random_instance("flat", 4, 1, seed=5, zeros=0.4),
    "equal laws": random_instance("identical", 3, 1, seed=2),
    "ties": one_node(F(2, 2, 1, 1), F(2, 2, 3, 3)),
    "equal ratios": one_node(F(4, 2, 1, 5), F(2, 1, 3, 15)),
    "one-hot": one_node(F(0, 0, 1), F(1, 3, 2)),
    "one token drafted": one_node(F(1, 3, 2), F(0, 1, 0)),
    "no overlap": one_node(F(0, 1, 2), F(1, 0, 0)),
    "cells": one_node(F(6, 1, 3, 2), F(2, 2, 4, 4)),
    "one cell of many": one_node(F(5, 4, 3, 2), F(4, 4, 4, 4)),
}
SMALL = {
    "flat": random_instance("flat", 3, 2, seed=4),
    "zeros": random_instance("flat", 3, 2, seed=8, zeros=0.3),
    "equal laws": random_instance("identical", 2, 2, seed=3),
    "one-hot": random_instance("flat", 3, 2, seed=9, zeros=1.0),
    "depth 3": random_instance("flat", 2, 3, seed=5, zeros=0.2),
}


def most_at_one_node(instance: Instance, drafting: Drafting) -> Fraction:
    """The min over S of F(S) + p(off S), over all S (statement 15.1)."""
    tokens = range(instance.vocab)
    subsets = itertools.chain.from_iterable(
        itertools.combinations(tokens, size) for size in range(len(tokens) + 1)
    )
    p = instance.target_law(0)
    return min(
        drafting.hit_probability(instance, tuple(y + 1 for y in kept))
        + sum(p[y] for y in tokens if y not in kept)
        for kept in subsets
    )


@pytest.mark.parametrize("spec", ONE_NODE)
@pytest.mark.parametrize("case", NODES)
def test_accepts_the_most_that_one_step_can(case: str, spec: str) -> None:
    instance, drafting = NODES[case], parse_drafting(spec)
    for name in ("transport", "lift:transport"):
        found = audit_exact(name, instance, drafting=drafting)
        assert found.lossless, found.faults
        assert found.accepted_tokens == most_at_one_node(instance, drafting)


def test_given_trees() -> None:
    instance = SMALL["zeros"]
    drafting = GivenTree([(0,), (1,), (0, 2)])
    for name in ("transport", "lift:transport"):
        found = audit_exact(name, instance, drafting=drafting)
        assert found.lossless
        assert found.accepted_tokens == sum(instance.joint_target[z] for z in drafting.nodes(instance) if z)


def random_laws(seed: int, vocab: int) -> tuple[list[Fraction], list[Fraction]]:
    rng = np.random.default_rng(seed)
    rows = rng.choice([0, 1, 1, 2, 3, 5, 8], size=(2, vocab))
    rows[1] += 1 if seed % 3 else 0
    rows[:, 0] += rows.sum(axis=1) == 0
    return F(*rows[0].tolist()), F(*rows[1].tolist())


@pytest.mark.parametrize("seed", range(20))
def test_closed_forms_have_the_base_that_sets_say(seed: int) -> None:
    """The cells of independent draws are runs of the order by p/q, of a sample by P/ms with top last (15.5)."""
    p, q = random_laws(seed, 5)
    if seed == 0:
        p = q
    exact = fmpq_array(p), fmpq_array(q)
    for count in (2, 3):
        listed = fair_listed(*exact, count, WithReplacement(count))
        assert [to_fraction(x) for x in fair_draws(*exact, count, 0).nu] == [
            to_fraction(x) for x in listed.nu
        ]
    sampled = parse_drafting("top-sample:3")
    live = [y for y in np.argsort([-float(mass) for mass in q], kind="stable") if q[y]]
    listed = fair_listed(*exact, 3, sampled)
    fair = fair_top_sample(*exact, np.array(live[:2]), len(live) > 2)
    assert [to_fraction(x) for x in fair.nu] == [to_fraction(x) for x in listed.nu]


@pytest.mark.parametrize("spec", BLOCKS)
@pytest.mark.parametrize("case", SMALL)
def test_lossless_and_the_lift_is_no_worse(case: str, spec: str) -> None:
    instance = SMALL[case]
    if instance.depth == 3 and spec[0] != "i" and spec[0] != "d":
        spec += ",1"
    walked, lifted = (audit_exact(name, instance, drafting=spec) for name in ("transport", "lift:transport"))
    for found in (walked, lifted):
        assert found.lossless, found.faults
        assert found.total_variation == 0
        assert found.gap >= 0
    assert lifted.accepted_tokens >= walked.accepted_tokens


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_lossless_on_the_cases(path: Path) -> None:
    instance = load_instance(path)
    specs = ["without:2" + ",1" * (instance.depth - 1), "top-sample:2" + ",2" * (instance.depth - 1), "iid:2"]
    for spec in specs:
        values = []
        for name in ("transport", "lift:transport"):
            found = audit_exact(name, instance, drafting=spec)
            assert found.lossless, found.faults
            assert found.gap >= 0
            values.append(found.accepted_tokens)
        assert values[1] >= values[0]


def test_budgets_by_surviving_paths_are_those_of_the_law() -> None:
    transport = get_verifier("transport")
    for case in ("flat", "zeros", "depth 3"):
        enumerated = audit_exact(transport, SMALL[case], 2).budgets
        assert transport.budgets(SMALL[case], 2).tolist() == enumerated.tolist()
        floats = transport.budgets(SMALL[case].to_float(), 2)
        np.testing.assert_allclose(floats, enumerated.astype(float), rtol=0, atol=1e-12)
    assert transport.budgets(NODES["flat"], 4)[1:].sum() == most_at_one_node(
        NODES["flat"], parse_drafting("iid:4")
    )


def test_too_many_tokens_for_all_sets_are_refused() -> None:
    instance = random_instance("flat", SUPPORT_LIMIT + 1, 1, seed=1)
    with pytest.raises(
        ValueError,
        match="transport of without:2: got a node at which 9 tokens have",
    ):
        get_verifier("transport").law(DraftTree.from_drawn(instance, [(0,), (1,)], WithoutReplacement(2)))
    assert expected_accepted("transport", instance, drafting="without:1") == expected_accepted(
        "token", instance, 1
    )


def wide(seed: int, vocab: int = 20) -> Instance:
    return random_instance("flat", vocab, 1, seed=seed)


WIDE = [
    ("with:64", wide(1), [y % 16 for y in range(64)]),
    ("with:64", wide(2), [3] * 63 + [4]),
    ("with:16", wide(3), list(range(16))),
    ("with:5", random_instance("flat", 20, 1, seed=4, zeros=0.4), [0, 1, 1, 2, 3]),
    ("with:16", random_instance("identical", 20, 1, seed=4), list(range(16))),
    ("top-sample:16", wide(5), None),
    ("without:3", wide(6, 6), [0, 4, 2]),
]


@pytest.mark.parametrize(("spec", "instance", "drawn"), WIDE)
@pytest.mark.parametrize("name", ["transport", "lift:transport"])
def test_floats(name: str, spec: str, instance: Instance, drawn: list[int] | None) -> None:
    torch = pytest.importorskip("torch")
    drafting, law = parse_drafting(spec), get_verifier(name).law
    if drawn is None:
        strings = drafting.draw(instance, np.random.default_rng(1))
    else:
        q = instance.draft_law(0)
        strings = tuple((y,) for y in drawn if q[y])
        drafting = WithReplacement(len(strings)) if spec.startswith("with:") else drafting
    exact = DraftTree.from_drawn(instance, strings, drafting)
    wanted = law(exact).joint().astype(float)
    target, draft = (rows.astype(float) for rows in (exact.target, exact.draft))
    for make, dtype, tolerance in (
        (np.asarray, "float64", 1e-12),
        (torch.from_numpy, "float64", 1e-12),
        (np.float32, "float32", 1e-5),
        (lambda rows: torch.from_numpy(rows).float(), "float32", 1e-5),
        (lambda rows: torch.from_numpy(rows), "float32", 1e-5),
    ):
        tree = DraftTree(exact.nodes, make(target), make(draft), drafting=drafting, dtype=dtype)
        found = np.asarray(law(tree).joint(), dtype=float)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("vocab", [300, 1000])
def test_a_large_vocabulary_is_lossless_at_the_root(vocab: int) -> None:
    """From the draws of one node: E A(y | c) = p(y), for all pairs of draws of the few tokens of most mass."""
    rng = np.random.default_rng(vocab)
    p, q = (rng.dirichlet(np.full(vocab, 0.02)) for _ in range(2))
    fair = fair_draws(p, q, 2, 4e-15)
    reached = np.zeros(vocab)
    live = np.flatnonzero(q > 1e-6)
    for x, y in itertools.combinations_with_replacement(live.tolist(), 2):
        chances = fair.choose(np.array([x, y]))
        chance = q[x] * q[y] * (1 if x == y else 2)
        reached[x] += chance * chances[0]
        reached[y] += chance * chances[1]
    missed = 2 * (1 - q[live].sum())  # that one of the two draws is another token
    assert abs(reached - fair.nu).sum() <= 2 * missed + 1e-12
    assert abs(fair.nu.sum() - (1 - q[p == 0].sum() ** 2)) < 1e-12
    assert missed < 0.01


Chosen = Callable[[Row, Places, list[int]], dict[int, Number]]


def by_id(q: Row, places: Places, tokens: list[int]) -> dict[int, Number]:
    """The highest slot wins, and within a slot the smallest id."""
    chances = dict.fromkeys(tokens, Fraction(0))
    for slots in itertools.product(*(places[y].items() for y in tokens)):
        order = list(places)
        best = min(zip((order.index(slot) for slot, _ in slots), tokens, strict=True))[1]
        weight = Fraction(1)
        for y, (_, mass) in zip(tokens, slots, strict=True):
            weight *= mass / q[y]
        chances[best] += weight
    return chances


def own_slots(q: Row, places: Places, tokens: list[int]) -> dict[int, Number]:
    """No trade of places: the token that is first in the order."""
    return {next(y for y in places if y in tokens): Fraction(1)}


def emit_by(chosen: Chosen, P: Row, q: Row, tokens: list[int]) -> Row:
    nu, places = plain.transport.fair(P, q, len(tokens))
    return plain.transport.accept_chosen(P, nu, chosen(q, places, tokens))


def emit_uncontracted(P: Row, q: Row, tokens: list[int]) -> Row:
    """F is not contracted by the cells before: nu = P F(S) / P(S) on each cell S."""
    nu, places = plain.transport.fair(P, q, len(tokens))
    cells: dict[Number, list[int]] = {}
    for y in places:
        cells.setdefault(nu[y] / P[y], []).append(y)
    wrong = list(nu)
    for cell in cells.values():
        worth = 1 - (1 - sum(q[y] for y in cell)) ** len(tokens)
        for y in cell:
            wrong[y] = P[y] * worth / sum(P[x] for x in cell)
    return plain.transport.accept_chosen(P, wrong, chosen_by_place(q, places, tokens))


@pytest.mark.parametrize(
    "emit",
    [partial(emit_by, by_id), partial(emit_by, own_slots), emit_uncontracted],
    ids=["ties by id", "no trade", "not contracted"],
)
def test_control_faults_are_found(emit: Callable[[Row, Row, list[int]], Row]) -> None:
    instance = NODES["cells"]
    sound = Verifier(
        "a control",
        plain.on_drawn_tree(lambda tree: partial(walk, emit=partial(emit_by, chosen_by_place))),
        True,
        "sound",
        needs=ANY_DRAFTING,
    )
    faulty = Verifier(
        "a control",
        plain.on_drawn_tree(lambda tree: partial(walk, emit=emit)),
        True,
        "faulty",
        needs=ANY_DRAFTING,
    )
    assert audit_exact(sound, instance, drafting="with:2").lossless
    found = audit_exact(faulty, instance, drafting="with:2")
    assert not found.lossless
    assert found.total_variation > 0
