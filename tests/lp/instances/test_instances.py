"""Instances: laws in, probabilities out, sparse and pruned trees, exact and float."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from nodebudget.lp import Instance, random_instance, solve_multi_path
from nodebudget.lp.instances.instance import check_instance
from nodebudget.lp.numbers.rationals import exact_array
from plain_definitions import joint, laws_of
from strategies import exact_instances, few, motivating, some

F = Fraction
HALF = [F(1, 2), F(1, 2)]


def test_laws_become_conditionals_on_the_nodes() -> None:
    target = {(): [F(1, 3), F(2, 3)], (0,): [F(1, 4), F(3, 4)], (1,): [1, 0]}
    draft = {(): [F(2, 5), F(3, 5)], (0,): [0, 1], (1,): {1: F(1, 7), 0: F(6, 7)}}
    instance = Instance.from_laws(2, 2, target, draft)
    assert instance.exact
    assert (instance.vocab, instance.depth) == (2, 2)
    assert instance.target.tolist() == [1, F(1, 3), F(2, 3), F(1, 4), F(3, 4), 1, 0]
    assert instance.draft.tolist() == [1, F(2, 5), F(3, 5), 0, 1, F(6, 7), F(1, 7)]
    assert all(isinstance(v, Fraction) for v in [*instance.target, *instance.draft])
    assert instance.joint_target.tolist() == [1, F(1, 3), F(2, 3), F(1, 12), F(1, 4), F(2, 3), 0]
    assert instance.joint_draft.tolist() == [1, F(2, 5), F(3, 5), 0, F(2, 5), F(18, 35), F(3, 35)]
    assert instance.live.tolist() == [True, True, True, False, True, True, False]


@some
@given(exact_instances())
def test_joints_are_the_products_of_the_laws(instance: Instance) -> None:
    target, draft = laws_of(instance)
    for node in range(len(instance.tree)):
        path = instance.tree.path(node)
        assert instance.joint_target[node] == joint(target, path)
        assert instance.joint_draft[node] == joint(draft, path)


def test_one_float_makes_the_instance_float() -> None:
    instance = Instance.from_laws(2, 1, {(): [F(1, 4), 0.75]}, {(): HALF})
    assert not instance.exact
    assert instance.target.dtype == instance.draft.dtype == np.float64
    assert instance.target.tolist() == [1.0, 0.25, 0.75]


def test_bonus_laws_are_kept_and_uniform_where_missing() -> None:
    target = {(): HALF, (1,): [F(1, 5), F(4, 5)]}
    instance = Instance.from_laws(2, 1, target, {(): HALF})
    assert instance.target_law(2).tolist() == [F(1, 5), F(4, 5)]
    assert instance.target_law(1).tolist() == HALF
    bare = Instance.from_laws(2, 1, {(): HALF}, {(): HALF})
    assert bare.leaf_target is None
    assert bare.target_law(1).tolist() == HALF
    with pytest.raises(ValueError, match="no law after 1 tokens"):
        bare.draft_law(1)


BAD_LAWS = [
    ([F(1, 2), F(1, 3)], r"sum to 5/6; expected 1"),
    ([0.5, 0.500001], r"sum to 1\.000001\d*; expected 1"),
    ([F(3, 2), F(-1, 2)], r"token 1: got -1/2; expected a finite number of at least 0"),
    ([float("nan"), 1.0], r"token 0: got nan; expected a finite number"),
    ([1.0, float("inf")], r"token 1: got inf; expected a finite number"),
    ([F(1)], "got 1 entries; expected 2, one per token"),
    ([F(1, 3)] * 3, "got 3 entries; expected 2, one per token"),
    ({0: F(1, 2), 2: F(1, 2)}, r"token 2 is outside the vocabulary 0\.\.1"),
    ({-1: F(1)}, r"token -1 is outside the vocabulary 0\.\.1"),
]


@pytest.mark.parametrize("name", ["target", "draft"])
@pytest.mark.parametrize(("law", "said"), BAD_LAWS)
def test_a_bad_law_is_refused_with_its_model_and_context(name: str, law: object, said: str) -> None:
    tables = {model: {(): HALF, (0,): HALF, (1,): HALF} for model in ("target", "draft")}
    tables[name] = {**tables[name], (1,): law}
    with pytest.raises(ValueError, match=rf"^{name} law at context '1'.*{said}"):
        Instance.from_laws(2, 2, tables["target"], tables["draft"])


@pytest.mark.parametrize("name", ["target", "draft"])
def test_a_missing_law_is_named(name: str) -> None:
    tables = {model: {(): HALF, (0,): HALF, (1,): HALF} for model in ("target", "draft")}
    tables[name] = {(): HALF, (0,): HALF}
    with pytest.raises(ValueError, match=rf"^{name} law at context '1' is missing.*fewer than 2 tokens"):
        Instance.from_laws(2, 2, tables["target"], tables["draft"])


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ((5,), r"target law at context '5': token 5 is outside the vocabulary 0\.\.1"),
        ((0, 0, 0), "target law at context '0,0,0': the context has 3 tokens; expected at most the depth, 2"),
    ],
)
def test_a_context_that_is_no_node_is_named(context: tuple[int, ...], said: str) -> None:
    laws = {(): HALF, (0,): HALF, (1,): HALF}
    with pytest.raises(ValueError, match=said):
        Instance.from_laws(2, 2, {**laws, context: HALF}, laws)


def test_float_laws_may_be_off_by_rounding_only() -> None:
    tenths = [0.1] * 10
    assert sum(tenths) != 1
    Instance.from_laws(10, 1, {(): tenths}, {(): tenths})
    with pytest.raises(ValueError, match="expected 1"):
        Instance.from_laws(2, 1, {(): [0.5, 0.5 + 1e-8]}, {(): HALF})


def test_arrays_of_the_wrong_length_or_kind_are_refused() -> None:
    tree = motivating().tree
    exact = exact_array([1] * 7)
    with pytest.raises(ValueError, match=r"target: got shape \(6,\); expected one entry per node, 7"):
        Instance(tree, exact[:6], exact)
    with pytest.raises(ValueError, match="both be exact"):
        Instance(tree, exact, np.ones(7))


@some
@given(exact_instances())
def test_prune_keeps_the_live_nodes_and_every_law(instance: Instance) -> None:
    pruned = instance.prune()
    kept = [instance.tree.path(node) for node in np.flatnonzero(instance.live)]
    assert [pruned.tree.path(node) for node in range(len(pruned.tree))] == kept
    assert pruned.live.all()
    for new, path in enumerate(kept):
        old = instance.tree.find(path)
        assert pruned.joint_target[new] == instance.joint_target[old]
        assert pruned.joint_draft[new] == instance.joint_draft[old]
        assert pruned.target_law(new).tolist() == instance.target_law(old).tolist()
        if len(path) < instance.depth:
            assert pruned.draft_law(new).tolist() == instance.draft_law(old).tolist()


@some
@given(exact_instances())
def test_sparse_from_laws_is_the_pruned_full_instance(instance: Instance) -> None:
    target, draft = laws_of(instance)
    sparse = Instance.from_laws(instance.vocab, instance.depth, target, draft, sparse=True)
    pruned = instance.prune()
    assert sparse.tree.parent.tolist() == pruned.tree.parent.tolist()
    assert sparse.tree.token.tolist() == pruned.tree.token.tolist()
    assert sparse.target.tolist() == pruned.target.tolist()
    assert sparse.draft.tolist() == pruned.draft.tolist()
    assert sparse.off_tree == pruned.off_tree


@few
@given(exact_instances())
def test_prune_changes_no_optimum(instance: Instance) -> None:
    assert solve_multi_path(instance, 2).value == solve_multi_path(instance.prune(), 2).value


def test_sparse_needs_only_the_contexts_with_both_masses() -> None:
    target = {(): [F(1, 2), F(1, 2), 0], (1,): [0, 0, 1]}
    draft = {(): [0, F(1, 4), F(3, 4)], (1,): [F(1, 3), F(1, 3), F(1, 3)]}
    instance = Instance.from_laws(3, 2, target, draft, sparse=True)
    assert [instance.tree.path(node) for node in range(len(instance.tree))] == [(), (1,), (1, 2)]
    assert instance.target_law(0).tolist() == target[()]
    assert instance.draft_law(1).tolist() == draft[(1,)]
    with pytest.raises(ValueError, match="target law at context '0' is missing"):
        Instance.from_laws(3, 2, target, draft)


def test_prune_keeps_the_bonus_laws_of_the_leaves_that_stay() -> None:
    target = {(): [1, 0], (0,): [F(1, 5), F(4, 5)], (1,): [F(2, 5), F(3, 5)]}
    pruned = Instance.from_laws(2, 1, target, {(): HALF}).prune()
    assert len(pruned.tree) == 2
    assert pruned.target_law(1).tolist() == [F(1, 5), F(4, 5)]


@some
@given(exact_instances())
def test_to_float_rounds_every_probability_to_the_nearest(instance: Instance) -> None:
    for given_instance in (instance, instance.prune()):
        floats = given_instance.to_float()
        assert not floats.exact
        assert floats.to_float() is floats
        for node in range(len(given_instance.tree)):
            wanted = [float(v) for v in given_instance.target_law(node)]
            assert floats.target_law(node).tolist() == wanted
        assert floats.draft.tolist() == [float(v) for v in given_instance.draft]


@pytest.mark.parametrize("concentration", [1.0, 15.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_to_exact_changes_only_the_largest_entry_and_only_by_rounding(
    concentration: float, seed: int
) -> None:
    floats = random_instance("logits", 6, 2, seed, concentration=concentration)
    exact = floats.to_exact()
    assert exact.exact
    assert exact.to_exact() is exact
    changed = 0
    for node in range(len(floats.tree)):
        laws = [(floats.target_law(node), exact.target_law(node))]
        if node not in floats.tree.leaves:
            laws.append((floats.draft_law(node), exact.draft_law(node)))
        for rounded, rational in laws:
            assert sum(rational) == 1
            moved = [y for y in range(6) if Fraction(rounded[y]) != rational[y]]
            changed += len(moved)
            assert moved in ([], [int(np.argmax(rounded))])
            assert all(abs(Fraction(rounded[y]) - rational[y]) < Fraction(1, 10**15) for y in moved)
    assert changed > 0, "no law needed the correction: the test shows nothing"


def test_to_exact_of_a_sparse_float_instance_keeps_its_tree() -> None:
    laws = {(): {1: 0.1, 3: 0.2, 7: 0.7}, (1,): {0: 1.0}, (3,): {2: 0.3, 5: 0.7}}
    draft = {(): {1: 0.6, 3: 0.1, 4: 0.3}, (1,): {0: 0.5, 9: 0.5}, (3,): {5: 1.0}}
    floats = Instance.from_laws(10, 2, laws, draft, sparse=True)
    exact = floats.to_exact()
    assert exact.tree is floats.tree
    assert [exact.tree.path(z) for z in range(len(exact.tree))] == [(), (1,), (3,), (1, 0), (3, 5)]
    assert exact.target_law(0)[1] == Fraction(0.1)
    assert sum(exact.draft_law(0)) == sum(exact.target_law(2)) == 1


def test_the_laws_cannot_be_written_to() -> None:
    instance = motivating()
    for array in (instance.target, instance.draft):
        with pytest.raises(ValueError, match="read-only"):
            array[1] = Fraction(1, 2)
    law = instance.target_law(0)
    law[0] = Fraction(9)
    assert instance.target_law(0)[0] == Fraction(1, 3), "target_law must hand out a copy"


def test_an_instance_in_a_notebook() -> None:
    small = random_instance("flat", 2, 1, seed=0)
    shown = small._repr_html_()
    for node in (1, 2):
        assert f"<td>{node - 1}</td><td>{small.target[node]}</td><td>{small.draft[node]}</td>" in shown
    assert "more rows" not in shown
    # 1 + 2 + 4 + 8 + 16 nodes; the root is left out, and 30 rows are shown.
    assert "more" not in random_instance("flat", 2, 4, seed=0)._repr_html_()
    assert "and 32 more rows" in random_instance("flat", 2, 5, seed=0)._repr_html_()


@pytest.mark.parametrize("wrong", ["x", None, [[1]], 3])
def test_what_is_no_instance_is_said(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"instance: got .*; expected an Instance, as load_instance"):
        check_instance(wrong)
    check_instance(random_instance("flat", 2, 1, seed=0))
