"""Samplers of any drafted tree: right ones pass both judges, faulty ones are found, with the variation that is due."""

from __future__ import annotations

import json
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from known_faults import depth_one, law
from nodebudget.lp import random_instance
from nodebudget.lp.drafting import Drafting, GivenTree, ListedTrees, WithReplacement
from nodebudget.lp.drafting.tuples import drafted_tuples
from nodebudget.verifiers import VERIFIERS
from nodebudget.verifiers.audit import (
    TokenTree,
    TrialInstance,
    as_sampler,
    audit_exact,
    audit_sampler,
    audit_threshold_sampler,
    default_instances,
    token_tree,
)
from nodebudget.verifiers.audit.requests import Backend
from nodebudget.verifiers.audit.token_trees import shown_tree
from nodebudget.verifiers.audit.tree_requests import DrawnTree
from tree_rules import TreeRule, accepts_anyway, recursive, tossed, walk

UNEQUAL = GivenTree([(0,), (1,), (1, 2), (1, 0)])
EITHER = ListedTrees([([(0,), (0, 1)], F(1, 3)), ([(1,)], F(2, 3))])
FLAT = random_instance("flat", 3, 2, seed=4)
P, UNIFORM = law(".5", ".3", ".2"), (F(1, 3),) * 3


def on_one_token(target: Any, draft: Any, drafting: str) -> TrialInstance:
    return TrialInstance("one token", depth_one(target, draft).instance, drafting=drafting)


SIBLINGS = on_one_token(law(".2", ".5", ".2", ".1"), law(".1", ".1", ".1", ".7"), "without:2")
COPIES = on_one_token(law(".4", ".3", ".2", ".1"), law(".1", ".2", ".1", ".6"), "with:2")
UNIFORM_DRAFT = on_one_token(P, UNIFORM, "without:2")

# The first two laws are those of the same faults in the catalogue of known faults, where they are worked out. With a
# uniform draft and two of three tokens drawn without replacement, each token is drafted with 2/3 and drafted first,
# one of the others missing, with 1/6 each: token x is emitted with 2/3 p(x) + (1 - p(x))/6 = p(x)/2 + 1/6, at distance
# (1/12 + 1/60 + 1/15)/2 from p.
FAULTS = [
    ("with replacement on draws without", SIBLINGS, recursive(renormalised=False), 3, F(1, 5)),
    ("copies merged", COPIES, recursive(renormalised=False, merged=True), 3, F(7, 100)),
    ("accepted although another token came up", UNIFORM_DRAFT, accepts_anyway, 2, F(1, 12)),
]
RIGHT = [
    (SIBLINGS, recursive(), 3),
    (COPIES, recursive(renormalised=False), 3),
    (UNIFORM_DRAFT, walk, 2),
]


@pytest.mark.parametrize(
    "drafting",
    ["with:2,2", "without:2,2", "top-sample:2,1", "top:2,2", "delayed:1,2", UNEQUAL, EITHER, GivenTree([])],
    ids=str,
)
def test_nss_passes_as_a_sampler_of_any_drafting(drafting: Any) -> None:
    trial = next(t for t in default_instances(drafting) if t.name == "zero probabilities")
    found = audit_sampler(as_sampler("nss"), [trial], samples=250)
    assert found.passed, str(found)
    (seen,) = found.trials
    assert (seen.paths, seen.drafting) == (None, str(drafting))
    assert seen.optimum is not None
    assert seen.accepted_low <= seen.optimum
    assert f"'zero probabilities', '{drafting}': 250 requests" in str(found)


@pytest.mark.parametrize(
    ("name", "drafting"),
    [("recursive-rejection", "without:2,1"), ("lift:greedy", "top-sample:2,1"), ("bv", "with:2,1")],
)
def test_verifiers_that_ask_what_was_drafted_pass(name: str, drafting: str) -> None:
    found = audit_sampler(as_sampler(name), [TrialInstance("flat", FLAT, drafting=drafting)], samples=250)
    assert found.passed, str(found)


def test_default_instances_fit_the_drafting() -> None:
    found = audit_sampler(tossed(walk, 3), drafting="without:2,1", samples=250)
    assert found.passed, str(found)
    assert len(found.trials) == len(default_instances("without:2,1")) >= 4
    assert {trial.instance.depth for trial in default_instances("without:2,2,1")} == {3}
    assert all(trial.instance.vocab >= 6 for trial in default_instances(GivenTree([(0,), (5,)])))
    assert [trial.paths for trial in default_instances("iid:5")] == [5] * len(default_instances())
    with pytest.raises(ValueError, match=r"no default instance for the drafting top:1,1,1,1,1.*of your own"):
        default_instances("top:1,1,1,1,1")


