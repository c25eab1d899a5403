"""One definition on every kind of number: floats and torch tensors agree with rationals, tuple by tuple."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from drafted_tuples import OnADevice, accepted_tokens, distance_from_target, output_law
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nodebudget.lp.instances.families import random_instance
from nodebudget.lp.instances.instance import Instance
from nodebudget.verifiers import VERIFIERS, DraftTree, Verifier

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
FACTOR_STEP = 1e-3
"""In float32 a division factor of SpecTr may come out one step of 1/4096 away: another valid one."""

EACH = pytest.mark.parametrize("verifier", VERIFIERS.values(), ids=list(VERIFIERS))


def draw_paths(instance: Instance, count: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Paths drawn from an instance's draft."""
    paths = []
    for _ in range(count):
        node = 0
        while node not in instance.tree.leaves:
            below = instance.tree.children(node)
            masses = [float(mass) for mass in instance.draft[below.start : below.stop]]
            node = below.start + int(rng.choice(len(below), p=masses))
        paths.append(instance.tree.path(node))
    return paths


def other_trees(exact: DraftTree) -> list[tuple[str, DraftTree]]:
    """An exact tree in floats and tensors, each with the precision that its laws are computed in."""
    nodes = exact.nodes
    target, draft = exact.target.astype(np.float64), exact.draft.astype(np.float64)
    tensors = torch.tensor(target), torch.tensor(draft)
    return [
        ("float64", DraftTree(nodes, target, draft)),
        ("float64", DraftTree(nodes, *tensors, check=True)),
        ("float64", OnADevice(nodes, *tensors)),
        ("float32", DraftTree(nodes, target, draft, dtype="float32")),
        ("float32", DraftTree(nodes, *(rows.float() for rows in tensors), dtype="float32")),
        ("float32", OnADevice(nodes, *(rows.float() for rows in tensors), dtype="float32")),
        ("float32", DraftTree(nodes, target.astype(np.float32), draft.astype(np.float32))),
    ]


def assert_agreement(verifier: Verifier, exact: DraftTree) -> None:
    law = verifier.law(exact)
    wanted = law.joint().astype(np.float64)
    for precision, tree in other_trees(exact):
        if (verifier.name, precision) == ("mixed", "float32"):
            continue  # its orderings hang on the last bits; see the test of mixed in single precision
        found = verifier.law(tree)
        tolerance = TOLERANCE[precision]
        if (verifier.name, precision) == ("spectr", "float32"):
            tolerance = FACTOR_STEP
        joint = np.asarray(found.joint(), dtype=np.float64)
        assert np.abs(joint - wanted).sum() / 2 < tolerance, (verifier.name, tree)
        assert np.abs(np.asarray(found.stop) - law.stop.astype(np.float64)).max() < tolerance
        assert (
            abs(float(found.expected_accepted) - float(law.expected_accepted)) < tolerance * exact.nodes.depth
        )


@EACH
@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    family=st.sampled_from(["flat", "identical", "iid", "markov"]),
    vocab=st.integers(1, 5),
    depth=st.integers(1, 4),
    count=st.integers(1, 6),
    zeros=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 10_000),
)
def test_floats_and_tensors_agree_with_rationals(
    verifier: Verifier, family: str, vocab: int, depth: int, count: int, zeros: float, seed: int
) -> None:
    # At depth one several mixtures of orderings may accept most. Rationals take one of a small exact program, floats
    # one of Frank-Wolfe steps: both are lossless with the same value, and are other laws of one drafted tuple.
    assume(verifier.name != "mixed" or depth > 1)
    instance = random_instance(family, vocab, depth, seed, zeros=zeros)
    paths = draw_paths(instance, count, np.random.default_rng(seed))
    assert_agreement(verifier, DraftTree.from_instance(instance, paths))


