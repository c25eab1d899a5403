"""Prefix trees: numbering, sparse trees, passes up and down, refusals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp import PrefixTree
from nodebudget.lp.instances import trees
from nodebudget.lp.instances.trees import maximum
from nodebudget.lp.numbers.rationals import exact_array
from strategies import some


@st.composite
def sparse_trees(draw: st.DrawFn) -> PrefixTree:
    vocab, depth = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    return PrefixTree.grow(vocab, depth, lambda _: draw(st.sets(st.integers(0, vocab - 1))))


@pytest.mark.parametrize(("vocab", "depth"), [(1, 1), (1, 4), (2, 1), (2, 4), (3, 2), (5, 2)])
def test_full_tree_lists_all_strings_by_length_then_lexicographically(vocab: int, depth: int) -> None:
    tree = PrefixTree.full(vocab, depth)
    wanted = [z for d in range(depth + 1) for z in itertools.product(range(vocab), repeat=d)]
    assert [tree.path(node) for node in range(len(tree))] == wanted
    assert tree.lengths.tolist() == [len(z) for z in wanted]
    assert [wanted[leaf] for leaf in tree.leaves] == [z for z in wanted if len(z) == depth]


@some
@given(sparse_trees())
def test_find_is_the_inverse_of_path(tree: PrefixTree) -> None:
    paths = [tree.path(node) for node in range(len(tree))]
    assert len(set(paths)) == len(paths)
    assert [tree.find(path) for path in paths] == list(range(len(tree)))
    for d in range(tree.depth + 2):
        for z in itertools.product(range(tree.vocab + 1), repeat=d):
            assert (tree.find(z) is not None) == (z in paths)


@some
@given(sparse_trees())
def test_children_and_levels_fit_the_paths(tree: PrefixTree) -> None:
    paths = [tree.path(node) for node in range(len(tree))]
    for node, path in enumerate(paths):
        below = [z for z in paths if len(z) == len(path) + 1 and z[:-1] == path]
        assert [paths[child] for child in tree.children(node)] == sorted(below)
    for d in range(tree.depth + 1):
        assert paths[tree.level(d)] == [z for z in paths if len(z) == d]


def test_grow_takes_children_in_any_order_and_once() -> None:
    tree = PrefixTree.grow(4, 2, lambda z: [3, 1, 3] if not z else ([2, 0] if z == (3,) else []))
    assert [tree.path(node) for node in range(len(tree))] == [(), (1,), (3,), (3, 0), (3, 2)]
    assert list(tree.children(1)) == []
    assert list(tree.leaves) == [3, 4]


def test_a_sparse_tree_may_end_before_its_depth() -> None:
    tree = PrefixTree.grow(2, 3, lambda z: [0] if not z else [])
    assert len(tree) == 2
    assert list(tree.leaves) == []
    assert tree.sum_children_everywhere(np.array([1.0, 4.0])).tolist() == [4.0, 0.0]


@some
@given(sparse_trees(), st.randoms(use_true_random=False))
def test_passes_up_and_down_are_the_loops_they_replace(tree: PrefixTree, random: object) -> None:
    exact = exact_array([Fraction(random.randint(-9, 9), random.randint(1, 9)) for _ in range(len(tree))])
    floats = np.array([random.random() for _ in range(len(tree))])
    sums = [sum((exact[c] for c in tree.children(z)), Fraction(0)) for z in range(len(tree))]
    assert tree.sum_children_everywhere(exact).tolist() == sums
    sums = [sum(floats[c] for c in tree.children(z)) for z in range(len(tree))]
    assert tree.sum_children_everywhere(floats) == pytest.approx(sums, rel=1e-14)
    products = []
    for node in range(len(tree)):
        product, above = exact[node], tree.parent[node]
        while above >= 0:
            product, above = product * exact[above], tree.parent[above]
        products.append(product)
    assert tree.multiply_down(exact).tolist() == products


@some
@given(sparse_trees(), st.randoms(use_true_random=False))
def test_restrict_keeps_strings_and_their_old_numbers(tree: PrefixTree, random: object) -> None:
    keep = np.ones(len(tree), dtype=bool)
    for node in range(1, len(tree)):
        keep[node] = keep[tree.parent[node]] and random.random() < 0.7
    smaller, old = tree.restrict(keep)
    assert old.tolist() == np.flatnonzero(keep).tolist()
    assert [smaller.path(new) for new in range(len(smaller))] == [tree.path(int(node)) for node in old]
    assert (smaller.vocab, smaller.depth) == (tree.vocab, tree.depth)


@pytest.mark.parametrize("dropped", [0, 1])
def test_restrict_refuses_a_set_that_is_no_subtree(dropped: int) -> None:
    keep = np.ones(7, dtype=bool)
    keep[dropped] = False
    with pytest.raises(ValueError, match="must contain the root and, with each node, its parent"):
        PrefixTree.full(2, 2).restrict(keep)


@pytest.mark.parametrize(
    ("parent", "token", "said"),
    [
        ([], [], "start with the root"),
        ([-1, 0], [-1], "equally long"),
        ([0, 0], [-1, 0], "start with the root"),
        ([-1, 1], [-1, 0], "come after its parent"),
        ([-1, -1], [-1, 0], "come after its parent"),
        ([-1, 0], [-1, 2], r"tokens must lie in 0\.\.1"),
        ([-1, 0], [-1, -1], r"tokens must lie in 0\.\.1"),
        ([-1, 0, 0], [-1, 1, 0], "sorted by token"),
        ([-1, 0, 0], [-1, 1, 1], "sorted by token"),
        ([-1, 0, 1, 0], [-1, 0, 0, 1], "level order"),
        ([-1, 0, 1, 2], [-1, 0, 0, 0], "deeper than the depth 2"),
    ],
)
def test_arrays_that_are_no_tree_are_refused(parent: list[int], token: list[int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PrefixTree(2, 2, np.array(parent, dtype=int), np.array(token, dtype=int))


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True, None])
def test_shapes_must_be_positive_integers(bad: object) -> None:
    with pytest.raises(ValueError, match=r"vocab: got .* expected an integer of at least 1"):
        PrefixTree.full(bad, 2)
    with pytest.raises(ValueError, match=r"depth: got .* expected an integer of at least 1"):
        PrefixTree.grow(2, bad, lambda _: [])


def test_a_tree_that_is_too_large_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"has more than 20000000 nodes"):
        PrefixTree.full(1000, 3)
    monkeypatch.setattr(trees, "NODE_LIMIT", 6)
    with pytest.raises(ValueError, match="more than 6 nodes"):
        PrefixTree.grow(2, 2, lambda _: [0, 1])
    monkeypatch.setattr(trees, "NODE_LIMIT", 7)
    assert len(PrefixTree.grow(2, 2, lambda _: [0, 1])) == len(PrefixTree.full(2, 2)) == 7


def test_a_tree_with_an_astronomical_number_of_nodes_is_refused_in_words() -> None:
    """Its node count has more digits than Python turns into text."""
    with pytest.raises(ValueError, match="depth 20000"):
        PrefixTree.full(2, 20000)


def test_networkx_graph_has_strings_edges_and_the_named_arrays() -> None:
    tree = PrefixTree.grow(3, 2, lambda z: [0, 2] if not z else [1])
    graph = tree.to_networkx(mass=np.array([1.0, 0.25, 0.75, 0.25, 0.75]))
    assert set(graph.nodes) == {(), (0,), (2,), (0, 1), (2, 1)}
    assert set(graph.edges) == {((), (0,)), ((), (2,)), ((0,), (0, 1)), ((2,), (2, 1))}
    assert graph.edges[(2,), (2, 1)]["token"] == 1
    assert graph.nodes[(2, 1)]["mass"] == 0.75
    assert nx.is_arborescence(graph)


def test_the_arrays_cannot_be_written_to() -> None:
    tree = PrefixTree.full(2, 2)
    for array in (tree.parent, tree.token, tree.level_start, tree.child_count, tree.first_child):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_maximum_is_entrywise_and_keeps_the_kind() -> None:
    first, second = exact_array([1, Fraction(1, 3)]), exact_array([Fraction(1, 2), Fraction(2, 3)])
    assert maximum(first, second).tolist() == [Fraction(1), Fraction(2, 3)]
    assert maximum(np.array([1.0, 0.5]), np.array([0.25, 0.75])).tolist() == [1.0, 0.75]