@pytest.mark.parametrize(("trial", "rule", "coins"), RIGHT)
def test_right_rules_pass_both_judges(trial: TrialInstance, rule: TreeRule, coins: int) -> None:
    exactly = audit_threshold_sampler(rule, trial.instance, drafting=trial.drafting, coins=coins)
    assert exactly.lossless, exactly.faults
    assert audit_sampler(tossed(rule, coins), [trial], samples=1000).passed


@pytest.mark.parametrize(("name", "trial", "rule", "coins", "variation"), FAULTS)
def test_faults_are_found_by_both_judges(
    name: str, trial: TrialInstance, rule: TreeRule, coins: int, variation: F
) -> None:
    exactly = audit_threshold_sampler(rule, trial.instance, drafting=trial.drafting, coins=coins, name=name)
    assert exactly.total_variation == variation
    assert exactly.prefix_matching
    assert not exactly.lossless
    found = audit_sampler(tossed(rule, coins), [trial], name=name)
    assert not found.lossless
    assert found.contract_kept
    assert json.loads(json.dumps(found.to_json()))["trials"][0]["drafting"] == trial.drafting


@pytest.mark.parametrize("drafting", ["without:2,1", "with:2,1", "top-sample:2,1", UNEQUAL, EITHER], ids=str)
def test_nss_by_coins_has_the_law_of_nss(drafting: Drafting | str) -> None:
    found = audit_threshold_sampler(walk, FLAT, drafting=drafting, coins=3)
    wanted = audit_exact("nss", FLAT, drafting=drafting)
    assert found.lossless
    assert np.array_equal(found.joint, wanted.joint)
    assert found.optimum == wanted.optimum


def test_nss_by_coins_attains_the_optimum_of_a_given_tree() -> None:
    tree = FLAT.tree
    best = sum(FLAT.joint_target[tree.find(path)] for path in UNEQUAL.paths)
    for rows in ("exact", "numpy"):
        found = audit_threshold_sampler(walk, FLAT, drafting=UNEQUAL, coins=3, rows=rows)
        assert found.lossless
        assert abs(found.accepted_tokens - best) <= (0 if rows == "exact" else F(1, 10**14))
        assert found.optimum == best


def test_recursive_rejection_down_a_tree() -> None:
    found = audit_threshold_sampler(recursive(), FLAT, drafting="without:2,1", coins=4)
    assert found.lossless, found.faults
    broken = audit_threshold_sampler(recursive(renormalised=False), FLAT, drafting="without:2,1", coins=4)
    assert not broken.target_matching


def test_torch_trees() -> None:
    import torch

    def verify(tree: TokenTree, generator: Any) -> list[int]:
        if not bool(torch.isfinite(tree.target_rows).all() and torch.isfinite(tree.draft_rows).all()):
            raise ValueError("NaN")
        coins = torch.rand(3, generator=generator, dtype=torch.float64).tolist()
        parts = {name: getattr(tree, name).numpy() for name in ("tokens", "parents", "target_rows")}
        return walk(tree._replace(**parts), coins)

    trial = [TrialInstance("flat", FLAT, drafting="with:2,1")]
    assert audit_sampler(verify, trial, samples=250, library="torch").passed
    drawn = DrawnTree.of(FLAT, [(1,), (0,), (1, 2), (0, 0)], WithReplacement(2, 1))
    for name in ("nss", "gbv"):
        given = drawn.request(Backend("torch")).arguments
        emitted = as_sampler(name)(*given, torch.Generator().manual_seed(1))
        assert drawn.has(tuple(emitted[:-1]))

    def by_coins(tree: TokenTree, coins: Any) -> list[int]:
        return [int(torch.searchsorted(tree.target_rows[0].cumsum(0), coins[0]))]

    assert audit_threshold_sampler(by_coins, FLAT, drafting=UNEQUAL, coins=1, rows="torch").lossless


def test_what_a_sampler_of_trees_is_shown() -> None:
    strings = [(1,), (0,), (1,), (1, 2), (1, 0), (0, 0), (0, 0), (1, 2), (1, 1)]
    request = DrawnTree.of(FLAT, strings, WithReplacement(3, 2)).request(Backend())
    (tree,) = request.arguments
    assert tree.tokens.tolist() == [-1, 1, 0, 2, 0, 0, 1]
    assert tree.parents.tolist() == [-1, 0, 0, 1, 1, 2, 1]
    assert tree.copies.tolist() == [1, 2, 1, 2, 1, 2, 1]
    assert tree.drawn.tolist() == [1, 2, 1, 3, 4, 3, 6, 5, 5]
    assert sorted(tree.leaves.tolist()) == [3, 3, 4, 5, 5, 6]
    assert tree.target_rows.shape == (7, 3)
    assert tree.draft_rows.shape == (3, 3)
    assert tree.draft_rows[1].tolist() == [float(x) for x in FLAT.draft_law(FLAT.tree.find((1,)) or 0)]
    assert str(tree.drafting) == "with:3,2"