@EACH
def test_ties_of_ratios_that_floats_cannot_represent(verifier: Verifier) -> None:
    # target / draft is 7/10 for two tokens in rationals; as floats the ratios differ in the last bit.
    target = [Fraction(7, 80), Fraction(21, 80), Fraction(52, 80)]
    draft = [Fraction(1, 8), Fraction(3, 8), Fraction(1, 2)]
    pairs = list(zip(target, draft, strict=True))
    assert len({p / q for p, q in pairs}) == 2 < len({float(p) / float(q) for p, q in pairs})
    exact = DraftTree.from_paths([[1, 0], [0, 2], [1, 1], [0, 0]], lambda _: target, lambda _: draft)
    assert_agreement(verifier, exact)


@EACH
def test_expected_accepted_in_floats_agrees_with_the_exact_enumeration(verifier: Verifier) -> None:
    instance = random_instance("flat", 3, 2, seed=11, zeros=0.1)
    exact = accepted_tokens(verifier.law, instance, 2)
    assert abs(accepted_tokens(verifier.law, instance.to_float(), 2) - float(exact)) < 1e-12


@EACH
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_rows_are_laws_after_conversion(verifier: Verifier, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    target = torch.softmax(torch.randn(3, 4, 300, generator=generator), -1).to(dtype)
    draft = torch.softmax(torch.randn(3, 3, 300, generator=generator), -1).to(dtype)
    paths = [[5, 250, 3], [6, 250, 3], [7, 4, 8]]
    assert float((target.double().sum(-1) - 1).abs().max()) > 1e-6
    law = verifier.law(DraftTree.from_paths(paths, target, draft, check=True))
    assert law.joint().dtype == torch.float64
    assert abs(float(law.joint().sum()) - 1) < 1e-12
    normalised = [rows.double() / rows.double().sum(-1, keepdim=True) for rows in (target, draft)]
    same = verifier.law(DraftTree.from_paths(paths, *normalised))
    assert float((law.joint() - same.joint()).abs().sum()) < 1e-12


def test_mixed_at_depth_one_accepts_as_much_in_floats_as_in_rationals() -> None:
    """Where the mixture of orderings is not unique, too: the laws of one drafted tuple differ there."""
    instance = random_instance("flat", 2, 1, 0)
    law = VERIFIERS["mixed"].law
    drafted = [(0,), (0,), (1,)]
    exact, floats = (law(DraftTree.from_instance(each, drafted)) for each in (instance, instance.to_float()))
    assert np.abs(exact.joint().astype(np.float64) - floats.joint()).sum() > 0.1
    wanted = accepted_tokens(law, instance, 3)
    assert abs(accepted_tokens(law, instance.to_float(), 3) - float(wanted)) < 1e-9


@pytest.mark.parametrize("seed", [7, 8])
def test_mixed_in_single_precision_is_lossless_and_accepts_nearly_as_much(seed: int) -> None:
    """Other orderings than in rationals may be best by a hair; what is drafted then leads to another law."""
    instance, law = random_instance("flat", 3, 2, seed), VERIFIERS["mixed"].law

    def single(floats: Instance, paths: list[tuple[int, ...]]) -> DraftTree:
        tree = DraftTree.from_instance(floats, paths)
        return DraftTree(tree.nodes, tree.target, tree.draft, dtype="float32")

    table = output_law(law, instance.to_float(), 2, build=single)
    assert distance_from_target(instance.to_float(), table) < 1e-5
    accepted = sum(len(string) * sum(row) for string, row in table.items())
    assert abs(accepted - float(accepted_tokens(law, instance, 2))) < 1e-2
    control = output_law(law, instance.to_float(), 2, build=wrongly_drafted)
    assert distance_from_target(instance.to_float(), control) > 1e-3


def wrongly_drafted(floats: Instance, paths: list[tuple[int, ...]]) -> DraftTree:
    """The draft's laws said to be uniform, which they are not."""
    tree = DraftTree.from_instance(floats, paths)
    return DraftTree(tree.nodes, tree.target, tree.draft * 0 + 1 / floats.vocab, dtype="float32")
