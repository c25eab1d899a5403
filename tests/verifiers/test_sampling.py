"""Acceptance laws as objects, and drawing from them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from drafted_tuples import OnADevice
from nodebudget.lp.instances.families import random_instance
from nodebudget.verifiers import VERIFIERS, AcceptanceLaw, DraftTree, PathNodes, sample

PATHS = [(0, 1), (2, 1), (0, 0)]
EACH = pytest.mark.parametrize("name", VERIFIERS)


def trees() -> dict[str, DraftTree]:
    instance = random_instance("flat", 3, 2, seed=0, zeros=0.2)
    exact = DraftTree.from_instance(instance, PATHS)
    floats = DraftTree.from_instance(instance.to_float(), PATHS)
    tensors = DraftTree(exact.nodes, torch.tensor(floats.target), torch.tensor(floats.draft))
    device = OnADevice(exact.nodes, torch.tensor(floats.target), torch.tensor(floats.draft))
    return {"exact": exact, "numpy": floats, "torch": tensors, "device": device}


KINDS = pytest.mark.parametrize("kind", ["exact", "numpy", "torch", "device"])


@EACH
@KINDS
def test_the_parts_of_a_law_fit_together(name: str, kind: str) -> None:
    law = VERIFIERS[name].law(trees()[kind])
    nodes = law.tree.nodes
    joint = law.joint()
    assert joint.shape == (len(nodes), 3)
    close = 0 if kind == "exact" else 1e-14
    assert abs(law.stop.sum() - 1) <= close
    for node in range(len(nodes)):
        row = law.next_row(node)
        assert row.shape == (3,)
        assert abs(row.sum() - 1) <= close
        assert max(abs(row * law.stop[node] - joint[node])) <= close
    accepted = sum(stop * len(nodes.path(node)) for node, stop in enumerate(law.stop.tolist()))
    assert abs(law.expected_accepted - accepted) <= close
    if kind == "exact":
        assert isinstance(law.expected_accepted, Fraction)
        for values in (law.stop, joint.ravel(), law.next_row(0)):
            assert {type(value) for value in values} == {Fraction}
    for node in (-1, len(nodes)):
        with pytest.raises(ValueError, match="expected a node of the tree"):
            law.next_row(node)


@EACH
@KINDS
def test_sample_follows_the_law(name: str, kind: str) -> None:
    law = VERIFIERS[name].law(trees()[kind])
    rng = np.random.default_rng(5)
    count = 250 if kind == "exact" else 700
    seen = Counter(sample(law, rng) for _ in range(count))
    statistic, cells = 0.0, 0
    for node, row in enumerate(law.joint().tolist()):
        for y, mass in enumerate(row):
            observed = seen.pop((law.tree.nodes.path(node), y), 0)
            if mass > 1e-15:
                statistic += (observed - count * float(mass)) ** 2 / (count * float(mass))
                cells += 1
            else:
                assert observed == 0
    assert not seen
    # The chi-squared statistic has mean cells - 1 and standard deviation sqrt(2 (cells - 1)).
    assert statistic < cells - 1 + 6 * np.sqrt(2 * cells)


@EACH
def test_a_generator_gives_the_same_sample_on_every_kind(name: str) -> None:
    laws = [VERIFIERS[name].law(tree) for tree in trees().values()]
    for seed in range(20):
        assert len({sample(law, np.random.default_rng(seed)) for law in laws}) == 1
        assert len({sample(law, torch.Generator().manual_seed(seed)) for law in laws}) == 1


def test_values_are_those_of_plain_python() -> None:
    law = VERIFIERS["bv"].law(trees()["torch"])
    accepted, token = sample(law, torch.Generator().manual_seed(1))
    assert type(accepted) is tuple
    assert {type(value) for value in (*accepted, token)} == {int}


def test_other_generators_are_refused() -> None:
    law = VERIFIERS["bv"].law(trees()["numpy"])
    with pytest.raises(
        TypeError, match=r"got RandomState; expected a numpy.random.Generator or a torch.Generator"
    ):
        sample(law, np.random.RandomState(0))


class Fixed(np.random.Generator):
    """Generates given uniform numbers."""

    def __init__(self, *values: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.values = np.array(values)

    def random(self, *_: Any, **__: Any) -> Any:
        return self.values


@KINDS
def test_extreme_uniform_numbers_draw_only_what_has_probability(kind: str) -> None:
    tree = trees()[kind]
    one = Fraction(1) if kind == "exact" else 1.0
    joint = tree.target * 0
    joint[1, 1] = joint[2, 1] = one / 2
    law = AcceptanceLaw.from_joint(tree, joint)
    strings = [tree.nodes.path(node) for node in (1, 2)]
    assert sample(law, Fixed(0.0, 0.0)) == (strings[0], 1)
    assert sample(law, Fixed(np.nextafter(1, 0), np.nextafter(1, 0))) == (strings[1], 1)


def test_an_entry_without_probability_is_not_drawn_by_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    # A parallel prefix sum may rise by a last bit at an entry that adds nothing.
    tree = trees()["torch"]
    joint = tree.target * 0
    joint[0] = torch.tensor([0.5, 0, 0.5])
    law = AcceptanceLaw.from_joint(tree, joint)
    honest = torch.cumsum

    def jittery(values: Any, axis: int, **kwargs: Any) -> Any:
        return honest(values, axis, **kwargs) + torch.where(values == 0, 1e-15, 0)

    monkeypatch.setattr(tree.arrays.xp, "cumsum", jittery)
    assert sample(law, Fixed(0.0, 0.5)) == ((), 2)


@KINDS
def test_law_from_a_table(kind: str) -> None:
    tree = trees()[kind]
    joint = VERIFIERS["specinfer"].law(tree).joint()
    law = AcceptanceLaw.from_joint(tree, joint)
    assert abs(law.joint() - joint).max() <= (0 if kind == "exact" else 1e-15)
    kept = law.stop + 0
    joint *= 0
    assert (law.stop == kept).all()
    with pytest.raises(ValueError, match="nodes by tokens"):
        AcceptanceLaw.from_joint(tree, joint[1:])
    with pytest.raises(ValueError, match=r"stop: got shape \(2,\)"):
        AcceptanceLaw(tree, law.stop[:2], lambda index: joint[index])


def test_a_table_of_the_wrong_kind() -> None:
    exact, floats, *_ = trees().values()
    with pytest.raises(ValueError, match="joint: got a table of float64"):
        AcceptanceLaw.from_joint(exact, floats.target)
    with pytest.raises(ValueError, match="joint: got a table of object"):
        AcceptanceLaw.from_joint(floats, exact.target)


def test_fractions_from_a_users_law_can_be_sampled() -> None:
    tree = trees()["exact"]
    stop = np.array([Fraction(1, len(tree.nodes))] * len(tree.nodes))
    law = AcceptanceLaw(tree, stop, lambda index: tree.target[index])
    assert law.joint().sum() == 1
    assert len(sample(law, np.random.default_rng(0))) == 2


def test_what_is_no_law_is_not_sampled_from() -> None:
    with pytest.raises(ValueError, match="law: got int; expected the AcceptanceLaw that a verifier returns"):
        sample(3, np.random.default_rng(0))  # type: ignore[arg-type]


# No silent fallback: what is not a law is not sampled from.


def broken(kind: str, vocab: int) -> DraftTree:
    target, draft = (torch.full((1, count, vocab), 1 / vocab) for count in (3, 2))
    if kind == "nan":
        target[0, 1, 0] = torch.nan
    elif kind == "total":
        target[0, 1] *= 1.4
    elif kind == "negative":
        draft[0, 0, 0] += 1
        draft[0, 0, 1] -= 1
    elif kind == "zero row":
        draft[0, 0] = 0
    elif kind == "undrafted":
        draft[0, 1, 1] += draft[0, 1, 0]
        draft[0, 1, 0] = 0
    return DraftTree.from_paths([[0, 0]], target, draft)


@EACH
@pytest.mark.parametrize("kind", ["nan", "total", "negative", "zero row", "undrafted"])
@pytest.mark.parametrize("vocab", [2, 80])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rows_that_are_no_laws_are_not_sampled_from(name: str, kind: str, vocab: int) -> None:
    law = VERIFIERS[name].law(broken(kind, vocab))
    with pytest.raises(ValueError, match="the tree's rows are not laws"):
        sample(law, np.random.default_rng(0))
    sample(VERIFIERS[name].law(broken("nothing", vocab)), np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_laws_that_do_not_sum_to_one_are_not_sampled_from(kind: str) -> None:
    tree = trees()[kind]
    fine = VERIFIERS["nss"].law(tree)
    with pytest.raises(ValueError, match=r"the stop probabilities sum to 0\.5"):
        sample(AcceptanceLaw(tree, fine.stop / 2, lambda index: tree.target[index]), np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"the next token sum to 2\.0"):
        sample(AcceptanceLaw(tree, fine.stop, lambda index: tree.target[index] * 2), np.random.default_rng(0))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_tail_of_a_large_vocabulary_is_drawn_in_single_precision(library: str) -> None:
    # Each of the tail's terms is less than half the last bit of the sum before it.
    vocab, tail = 152_064, 2.5e-8
    row = np.full((2, vocab), tail, dtype=np.float32)
    row[:, 0] = 1 - tail * (vocab - 1)
    draft = np.zeros((1, vocab), dtype=np.float32)
    draft[0, 1] = 1
    rows = (row, draft) if library == "numpy" else (torch.tensor(row), torch.tensor(draft))
    tree = OnADevice(PathNodes([[1]]), *rows, dtype="float32")
    stop = tree.arrays.from_host([1, 0])
    law = AcceptanceLaw(tree, stop, tree.target_rows)
    middle = 1 - tail * vocab / 2
    _, token = sample(law, Fixed(0.0, middle))
    assert abs(token - vocab / 2) < 0.01 * vocab


@KINDS
def test_what_a_law_hands_out_is_not_the_law(kind: str) -> None:
    law = VERIFIERS["bv"].law(trees()[kind])
    before = law.expected_accepted
    law.stop[...] = law.stop * 0
    assert law.expected_accepted == before


@pytest.mark.parametrize(
    ("stop", "rows", "message"),
    [
        ([1, 0, 0], None, "stop: got list; expected a numpy array"),
        (torch.tensor([1.0, 0, 0]), None, "stop: got Tensor; expected a numpy array"),
        (np.array([1.0, 0, 0]), lambda index: 3, "rows: got int for one node; expected \\(1, 2\\)"),
        (np.array([1.0, 0, 0]), lambda index: np.ones((1, 1)), "got shape \\(1, 1\\) for one node"),
        (np.array([1.0, 0, 0]), lambda index: np.ones((1, 3)) / 3, "got shape \\(1, 3\\) for one node"),
    ],
)
def test_laws_of_wrong_kind_or_shape_are_refused(stop: Any, rows: Any, message: str) -> None:
    half = np.full(2, 0.5)
    tree = DraftTree.from_paths([[0], [1]], lambda _: half, lambda _: half)
    with pytest.raises(ValueError, match=message):
        sample(AcceptanceLaw(tree, stop, rows), Fixed(0.0, 0.5))
