"""What a law may depend on: the drafting order, earlier calls, and never the caller's arrays."""

import itertools

import numpy as np
import pytest
import torch
from drafted_tuples import output_law, output_law_by_pick
from nodebudget.lp.instances.families import random_instance
from nodebudget.verifiers import VERIFIERS, DraftTree, Verifier
from nodebudget.verifiers.algorithms.greedy_multipath import pick_path

EACH = pytest.mark.parametrize("verifier", VERIFIERS.values(), ids=list(VERIFIERS))


def test_greedy_multipath_depends_on_the_picked_path_only() -> None:
    instance = random_instance("flat", 3, 2, seed=4, zeros=0.2)
    law = VERIFIERS["gbv"].law
    assert output_law(law, instance, 3) == output_law(law, instance, 3, ordered=False)
    by_pick = output_law_by_pick(law, instance, 3)
    table = output_law(law, instance, 3)
    assert {z: row for z, row in table.items() if any(row)} == {
        z: row for z, row in by_pick.items() if any(row)
    }


def test_the_pick_is_the_best_of_every_pair() -> None:
    instance = random_instance("identical", 3, 2, seed=2)
    paths = [instance.tree.path(leaf) for leaf in instance.tree.leaves]

    def pick(drafted: list[tuple[int, ...]]) -> tuple[int, ...]:
        tree = DraftTree.from_instance(instance, drafted)
        return tree.nodes.path(int(pick_path(tree)[-1]))

    for three in itertools.combinations(paths, 3):
        assert {pick([pick(list(two)), other]) for *two, other in itertools.permutations(three)} == {
            pick(list(three))
        }
    # With equal laws everything ties, and the smaller token id is ranked higher.
    assert pick(paths) == (0, 0)


@EACH
def test_laws_do_not_depend_on_earlier_calls(verifier: Verifier) -> None:
    first = random_instance("flat", 3, 2, seed=1)
    second = random_instance("flat", 4, 3, seed=2)
    paths, others = [(0, 1), (2, 1), (0, 2)], [(3, 0, 1), (3, 0, 2)]
    fresh = verifier.law(DraftTree.from_instance(first, paths)).joint()
    verifier.law(DraftTree.from_instance(second, others)).joint()
    verifier.law(DraftTree.from_instance(first, paths[::-1])).joint()
    tree = DraftTree.from_instance(first, paths)
    law = verifier.law(tree)
    for _ in range(2):
        assert (law.joint() == fresh).all()
        assert (verifier.law(tree).joint() == fresh).all()


@EACH
@pytest.mark.parametrize("kind", ["numpy", "torch", "exact"])
def test_laws_do_not_change_the_callers_arrays(verifier: Verifier, kind: str) -> None:
    paths = np.array([[0, 1, 1], [0, 1, 2], [2, 0, 1]])
    shared = random_instance("flat", 3, 3, seed=6)
    tree = DraftTree.from_instance(shared if kind == "exact" else shared.to_float(), paths)
    target, draft = tree.target.copy(), tree.draft.copy()
    if kind == "torch":
        target, draft = torch.tensor(target), torch.tensor(draft)
    given = [paths, target, draft]
    before = [array.clone() if kind == "torch" and array is not paths else array.copy() for array in given]
    law = verifier.law(DraftTree(tree.nodes, target, draft))
    stop, joint = law.stop, law.joint()
    kept = stop + 0
    for node in range(len(tree.nodes)):
        law.next_row(node)
    assert 0 < float(law.expected_accepted) < 3
    for array, copy in zip(given, before, strict=True):
        assert bool((array == copy).all())
    if kind == "exact":
        # Rationals are copied: what the caller does to the arrays afterwards does not change the law.
        target[...] = target * 0
        draft[...] = draft * 0
        assert bool((law.joint() == joint).all())
        assert bool((law.stop == kept).all())
