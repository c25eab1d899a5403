"""Drafted trees: shape, the ways to build one, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from drafted_tuples import LawFunction, Table
from nodebudget.lp.instances.families import random_instance
from nodebudget.lp.instances.instance import Instance
from nodebudget.verifiers import VERIFIERS, DraftTree, PathNodes

PATHS = [(0, 1, 2), (2, 1, 0), (0, 1, 0), (0, 1, 2)]


def test_shape_of_the_nodes() -> None:
    nodes = PathNodes(PATHS)
    strings = [(), (0,), (2,), (0, 1), (2, 1), (0, 1, 2), (2, 1, 0), (0, 1, 0)]
    assert [nodes.path(node) for node in range(len(nodes))] == strings
    assert (len(nodes), nodes.inner, nodes.paths, nodes.depth) == (8, 5, 4, 3)
    assert nodes.parent.tolist() == [-1, 0, 0, 1, 2, 3, 4, 3]
    assert nodes.token.tolist() == [-1, 0, 2, 1, 1, 2, 0, 0]
    assert nodes.lengths.tolist() == [0, 1, 1, 2, 2, 3, 3, 3]
    assert nodes.level_start.tolist() == [0, 1, 3, 5, 8]
    assert nodes.counts.tolist() == [4, 3, 1, 3, 1, 2, 1, 1]
    assert nodes.children == ((1, 2), (3,), (4,), (5, 7), (6,))
    assert nodes.path_nodes.tolist() == [[0, 1, 3, 5], [0, 2, 4, 6], [0, 1, 3, 7], [0, 1, 3, 5]]
    assert [strings[node] for node in nodes.post_order] == [
        (0, 1, 2), (0, 1, 0), (0, 1), (0,), (2, 1, 0), (2, 1), (2,), (),
    ]  # fmt: skip
    continuations = {
        int(node): row.tolist()
        for family in nodes.by_draws
        for node, row in zip(family.nodes, family.children, strict=True)
    }
    assert continuations == {0: [1, 2, 1, 1], 1: [3, 3, 3], 2: [4], 3: [5, 7, 5], 4: [6]}


@pytest.mark.parametrize(
    "paths",
    [
        PATHS,
        [list(path) for path in PATHS],
        np.array(PATHS),
        np.array(PATHS, dtype=np.int32),
        torch.tensor(PATHS),
    ],
)
def test_paths_of_any_kind(paths: Any) -> None:
    assert PathNodes(paths).path_nodes.tolist() == PathNodes(PATHS).path_nodes.tolist()


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "no path"),
        ([[]], "L >= 1"),
        ([1, 2], "path 0 is 1;"),
        ([[1, 2], [1]], "path 1 has 1 tokens and path 0 has 2"),
        ([[1, -1]], "path 0, position 1: got -1"),
        ([[1, 0.5]], "position 1: got 0.5"),
        ([[True]], "got True"),
        (np.zeros((2, 0), dtype=int), "L >= 1"),
        (np.zeros(3, dtype=int), "path 0 is 0"),
        ([["a"]], "got 'a'"),
    ],
)
def test_paths_that_are_refused(paths: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PathNodes(paths)


def rows_by_position(instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    tree = instance.tree
    nodes = [[tree.find(path[:i]) for i in range(4)] for path in PATHS]
    target = np.array([[instance.target_law(node) for node in row] for row in nodes])  # type: ignore[arg-type]
    draft = np.array([[instance.draft_law(node) for node in row[:-1]] for row in nodes])  # type: ignore[arg-type]
    return target, draft


@pytest.mark.parametrize("exact", [True, False])
def test_builders_agree(exact: bool) -> None:
    instance = random_instance("flat", 3, 3, seed=2)
    instance = instance if exact else instance.to_float()
    target, draft = rows_by_position(instance)
    reference = DraftTree.from_instance(instance, PATHS)
    assert reference.exact is exact
    lookup = {
        path[:i]: (target[k, i], draft[k, i] if i < 3 else None)
        for k, path in enumerate(PATHS)
        for i in range(4)
    }
    called: list[tuple[int, ...]] = []

    def target_law(context: tuple[int, ...]) -> Any:
        called.append(context)
        return lookup[context][0]

    trees = [
        DraftTree.from_paths(PATHS, target, draft),
        DraftTree.from_paths(PATHS, target_law, lambda context: lookup[context][1]),
        DraftTree.from_paths(PATHS, target.tolist(), draft.tolist()),
        DraftTree(reference.nodes, reference.target, reference.draft),
    ]
    assert sorted(called) == sorted(set(called))
    if not exact:
        trees.append(DraftTree.from_paths(torch.tensor(PATHS), torch.tensor(target), torch.tensor(draft)))
    for tree in trees:
        assert (np.asarray(tree.target) == reference.target).all()
        assert (np.asarray(tree.draft) == reference.draft).all()
        assert tree.vocab == 3
    kind = Fraction if exact else np.float64
    assert type(reference.target[0, 0]) is kind


def test_rows_of_the_first_path_are_used() -> None:
    target = np.full((2, 2, 2), 0.5)
    draft = np.full((2, 1, 2), 0.5)
    target[1, 0] = [0.9, 0.1]
    draft[1, 0] = [0.2, 0.8]
    tree = DraftTree.from_paths([[0], [1]], target, draft)
    assert tree.target[0].tolist() == [0.5, 0.5]
    assert tree.draft[0].tolist() == [0.5, 0.5]


HALF = np.full((1, 2, 2), 0.5)


@pytest.mark.parametrize(
    ("target", "draft", "message"),
    [
        (HALF, HALF, r"draft: got shape \(1, 2, 2\); expected \(1, 1, V\)"),
        (HALF[:, :1], HALF[:, :1], r"target: got shape \(1, 1, 2\); expected \(1, 2, V\)"),
        (HALF, np.full((1, 1, 3), 1 / 3), "draft: the rows have 3 entries; expected 2"),
        (
            HALF,
            torch.full((1, 1, 2), 0.5),
            "target is a numpy array of floats and draft is a torch tensor on cpu",
        ),
        (HALF, np.full((1, 1, 2), Fraction(1, 2)), "draft is exact"),
        (HALF, np.array([[[1, 0]]]), "draft: got an array of int64; expected floats"),
        (torch.ones(1, 2, 2, dtype=torch.int64), HALF[:, :1], "target: got a tensor of torch.int64"),
        (
            np.full((1, 2, 2), "x", dtype=object),
            np.full((1, 1, 2), Fraction(1, 2)),
            r"target: got 'x' \(str\)",
        ),
        (
            HALF[..., :1] * 2,
            HALF[:, :1, :1] * 2,
            r"path 0, position 0: token 1 is outside the vocabulary 0..0",
        ),
        (HALF * [1, np.nan], HALF[:, :1], "target row after context '': it has a negative entry or NaN"),
        (HALF, HALF[:, :1] * [3, -1], "draft row after context '': it has a negative entry or NaN"),
        (HALF, HALF[:, :1] * 0.9, r"draft row after context '': the entries sum to 0.9; expected 1"),
        (HALF * 0, HALF[:, :1], "target row after context ''"),
        (
            HALF,
            HALF[:, :1] * [2, 0],
            "path 0, position 0: the draft gives token 1 probability 0 after context ''",
        ),
        (
            lambda context: [0.5] * (2 + len(context)),
            HALF[:, :1],
            "target row after context '1': got 3 entries",
        ),
        (np.full((1, 2, 2), Fraction(1, 3)), np.full((1, 1, 2), Fraction(1, 2)), "the entries sum to 2/3"),
    ],
)
def test_rows_that_are_refused(target: Any, draft: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DraftTree.from_paths([[1]], target, draft)


def test_rows_per_node_of_the_wrong_shape() -> None:
    nodes = PathNodes([[0, 1], [0, 0]])
    with pytest.raises(
        ValueError, match=r"target: got shape \(3, 2\); expected \(4, V\), one row per distinct node"
    ):
        DraftTree(nodes, np.full((3, 2), 0.5), np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match=r"draft: got shape \(4, 2\); expected \(2, V\)"):
        DraftTree(nodes, np.full((4, 2), 0.5), np.full((4, 2), 0.5))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "double"])
def test_precisions_that_lose_the_law(dtype: str) -> None:
    with pytest.raises(ValueError, match=f"dtype: got '{dtype}'; expected float64 or float32"):
        DraftTree.from_paths([[1]], HALF, HALF[:, :1], dtype=dtype)


def test_torch_rows_are_looked_at_on_request() -> None:
    target, draft = torch.tensor(HALF) * 3, torch.tensor(HALF[:, :1])
    DraftTree.from_paths([[1]], target, draft)
    with pytest.raises(ValueError, match=r"target row after context '': the entries sum to 3\.0"):
        DraftTree.from_paths([[1]], target, draft, check=True)
    DraftTree.from_paths([[1]], HALF * 3, HALF[:, :1], check=False)


def test_rows_that_track_gradients() -> None:
    target = torch.full((1, 2, 2), 0.5, requires_grad=True)
    law = VERIFIERS["bv"].law(DraftTree.from_paths([[1]], target, target[:, :1]))
    assert not law.joint().requires_grad


def test_paths_that_do_not_fit_an_instance() -> None:
    instance = random_instance("flat", 3, 2, seed=0)
    with pytest.raises(ValueError, match="got 3 tokens a path; expected the depth, 2"):
        DraftTree.from_instance(instance, PATHS)
    with pytest.raises(ValueError, match=r"path 1, position 0: token 3 is outside the vocabulary 0..2"):
        DraftTree.from_instance(instance, [[0, 0], [3, 0]])
    laws: dict[tuple[int, ...], list[int]] = {(): [1, 0]}
    with pytest.raises(ValueError, match="the draft gives token 1 probability 0"):
        DraftTree.from_instance(Instance.from_laws(2, 1, laws, laws), [[1]])


def joint_by_string(law: LawFunction, tree: DraftTree) -> Table:
    table = law(tree).joint().tolist()
    return {tree.nodes.path(node): row for node, row in enumerate(table)}


@pytest.mark.parametrize("name", VERIFIERS)
@pytest.mark.parametrize("exact", [True, False])
def test_pruned_instances_give_the_same_law(name: str, exact: bool) -> None:
    # In a pruned instance the tokens without target probability have no node, but can be drafted.
    instance = random_instance("flat", 3, 3, seed=10, zeros=0.5)
    instance = instance if exact else instance.to_float()
    pruned = instance.prune()
    law = VERIFIERS[name].law
    rng = np.random.default_rng(0)
    drafted = [instance.tree.path(leaf) for leaf in instance.tree.leaves if instance.joint_draft[leaf] > 0]
    missing = 0
    for _ in range(20):
        paths = [drafted[i] for i in rng.integers(len(drafted), size=3)]
        missing += any(pruned.tree.find(path) is None for path in paths)
        full, sparse = (DraftTree.from_instance(which, paths) for which in (instance, pruned))
        assert joint_by_string(law, full) == joint_by_string(law, sparse)
    assert missing > 5


def test_an_instance_without_a_needed_node() -> None:
    instance = random_instance("flat", 2, 2, seed=0)
    keep = np.ones(len(instance.tree), dtype=bool)
    keep[-1] = False
    tree, old = instance.tree.restrict(keep)
    rest = {2: {1: (instance.target[6], instance.draft[6])}}
    broken = Instance(tree, instance.target[old], instance.draft[old], None, rest)
    with pytest.raises(ValueError, match="has no node '1,1', to which both models give probability"):
        DraftTree.from_instance(broken, [[1, 1]])
