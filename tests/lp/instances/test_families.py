"""Random families: reproducible, and with the properties that their names promise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from nodebudget.lp import FAMILIES, Instance, random_instance, random_top_k_instance
from plain_definitions import laws_of

EXACT = ("flat", "identical", "iid", "markov")


def same(first: Instance, second: Instance) -> bool:
    leaves = np.array_equal(first.leaf_target, second.leaf_target)
    return (
        leaves and np.array_equal(first.target, second.target) and np.array_equal(first.draft, second.draft)
    )


def test_the_families_are_these() -> None:
    assert set(FAMILIES) == {*EXACT, "logits"}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_seed_gives_the_same_instance_and_another_seed_another(family: str) -> None:
    drawn = [random_instance(family, 3, 2, seed) for seed in (5, 5, 6)]
    assert same(drawn[0], drawn[1])
    assert not same(drawn[0], drawn[2])
    assert drawn[0].exact == (family != "logits")


@pytest.mark.parametrize("family", EXACT)
def test_exact_families_have_small_integer_weights(family: str) -> None:
    instance = random_instance(family, 4, 2, seed=3)
    for laws in laws_of(instance):
        for law in laws.values():
            assert sum(law) == 1
            total = math.lcm(*(v.denominator for v in law))
            ratio = max(law) / min(law)
            assert ratio <= 9
            assert total <= 9 * 4


@pytest.mark.parametrize("zeros", [0.0, 0.4, 1.0])
def test_zeros_appear_as_often_as_asked(zeros: float) -> None:
    instance = random_instance("flat", 4, 3, seed=1, zeros=zeros)
    entries = [v for laws in laws_of(instance) for law in laws.values() for v in law]
    share = sum(v == 0 for v in entries) / len(entries)
    # One token of four is always kept, the others are dropped with the given probability.
    assert share == pytest.approx(0.75 * zeros, abs=0.08)
    if zeros in (0.0, 1.0):
        assert share == 0.75 * zeros


def test_identical_laws_are_identical() -> None:
    instance = random_instance("identical", 3, 2, seed=0)
    target, draft = laws_of(instance)
    assert target == draft
    target, draft = laws_of(random_instance("flat", 3, 2, seed=0))
    assert target != draft


@pytest.mark.parametrize(
    ("family", "remembered"), [("iid", 0), ("markov", 1), ("flat", 3), ("identical", 3), ("logits", 3)]
)
def test_laws_depend_on_the_last_tokens_only(family: str, remembered: int) -> None:
    instance = random_instance(family, 4, 3, seed=2)
    for laws in laws_of(instance):
        by_context: dict[tuple[int, ...], set[tuple[object, ...]]] = {}
        for context, law in laws.items():
            if remembered == 1 and not context:
                continue
            by_context.setdefault(context[max(0, len(context) - remembered) :], set()).add(tuple(law))
        assert all(len(seen) == 1 for seen in by_context.values())
        different = {law for seen in by_context.values() for law in seen}
        assert len(different) == {0: 1, 1: 4, 3: 1 + 4 + 16}[remembered]


def test_markov_laws_reach_the_bonus_token() -> None:
    instance = random_instance("markov", 3, 2, seed=2)
    for leaf in instance.tree.leaves:
        last = instance.tree.path(leaf)[-1:]
        assert instance.target_law(leaf).tolist() == instance.target_law(instance.tree.find(last)).tolist()


@pytest.mark.parametrize("similarity", [0.0, 0.5, 0.9])
def test_similarity_is_the_correlation_of_the_logits(similarity: float) -> None:
    target, draft = laws_of(random_instance("logits", 60, 2, seed=0, similarity=similarity))

    def logits(laws: dict[tuple[int, ...], list[float]]) -> np.ndarray:
        logs = [np.log(laws[context]) for context in draft]
        return np.concatenate([log - log.mean() for log in logs])

    assert np.corrcoef(logits(target), logits(draft))[0, 1] == pytest.approx(similarity, abs=0.06)
    assert logits(target).std() == pytest.approx(1.0, abs=0.15)


def test_similarity_one_gives_equal_laws() -> None:
    target, draft = laws_of(random_instance("logits", 5, 2, seed=4, similarity=1.0))
    assert target == draft
    target, draft = laws_of(random_instance("logits", 5, 2, seed=4, similarity=0.99))
    assert all(target[context] != draft[context] for context in target)


def test_concentration_makes_the_laws_peaked() -> None:
    def top(concentration: float) -> float:
        target, _ = laws_of(random_instance("logits", 8, 2, seed=1, concentration=concentration))
        return float(np.mean([max(law) for law in target.values()]))

    assert top(0.01) < 0.14
    assert 0.2 < top(1.0) < 0.6
    assert top(15.0) > 0.9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"family": "gaussian"}, "family: got 'gaussian'; expected one of flat"),
        ({"vocab": 0}, "vocab: got 0"),
        ({"depth": 0}, "depth: got 0"),
        ({"seed": -1}, "seed: got -1; expected an integer of at least 0"),
        ({"seed": 1.5}, r"seed: got 1\.5; expected an integer of at least 0"),
        ({"family": "flat", "zeros": -0.1}, r"zeros: got -0\.1; expected a number from 0 to 1"),
        ({"family": "flat", "zeros": float("nan")}, "zeros: got nan"),
        ({"similarity": 1.01}, r"similarity: got 1\.01; expected a number from 0 to 1"),
        ({"concentration": 0.0}, r"concentration: got 0\.0; expected a positive number"),
        ({"concentration": math.inf}, "concentration: got inf"),
        ({"concentration": float("nan")}, "concentration: got nan"),
    ],
)
def test_parameters_out_of_range_are_refused(arguments: dict[str, object], said: str) -> None:
    given = {"family": "logits", "vocab": 2, "depth": 1, "seed": 0} | arguments
    positional = [given.pop(name) for name in ("family", "vocab", "depth", "seed")]
    with pytest.raises(ValueError, match=said):
        random_instance(*positional, **given)


def test_every_law_of_every_family_is_a_law() -> None:
    for family, seed in itertools.product(FAMILIES, range(3)):
        options = {"concentration": 15.0} if family == "logits" else {"zeros": 0.3}
        instance = random_instance(family, 3, 2, seed, **options)
        for node in range(len(instance.tree)):
            assert abs(sum(instance.target_law(node)) - 1) <= (0 if instance.exact else 1e-12)


def test_top_k_laws_are_sparse_and_reproducible() -> None:
    instance = random_top_k_instance(1000, 3, seed=4, top_k=6)
    again = random_top_k_instance(1000, 3, seed=4, top_k=6)
    assert instance.target.tolist() == again.target.tolist()
    assert instance.target.tolist() != random_top_k_instance(1000, 3, seed=5, top_k=6).target.tolist()
    assert instance.vocab == 1000
    assert instance.live.all()
    for node in range(instance.tree.leaves.start):
        for law in (instance.target_law(node), instance.draft_law(node)):
            assert np.count_nonzero(law) == 6
            assert law.sum() == pytest.approx(1, abs=1e-12)
        assert len(instance.tree.children(node)) <= 6
    same = random_top_k_instance(50, 2, seed=0, top_k=3, similarity=1.0)
    assert len(same.tree) == 1 + 3 + 9


@pytest.mark.parametrize("top_k", [0, 11, True, 2.0])
def test_a_top_k_out_of_range_is_refused(top_k: object) -> None:
    with pytest.raises(ValueError, match=r"top_k: got .*; expected an integer from 1 to .* 10"):
        random_top_k_instance(10, 2, seed=0, top_k=top_k)


@pytest.mark.parametrize(
    ("family", "option", "users"),
    [
        ("flat", "similarity", "logits"),
        ("iid", "concentration", "logits"),
        ("logits", "zeros", "flat, identical, iid, markov"),
    ],
)
def test_a_parameter_that_the_family_does_not_use_is_refused(family: str, option: str, users: str) -> None:
    said = f"{option}: the family '{family}' does not use it; expected one of {users}, or no {option}"
    with pytest.raises(ValueError, match=said):
        random_instance(family, 2, 1, 0, **{option: 0.5})
    random_instance(users.split(",")[0], 2, 1, 0, **{option: 0.5})


def test_defaults_are_those_that_the_docstring_names() -> None:
    for family, options in (("logits", {"similarity": 0.9, "concentration": 1.0}), ("flat", {"zeros": 0.0})):
        given, left_out = random_instance(family, 3, 2, 5, **options), random_instance(family, 3, 2, 5)
        assert given.target.tolist() == left_out.target.tolist()
        assert given.draft.tolist() == left_out.draft.tolist()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"similarity": 2.0}, "similarity: got 2.0; expected a number from 0 to 1"),
        ({"similarity": "high"}, "similarity: got 'high'; expected a number from 0 to 1"),
        ({"concentration": 0}, "concentration: got 0; expected a positive number"),
        ({"seed": 1.5}, "seed: got 1.5; expected an integer of at least 0"),
    ],
)
def test_top_k_parameters_out_of_range_are_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        random_top_k_instance(5, 1, **({"seed": 0, "top_k": 2} | arguments))


def test_the_families_say_what_they_are() -> None:
    lines = repr(FAMILIES).splitlines()
    assert [line.split()[0] for line in lines] == list(FAMILIES)
    assert all(len(line) <= 100 for line in lines)
    assert "lambda" not in repr(FAMILIES)
