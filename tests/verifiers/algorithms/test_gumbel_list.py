"""Gumbel-list sampling: its law given the drafts, against the clocks themselves and against known closed forms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from nodebudget.lp import random_instance
from nodebudget.verifiers import AcceptanceLaw, DraftTree, Verifier, expected_accepted, get_verifier
from nodebudget.verifiers.algorithms.gumbel_list import given, matches
from nodebudget.verifiers.audit import audit_exact

P = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5), Fraction(0)]
Q = [Fraction(1, 5), Fraction(3, 10), Fraction(2, 5), Fraction(1, 10)]
INSTANCES = {
    "flat": (random_instance("flat", 3, 2, seed=3), 2),
    "three tokens": (random_instance("flat", 2, 3, seed=3), 2),
    "three paths": (random_instance("flat", 3, 1, seed=3), 3),
    "zeros": (random_instance("flat", 3, 2, seed=8, zeros=0.3), 2),
    "p = q": (random_instance("identical", 3, 2, seed=3), 2),
    "one-hot": (random_instance("flat", 3, 2, seed=9, zeros=1.0), 2),
}


def test_one_draft_has_the_known_closed_form() -> None:
    wanted = [1 / sum(max(a / P[y], b / Q[y]) for a, b in zip(P, Q, strict=True)) for y in range(3)]
    assert [row[1] for row in matches(P, Q, 1)] == [*wanted, 0]
    assert sum(wanted) > sum(a * b for a, b in zip(P, Q, strict=True))  # naive sampling


def test_against_the_clocks() -> None:
    """200,000 runs of the two races, with three drafts: each frequency within five standard errors."""
    rng, runs, paths = np.random.default_rng(1), 200_000, 3
    clocks = rng.exponential(size=(runs, paths, 4))
    drafts = (clocks / np.array(Q, dtype=float)).argmin(2)
    with np.errstate(divide="ignore"):
        chosen = (clocks.min(1) / np.array(P, dtype=float)).argmin(1)
    agreeing = (drafts == chosen[:, None]).sum(1)
    for y, row in enumerate(matches(P, Q, paths)):
        for m, chance in enumerate(row):
            seen = ((chosen == y) & (agreeing == m)).mean()
            error = math.sqrt(max(float(chance * (1 - chance)), 1e-9) / runs)
            assert abs(seen - float(chance)) < 5 * error + 1e-9, (y, m)


def test_given_the_drafts_averages_to_the_target_and_to_the_matches() -> None:
    for paths in (1, 2, 3):
        total, found = [Fraction(0)] * 4, [[Fraction(0)] * (paths + 1) for _ in P]
        for drawn in itertools.product(range(4), repeat=paths):
            chance = math.prod(Q[x] for x in drawn)
            for y, mass in enumerate(given(P, Q, drawn)):
                total[y] += chance * mass
                found[y][drawn.count(y)] += chance * mass
        assert total == P
        assert found == matches(P, Q, paths)


@pytest.mark.parametrize("case", INSTANCES)
def test_lossless_and_above_naive_sampling(case: str) -> None:
    instance, paths = INSTANCES[case]
    found = audit_exact("gumbel-list", instance, paths)
    assert found.lossless, found.faults
    assert expected_accepted("gumbel-list", instance, paths) == found.accepted_tokens
    assert expected_accepted("nss", instance, paths) <= found.accepted_tokens <= found.optimum


def test_not_lossless_given_the_paths() -> None:
    """Why it may pass the bound of statement 13.4: what was drafted tells of the clocks."""
    instance, paths = INSTANCES["flat"]
    assert expected_accepted("gumbel-list", instance, paths) > expected_accepted("nss", instance, paths)
    target, draft = list(instance.target_law(0)), list(instance.draft_law(0))
    assert given(target, draft, [0, 1]) != target


def test_control_copies_that_are_merged_are_found() -> None:
    def merged(tree: DraftTree) -> AcceptanceLaw:
        distinct = dict.fromkeys(
            tuple(tree.nodes.path(int(leaf))) for leaf in tree.of_paths.path_nodes[:, -1]
        )
        joint = tree.target * 0
        drawn = [path[0] for path in distinct]
        for y, mass in enumerate(given(list(tree.target[0]), list(tree.draft[0]), drawn)):
            if y in drawn:
                joint[1 + drawn.index(y)] = mass * tree.target[1 + drawn.index(y)]
            else:
                joint[0, y] = mass
        return AcceptanceLaw.from_joint(tree, joint)

    wrong = Verifier("merged", merged, multipath=True, reference="a control")
    assert not audit_exact(wrong, random_instance("flat", 3, 1, seed=3), 2).lossless


def test_a_vocabulary_that_is_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="gumbel-list: got 2 paths over 400 tokens; expected fewer"):
        matches([1 / 400] * 400, [1 / 400] * 400, 2)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_floats(dtype: str, tolerance: float, kind: str) -> None:
    law = get_verifier("gumbel-list").law
    for instance, paths in INSTANCES.values():
        for seed in range(4):
            exact = DraftTree.from_instance(instance, instance.draw_paths(paths, seed))
            rows = [np.array(rows.tolist(), dtype=float) for rows in (exact.target, exact.draft)]
            given_rows = [torch.tensor(each) for each in rows] if kind == "torch" else rows
            joint = law(DraftTree(exact.nodes, *given_rows, dtype=dtype)).joint()
            found, wanted = (np.array(each.tolist(), dtype=float) for each in (joint, law(exact).joint()))
            assert np.abs(found - wanted).max() < tolerance