def test_paths_under_another_name_are_shown_as_paths_in_their_order() -> None:
    drafting = WithReplacement(3, 1)
    seen: dict[Any, F] = {}
    instance = random_instance("flat", 2, 2, seed=1)
    for outcome, mass in drafting.outcomes(instance):
        drawn = DrawnTree.of(instance, map(instance.tree.path, outcome), drafting)
        tree = shown_tree(VERIFIERS["gbv"], drawn.request(Backend()).arguments[0])
        paths = tuple(tree.nodes.path(int(path[-1])) for path in tree.of_paths.path_nodes)
        seen[paths] = seen.get(paths, F(0)) + mass
    wanted: dict[Any, F] = {}
    for leaves, mass in drafted_tuples(instance, 3):
        wanted[tuple(map(instance.tree.path, leaves))] = mass
    assert seen == wanted
    one = shown_tree(VERIFIERS["bv"], drawn.request(Backend()).arguments[0])
    assert one.of_paths.paths == 1


def test_a_sampler_of_trees_is_one_of_paths() -> None:
    trial = TrialInstance("paths", FLAT, 2)
    assert audit_sampler(token_tree(tossed(walk, 3)), [trial], samples=250).passed
    assert audit_sampler(token_tree(as_sampler("gbv")), [trial], samples=250).passed
    same = TrialInstance("paths", FLAT, drafting="with:2,1")
    assert audit_sampler(token_tree(tossed(walk, 3)), [same], samples=250).passed


def test_outputs_that_were_not_drafted_name_the_nodes() -> None:
    def off(tree: TokenTree, coins: Any) -> list[int]:
        return [0, 0, 0]

    found = audit_threshold_sampler(off, FLAT, drafting=UNEQUAL, coins=0)
    assert "for the drafted nodes 0 1 1,0 1,2 it emitted 0,0,0; expected" in found.faults[0]
    assert "the last to be one of the nodes" in found.faults[0]
    seen = audit_sampler(lambda tree, rng: [0, 0, 0], [TrialInstance("flat", FLAT, drafting=UNEQUAL)])
    (fault,) = (fault for fault in seen.faults if fault.property == "prefix-matching")
    assert "for the drafted nodes 0 1 1,0 1,2 it emitted [0, 0, 0]; expected" in fault.message


def test_broken_contracts_are_named() -> None:
    def spoils(tree: TokenTree, generator: Any) -> list[int]:
        emitted = tossed(walk, 3)(tree, generator)
        tree.copies[0] += 1
        return emitted

    trial = [TrialInstance("flat", FLAT, drafting="without:2,1")]
    found = audit_sampler(spoils, trial, samples=250)
    assert [fault.property for fault in found.faults] == ["inputs unchanged"], str(found)
    assert "the copies were changed" in found.faults[0].message

    def accepts_nan(tree: TokenTree, generator: Any) -> list[int]:
        return walk(tree._replace(target_rows=np.nan_to_num(tree.target_rows, nan=1.0)), generator.random(3))

    found = audit_sampler(accepts_nan, trial, samples=250)
    assert {fault.property for fault in found.faults} == {"NaN rows"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drafting": "without:2,1", "instances": [SIBLINGS]}, "drafting: got without:2,1 with instances"),
        (
            {"instances": [SIBLINGS], "batch": 4},
            "batch: got 4 with the drafting without:2 of instance 'one token'",
        ),
        (
            {"instances": [SIBLINGS], "drafter": lambda *_: None},
            "drafter: got one with the drafting without:2",
        ),
        ({"instances": [TrialInstance("none", FLAT)]}, "paths, drafting: got neither"),
        ({"instances": [TrialInstance("both", FLAT, 2, "iid:2")]}, "paths, drafting: got both"),
        (
            {"instances": [TrialInstance("deep", FLAT, drafting="with:2")]},
            "expected one for each of the depth, 2",
        ),
    ],
)
def test_unusable_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        audit_sampler(tossed(walk, 3), **options)


def test_a_verifier_that_is_not_defined_for_a_drafting_says_so() -> None:
    with pytest.raises(ValueError, match=r"gbv needs i\.i\.d\. paths; got without:2"):
        audit_sampler(as_sampler("gbv"), [SIBLINGS])


def test_threshold_samplers_need_the_full_tree() -> None:
    sparse = random_instance("flat", 3, 2, seed=8, zeros=0.3).prune()
    with pytest.raises(ValueError, match="this instance is sparse"):
        audit_threshold_sampler(walk, sparse, drafting=GivenTree([(0,)]), coins=3)
