"""Budgets by one pass over the tree against the laws, enumerated, in rationals."""

from __future__ import annotations

import numpy as np
import pytest
from nodebudget.lp import random_instance
from nodebudget.verifiers import VERIFIERS, Verifier
from nodebudget.verifiers.algorithms.one_step import Continuations, Emission
from nodebudget.verifiers.algorithms.recursive_rejection import with_replacement as specinfer_rule
from nodebudget.verifiers.algorithms.survivors import top_down_budgets
from nodebudget.verifiers.arithmetic.arrays import Arrays
from nodebudget.verifiers.audit import audit_exact

ONE_PASS = [verifier for verifier in VERIFIERS.values() if verifier.one_pass is not None]
CASES = [
    (random_instance("flat", 3, 2, seed=1), 2),
    (random_instance("flat", 3, 2, seed=4, zeros=0.3), 2),
    (random_instance("flat", 2, 3, seed=2), 2),
    (random_instance("iid", 2, 2, seed=4, zeros=0.2), 3),
    (random_instance("flat", 4, 1, seed=6), 3),
    (random_instance("flat", 3, 3, seed=5), 1),
]


def test_the_published_ones_but_traversal_have_one() -> None:
    assert {"token", "bv", "gbv", "nss", "specinfer", "spectr"} <= {verifier.name for verifier in ONE_PASS}


@pytest.mark.parametrize("verifier", ONE_PASS, ids=lambda verifier: verifier.name)
def test_budgets_are_those_of_the_law(verifier: Verifier) -> None:
    for instance, paths in CASES:
        enumerated = audit_exact(verifier, instance, paths).budgets
        found = verifier.budgets(instance, paths)
        assert found.tolist() == enumerated.tolist()
        floats = verifier.budgets(instance.to_float(), paths)
        np.testing.assert_allclose(floats, enumerated.astype(float), rtol=0, atol=1e-12)


def test_survivors_matter() -> None:
    """A rule that forgets the second continuation is told apart: the comparison above can fail."""

    def forgetful(arrays: Arrays, here: Continuations) -> Emission:
        return specinfer_rule(arrays, here._replace(wanted=here.wanted[:, :1], drafted=here.drafted[:, :1]))

    instance, paths = CASES[0]  # one whose residuals have more than one token left
    right = top_down_budgets(instance, paths, specinfer_rule)
    wrong = top_down_budgets(instance, paths, forgetful)
    assert right is not None
    assert wrong is not None
    assert wrong.tolist() != right.tolist()


def test_too_many_continuations_give_none() -> None:
    assert top_down_budgets(random_instance("logits", 16, 1, seed=0), 7, specinfer_rule) is None


@pytest.mark.parametrize("verifier", ONE_PASS, ids=lambda verifier: verifier.name)
def test_a_sparse_instance_has_the_budgets_of_the_full_one(verifier: Verifier) -> None:
    for seed in (4, 7):
        full = random_instance("flat", 4, 2, seed=seed, zeros=0.4)
        sparse = full.prune()
        assert len(sparse.tree) < len(full.tree)
        assert sparse.off_tree
        for one, other in ((full, sparse), (full.to_float(), sparse.to_float())):
            budgets, found = (verifier.budgets(each, 2) for each in (one, other))
            assert budgets is not None
            assert found is not None
            kept = budgets[full.live]
            assert budgets[~full.live].tolist() == [0] * int((~full.live).sum())
            if one.exact:
                assert found.tolist() == kept.tolist()
            else:
                np.testing.assert_allclose(found, kept, rtol=0, atol=1e-12)
