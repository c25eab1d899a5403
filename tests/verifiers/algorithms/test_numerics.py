"""Float laws where floats are hard: many paths, deep paths, ties, tiny probabilities, products that
underflow.

Every case has a negative control: the arithmetic that was seen to fail, on the same input.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import torch
from drafted_tuples import Paths, distance_from_target, output_law, output_law_by_pick
from faulty_verifiers import changed, first_in_insertion_order, not_renormalised
from flint import arb, ctx, fmpq
from nodebudget.lp import Selection, ratio_ranking
from nodebudget.lp.instances.families import random_instance
from nodebudget.lp.instances.instance import Instance
from nodebudget.verifiers import VERIFIERS, AcceptanceLaw, DraftTree, Verifier, mixed_verifier, plain
from nodebudget.verifiers.algorithms import greedy_multipath
from nodebudget.verifiers.algorithms.single_path import block_along_path
from nodebudget.verifiers.arithmetic.arrays import Array
from nodebudget.verifiers.arithmetic.scaled import scaled
from nodebudget.verifiers.plain.shared import Outcomes
from nodebudget.verifiers.verifier import LawFunction

Context = tuple[int, ...]
Rows = Callable[[Context], list[Fraction]]
GREEDY = VERIFIERS["gbv"].law
BY_SCORES = mixed_verifier(Selection(ratio_ranking)).law
"""Greedy multi-path block verification in the way of `mixed`: score states, classes, a contest of scores (12.2)."""

EACH_GREEDY = pytest.mark.parametrize("greedy", [GREEDY, BY_SCORES], ids=["gbv", "by scores"])
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
PRECISIONS = pytest.mark.parametrize("precision", TOLERANCE)
TINY = Fraction(1, 10**30)


def random_laws(rng: np.random.Generator, vocab: int, kind: str) -> tuple[Rows, Rows]:
    """Target and draft that depend on the last two tokens, with zeros; "tiny" ones have entries of 1e-30."""

    def law() -> list[Fraction]:
        weights = np.where(rng.random(vocab) < 0.2, 0, rng.integers(1, 10, size=vocab))
        weights[rng.integers(vocab)] += 1
        row = [Fraction(int(w), int(weights.sum())) for w in weights]
        small, large = int(rng.integers(vocab)), row.index(max(row))
        if kind == "tiny" and small != large:
            row[large] += row[small] - TINY
            row[small] = TINY
        return row

    def table(source: Callable[[Context], list[Fraction]]) -> Rows:
        known: dict[Context, list[Fraction]] = {}

        def row(context: Context) -> list[Fraction]:
            if context[-2:] not in known:
                known[context[-2:]] = source(context)
            return known[context[-2:]]

        return row

    target = table(lambda _: law())
    return target, target if kind == "same" else table(lambda _: law())


def draw(rng: np.random.Generator, draft: Rows, count: int, depth: int, *, forced: bool = False) -> Paths:
    """Paths drawn from the draft; forced ones evenly from what can be drafted, and often repeated."""
    paths: Paths = []
    for k in range(count):
        if forced and k and rng.random() < 0.8:
            paths.append(paths[0])
            continue
        path: Context = ()
        while len(path) < depth:
            row = np.array([float(mass) for mass in draft(path)])
            path = (*path, int(rng.choice(len(row), p=(row > 0) / (row > 0).sum() if forced else row)))
        paths.append(path)
    return paths


def float_tree(
    paths: Paths, target: Rows, draft: Rows, precision: str, *, tensors: bool = False
) -> DraftTree:
    def rows(law: Rows) -> Callable[[Context], Array]:
        def row(context: Context) -> Array:
            values = np.array([float(mass) for mass in law(context)])
            return torch.tensor(values) if tensors else values

        return row

    return DraftTree.from_paths(paths, rows(target), rows(draft), dtype=precision)


def many_digits(paths: Paths, target: Rows, draft: Rows, digits: int) -> Outcomes:
    """Plain greedy multi-path in real numbers of so many digits, which survive the cancellation in nu.

    Comparisons of flint's balls hold only where they are certain, so that equal ratios p/q are ties.
    """

    def rows(law: Rows) -> Callable[[Context], list[arb]]:
        return lambda context: [arb(fmpq(mass.numerator, mass.denominator)) for mass in law(context)]

    before, ctx.dps = ctx.dps, digits
    try:
        return plain.gbv.law(tuple(paths), rows(target), rows(draft))
    finally:
        ctx.dps = before


def distance(law: AcceptanceLaw, wanted: Outcomes) -> float:
    """Total variation between a float law and a reference, given the drafted paths."""
    found = np.asarray(law.joint(), dtype=np.float64)
    for node in range(len(found)):
        string = law.tree.nodes.path(node)
        found[node] -= [float(wanted.get((string, y), 0)) for y in range(law.tree.vocab)]
    return float(np.abs(found).sum() / 2)


GRID = [(2, 1, 64), (2, 6, 16), (2, 64, 8), (2, 64, 64), (3, 3, 3), (3, 16, 64), (3, 64, 3), (5, 64, 16)]
"""V, K, L."""


@EACH_GREEDY
@pytest.mark.parametrize("kind", ["plain", "same", "tiny"])
def test_greedy_multipath_agrees_with_many_digits(kind: str, greedy: LawFunction) -> None:
    for vocab, count, depth in GRID:
        rng = np.random.default_rng([vocab, count, depth])
        target, draft = random_laws(rng, vocab, kind)
        paths = draw(rng, draft, count, depth)
        wanted = many_digits(paths, target, draft, 500)
        for precision, tolerance in TOLERANCE.items():
            for tensors in (False, True):
                law = greedy(float_tree(paths, target, draft, precision, tensors=tensors))
                assert distance(law, wanted) < tolerance, (vocab, count, depth, precision)


@EACH_GREEDY
def test_greedy_multipath_below_tiny_draft_probabilities(greedy: LawFunction) -> None:
    for vocab, count, depth in [(2, 64, 6), (3, 6, 20), (3, 64, 3), (4, 2, 30)]:
        rng = np.random.default_rng([vocab, count, depth])
        target, draft = random_laws(rng, vocab, "tiny")
        paths = draw(rng, draft, count, depth, forced=True)
        assert any(draft(path[:i])[path[i]] == TINY for path in paths for i in range(depth))
        wanted = many_digits(paths, target, draft, 2500)
        for precision, tolerance in TOLERANCE.items():
            law = greedy(float_tree(paths, target, draft, precision))
            assert distance(law, wanted) < tolerance, (vocab, count, depth, precision)


def test_greedy_multipath_reference_agrees_with_the_exact_law() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        vocab, count, depth = int(rng.integers(1, 5)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
        target, draft = random_laws(rng, vocab, ["plain", "same", "tiny"][seed % 3])
        paths = draw(rng, draft, count, depth)
        law = GREEDY(DraftTree.from_paths(paths, target, draft))
        assert (law.joint() == plain.on_tree(plain.gbv.law)(law.tree).joint()).all()


@PRECISIONS
@pytest.mark.parametrize(("family", "vocab", "depth", "count"), [
    ("flat", 5, 1, 64), ("identical", 5, 1, 64), ("flat", 2, 4, 64), ("identical", 3, 2, 64),
    ("iid", 3, 3, 7),
])  # fmt: skip
def test_greedy_multipath_is_lossless_in_floats(
    precision: str, family: str, vocab: int, depth: int, count: int
) -> None:
    instance = random_instance(family, vocab, depth, seed=9, zeros=0.2)
    table = output_law_by_pick(GREEDY, instance, count, build=builder(precision))
    assert distance_from_target(instance, table) < TOLERANCE[precision]


@PRECISIONS
@pytest.mark.parametrize("name", [name for name in VERIFIERS if name != "gbv"])
def test_the_others_are_lossless_in_floats(name: str, precision: str) -> None:
    for family, vocab, depth, count in [("flat", 3, 2, 2), ("flat", 4, 1, 3), ("identical", 2, 2, 3)]:
        instance = random_instance(family, vocab, depth, seed=4, zeros=0.2)
        table = output_law(VERIFIERS[name].law, instance, count, build=builder(precision))
        assert distance_from_target(instance, table) < TOLERANCE[precision]


def builder(precision: str) -> Callable[[Instance, Paths], DraftTree]:
    def build(instance: Instance, paths: Paths) -> DraftTree:
        exact = DraftTree.from_instance(instance, paths)
        target, draft = exact.target.astype(np.float64), exact.draft.astype(np.float64)
        return DraftTree(exact.nodes, target, draft, dtype=precision)

    return build


# Products that underflow.


def underflowing_laws(length: int) -> tuple[Paths, Rows, Rows]:
    """A path on which the ratio target / draft is 1e-8 for `length` tokens and 1e8 for as many again."""
    small = Fraction(1, 10**8)
    unlikely, certain = [small, 1 - small], [Fraction(1), Fraction(0)]
    target: Rows = lambda context: unlikely if len(context) < length else certain  # noqa: E731
    draft: Rows = lambda context: certain if len(context) < length else unlikely  # noqa: E731
    return [(0,) * (2 * length)], target, draft


@PRECISIONS
@pytest.mark.parametrize("name", ["bv", "traversal", "gbv", "mixed"])
@pytest.mark.parametrize("length", [6, 50])
def test_weights_recover_from_underflow(name: str, precision: str, length: int) -> None:
    paths, target, draft = underflowing_laws(length)
    exact = VERIFIERS[name].law(DraftTree.from_paths(paths, target, draft))
    assert exact.expected_accepted == 2 * length
    law = VERIFIERS[name].law(float_tree(paths, target, draft, precision))
    assert np.abs(law.joint() - exact.joint().astype(np.float64)).sum() < 2 * length * TOLERANCE[precision]
    if name == "traversal":
        twice = VERIFIERS[name].law(
            float_tree([*paths, (0,) * (2 * length - 1) + (1,)], target, draft, precision)
        )
        assert abs(float(twice.expected_accepted) - 2 * length) < 2 * length * TOLERANCE[precision]


def test_control_plain_products_do_not_recover() -> None:
    weight = np.float32(1)
    for ratio in [np.float32(1e-8)] * 6 + [np.float32(1e8)] * 6:
        weight = min(np.float32(1), weight * ratio)
    assert weight == 0


def test_extended_numbers() -> None:
    tree = float_tree([(0,)], lambda _: [Fraction(1)], lambda _: [Fraction(1)], "float32")
    tiny = scaled(tree.arrays, np.array([1e-30, 0.0, 0.5], dtype=np.float32))
    power = tiny.power(1000)
    assert power.value().tolist() == [0, 0, 0]
    back = power.over(tiny.power(999))
    assert back.value().tolist() == pytest.approx([1e-30, 0, 0.5], rel=1e-4)
    assert tiny.inverse().tolist() == pytest.approx([1e30, tree.arrays.largest, 2], rel=1e-6)
    assert power.capped().over(power).value().tolist() == [1, 0, 1]
    assert scaled(tree.arrays, np.array([3.0, 0.0, 1.0])).capped().value().tolist() == [1, 0, 1]


# Negative controls of greedy multi-path: what public implementations do.


def capped_ranking(tree: DraftTree, target: Array, draft: Array) -> Array:
    """Ratios above one are all the same: ties everywhere."""
    return np.argsort(-np.minimum(1, tree.arrays.divide(target, draft)), axis=1, kind="stable")[:, ::-1]


def pick_by_drafting_order(tree: DraftTree) -> greedy_multipath.Picked:
    """At depth one: among the best ratios, capped at one, the path that was drafted first."""
    nodes, (target, draft) = tree.nodes, tree.working_rows()
    tokens = nodes.token[nodes.path_nodes[:, 1]]
    capped = np.minimum(1, tree.arrays.divide(target[0], draft[0]))
    path = nodes.path_nodes[int(np.argmax(capped[tokens]))]
    order = capped_ranking(tree, target[:1], draft[:1])
    below = np.empty_like(draft[:1])
    total = greedy_multipath.mass_ranked_below(tree.arrays, draft[:1], order, below)
    return greedy_multipath.Picked(tree, path, below, total, tree.arrays.ones(1))


def test_control_capped_ratio_with_ties_by_drafting_order(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance("flat", 5, 1, seed=12)
    floats = instance.to_float()
    assert distance_from_target(instance, output_law(GREEDY, instance, 3)) == 0
    assert distance_from_target(floats, output_law(GREEDY, floats, 3)) < 1e-12
    monkeypatch.setattr(greedy_multipath, "pick", pick_by_drafting_order)
    assert distance_from_target(floats, output_law(GREEDY, floats, 3)) > 0.05


def test_capping_alone_is_lossless_when_ties_are_broken_by_token(monkeypatch: pytest.MonkeyPatch) -> None:
    # The fault above is the tie, not the cap: any fixed strict order is lossless.
    monkeypatch.setattr(greedy_multipath, "ranking", capped_ranking)
    instance = random_instance("flat", 5, 1, seed=12).to_float()
    assert distance_from_target(instance, output_law(GREEDY, instance, 3)) < 1e-12


def differences_of_powers(dtype: type[np.floating], guard: float) -> Callable[[DraftTree], AcceptanceLaw]:
    """Greedy multi-path with nu as a difference of powers, and q where x^K falls below a guard."""

    def law(tree: DraftTree) -> AcceptanceLaw:
        picked = greedy_multipath.pick(tree)
        path = picked.path
        count, tokens = tree.nodes.paths, tree.nodes.token[path[1:]]
        draft = tree.draft[path[:-1]].astype(dtype)
        below = (picked.below / picked.unit[:, None]).astype(dtype)
        under, own, rows = dtype(0), dtype(1), []
        for i, y in enumerate(tokens):
            low = (under + own * below[i]).astype(dtype)
            high = (low + own * draft[i]).astype(dtype)
            base = dtype((under + own) ** count - under**count)
            nu = (high**count - low**count) / (base if base > 0 else dtype(1))
            rows.append(np.clip(nu, 0, None) if own**count > guard else draft[i])
            under, own = low[y], dtype(own * draft[i, y])
        skewed = np.array(rows, dtype=tree.arrays.dtype)
        skewed = skewed / skewed.sum(axis=1, keepdims=True)
        drafted = scaled(tree.arrays, np.maximum(skewed[np.arange(len(tokens)), tokens], 1e-30))

        def rows(position: Array, taken: Array) -> Array:
            return np.maximum(tree.target[path[position]] - skewed[position] * taken[:, None], 0)

        return block_along_path(tree, path, drafted, lambda *at: rows(*at).sum(axis=1), rows)

    return law


def test_control_float32_with_a_guard_that_returns_the_draft() -> None:
    instance = random_instance("flat", 3, 3, seed=3)
    careless = differences_of_powers(np.float32, guard=1e-6)
    doubles = differences_of_powers(np.float64, guard=0.0)

    def fault(law: Callable[[DraftTree], AcceptanceLaw], count: int, precision: str) -> float:
        table = output_law_by_pick(law, instance, count, build=builder(precision))
        return float(distance_from_target(instance, table))

    for count, least in [(2, 0.0), (6, 0.02), (16, 0.3)]:
        assert fault(GREEDY, count, "float32") < 1e-5
        assert fault(doubles, count, "float64") < 1e-12
        assert fault(careless, count, "float32") > least


def test_control_float16_at_the_root() -> None:
    vocab, count = 400, 8
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(vocab), size=2).astype(np.float16)
    target, draft = (row.astype(np.float64) / row.astype(np.float64).sum() for row in rows)
    with pytest.raises(ValueError, match="float16"):
        DraftTree.from_paths([[0]], lambda _: rows[0], lambda _: rows[1], dtype="float16")

    def output(law: Callable[[DraftTree], AcceptanceLaw]) -> np.ndarray:
        """What is emitted first, over the law of the pick."""
        emitted, below = np.zeros(vocab), 0.0
        anyone = DraftTree.from_paths([[0]], lambda _: rows[0], lambda _: rows[1], check=False)
        order = greedy_multipath.ranking(anyone, *(part[:1] for part in anyone.working_rows()))[0]
        for y in order:
            if draft[y] == 0:
                continue
            upto = below + draft[y]
            tree = DraftTree.from_paths([[int(y)]] * count, lambda _: rows[0], lambda _: rows[1])
            joint = law(tree).joint()
            emitted += (upto**count - below**count) * joint[0]
            emitted[y] += (upto**count - below**count) * joint[1].sum()
            below = upto
        return emitted

    assert np.abs(output(GREEDY) - target).sum() / 2 < 1e-12
    assert np.abs(output(differences_of_powers(np.float16, guard=0.0)) - target).sum() / 2 > 0.03


# Traversal.


def test_traversal_agrees_with_one_leaf_after_the_other() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        vocab, count, depth = int(rng.integers(1, 5)), int(rng.integers(1, 7)), int(rng.integers(1, 5))
        target, draft = random_laws(rng, vocab, ["plain", "same", "tiny"][seed % 3])
        paths = draw(rng, draft, count, depth, forced=seed % 2 == 0)
        law = VERIFIERS["traversal"].law(DraftTree.from_paths(paths, target, draft))
        assert (law.joint() == plain.on_tree(plain.traversal.law)(law.tree).joint()).all()


def test_control_traversal_in_insertion_order() -> None:
    instance = random_instance("flat", 3, 2, seed=7)
    assert distance_from_target(instance, output_law(VERIFIERS["traversal"].law, instance, 3)) == 0
    wrong = plain.on_tree(changed(plain.traversal, first_leaf=first_in_insertion_order))
    assert distance_from_target(instance, output_law(wrong, instance, 3)) > 0.01


def test_control_traversal_without_renormalisation() -> None:
    instance = random_instance("flat", 3, 1, seed=10)
    assert distance_from_target(instance, output_law(VERIFIERS["traversal"].law, instance, 2)) == 0
    wrong = plain.on_tree(changed(plain.traversal, without=not_renormalised))
    assert distance_from_target(instance, output_law(wrong, instance, 2)) > 0.02


@pytest.mark.parametrize("verifier", VERIFIERS.values(), ids=list(VERIFIERS))
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_laws_have_the_precision_that_is_asked_for(verifier: Verifier, precision: str) -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(4), size=2)
    for given in (np.float64, np.float32):
        target, draft = rows.astype(given)
        tree = DraftTree.from_paths(
            [[0, 1], [2, 1]], lambda _, t=target: t, lambda _, d=draft: d, dtype=precision
        )
        assert verifier.law(tree).joint().dtype == precision
