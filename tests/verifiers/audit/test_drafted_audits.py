"""Exact audits of any drafting: the values of the case files, statements 13.3 and 13.4, and lossy laws found."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from known_faults import P, Q, depth_one, everywhere, law
from nodebudget.lp import Instance, load_instance, random_instance
from nodebudget.lp.drafting import Drafting, GivenTree, ListedTrees, best_tree
from nodebudget.lp.drafting.specs import parse_drafting
from nodebudget.verifiers import VERIFIERS, AcceptanceLaw, DraftTree
from nodebudget.verifiers.audit import audit_exact
from nodebudget.verifiers.drafts.tree_nodes import TreeNodes

CASES = sorted((Path(__file__).parents[2] / "cases" / "drafts").glob("*.json"))
MOTIVATING = str(CASES[0].parents[1] / "motivating.json")
FLAT = random_instance("flat", 3, 2, seed=21, zeros=0.2)
UNEQUAL = GivenTree([(0,), (2,), (2, 1), (2, 0)])
EITHER = ListedTrees([([(0,), (0, 1)], F(1, 3)), ([(1,)], F(2, 3))])
Run = Callable[..., tuple[int, str, str]]
DRAFTINGS = ["with:2,2", "without:2,1", "top-sample:2,2", "top:1,2", "delayed:1,3", "iid:2", UNEQUAL, EITHER]


def drafted_mass(instance: Instance, drafting: Drafting) -> F:
    """E of the sum of p(z) over the drafted nodes but the root."""
    trees = drafting.trees(instance)
    return sum((chance * instance.joint_target[z] for nodes, chance in trees for z in nodes if z), F(0))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_nss_has_the_values_of_the_cases(path: Path) -> None:
    instance = load_instance(path)
    entries = [entry for entry in json.loads(path.read_text(encoding="utf-8"))["drafts"] if "nss" in entry]
    assert entries
    for entry in entries:
        found = audit_exact("nss", instance, drafting=entry["draft"])
        assert found.lossless, found.faults
        assert (found.accepted_tokens, found.optimum) == (F(entry["nss"]), F(entry["optimum"]))


@pytest.mark.parametrize("drafting", DRAFTINGS, ids=str)
def test_nss_keeps_the_target_s_mass_of_what_is_drafted(drafting: Drafting | str) -> None:
    """Statement 13.4: E of the sum of p over the tree, by its trees, by F({z}) and by the audit."""
    drafted = parse_drafting(drafting) if isinstance(drafting, str) else drafting
    found = audit_exact("nss", FLAT, drafting=drafting)
    hits = [drafted.hit_probability(FLAT, (z,)) for z in range(1, len(FLAT.tree))]
    by_hits = sum(p * hit for p, hit in zip(FLAT.joint_target[1:], hits, strict=True))
    assert found.lossless
    assert found.accepted_tokens == by_hits == drafted_mass(FLAT, drafted)
    assert found.accepted_tokens <= found.optimum
    assert found.drafting == drafted
    assert found.paths == (2 if drafting == "iid:2" else None)


def test_given_the_tree_nss_is_lossless_and_keeps_its_mass() -> None:
    for nodes, _ in parse_drafting("without:2,2").trees(FLAT):
        given = GivenTree([FLAT.tree.path(z) for z in nodes if z])
        found = audit_exact("nss", FLAT, drafting=given)
        assert found.lossless
        assert found.accepted_tokens == found.optimum == drafted_mass(FLAT, given)


@pytest.mark.parametrize("verifier", [v for v in VERIFIERS.values() if v.name != "nss"], ids=lambda v: v.name)
def test_averaged_over_drafts_only_others_beat_the_mass(verifier: Any) -> None:
    """The control of 13.4: verifiers that are lossless only on average over drafts keep more than NSS."""
    found = audit_exact(verifier, FLAT, drafting="with:2,1")
    same = audit_exact(verifier, FLAT, paths=2)
    assert found.lossless
    assert found.accepted_tokens > drafted_mass(
        FLAT, parse_drafting("iid:2" if verifier.multipath else "iid:1")
    )
    assert np.array_equal(found.joint, same.joint)
    assert found.optimum == same.optimum


def test_half_01_and_half_10() -> None:
    half, one, none = F(1, 2), F(1), F(0)
    target = {(): [half, half], (0,): [none, one], (1,): [one, none]}
    target |= {(x, y): [half, half] for x in (0, 1) for y in (0, 1)}
    instance = Instance.from_laws(2, 2, target, {c: [half, half] for c in [(), (0,), (1,)]})
    found = audit_exact("nss", instance, drafting=GivenTree([(0,), (1,), (0, 1), (1, 0)]))
    assert found.lossless
    assert found.accepted_tokens == found.optimum == 2
    for paths in (1, 2, 3):
        assert audit_exact("nss", instance, drafting=f"iid:{paths}").optimum == 2 - half**paths


def first_drawn(tree: DraftTree) -> AcceptanceLaw:
    """Every node that was drafted first is accepted, whatever the target says."""
    node = 0
    while node < tree.nodes.inner and tree.nodes.drawn[node]:
        node = tree.nodes.drawn[node][0]
    joint = tree.target * 0
    joint[node] = tree.target[node]
    return AcceptanceLaw.from_joint(tree, joint)


def rejection(tree: DraftTree, *, merged: bool) -> AcceptanceLaw:
    """Recursive rejection of draws with replacement on one level, of all copies or with copies merged."""
    p, q = tree.target[0], tree.draft[0]
    joint, reached = tree.target * 0, F(1)
    for child in tree.nodes.children[0] if merged else tree.nodes.drawn[0]:
        token = tree.nodes.token[child]
        accepted = min(F(1), p[token] / q[token])
        joint[child] = joint[child] + reached * accepted * tree.target[child]
        reached = reached * (1 - accepted)
        rest = np.array([max(a - b, F(0)) for a, b in zip(p, q, strict=True)])
        p = rest / rest.sum() if rest.sum() else p
    joint[0] = reached * p
    return AcceptanceLaw.from_joint(tree, joint)


@pytest.mark.parametrize("drafting", ["without:2", "with:2"])
def test_accepting_what_was_drawn_first_is_not_lossless(drafting: str) -> None:
    """The first draw has the draft's law, (.2, .3, .5) for (.5, .3, .2): at distance .3. What follows it is right."""
    found = audit_exact(first_drawn, depth_one(P, Q).instance, drafting=drafting)
    assert not found.lossless
    assert found.total_variation == F(3, 10)
    assert found.accepted_tokens == 1 > found.optimum
    assert any("which no valid verifier exceeds" in fault for fault in found.faults)


def test_accepting_two_draws_is_not_lossless() -> None:
    """Two tokens of the draft's law: the nine products .04 .06 .1 / .06 .09 .15 / .1 .15 .25 for those of the target.

    These are .25 .15 .1 / .15 .09 .06 / .1 .06 .04: distances .21 .09 0 / .09 0 .09 / 0 .09 .21, half of their sum .39.
    """
    instance = everywhere(P, Q, 2, "everywhere").instance
    found = audit_exact(first_drawn, instance, drafting="without:2,1")
    assert not found.lossless
    assert found.total_variation == F(39, 100)


def test_forgetting_copies_is_not_lossless() -> None:
    """p = (.4, .3, .2, .1), q = (.1, .2, .1, .6): only token 3 is rejected, with .6 5/6 = .5; left is (.6, .2, .2, 0).

    Where the second draw is 3 as well (.6), its copy is to be rejected and (.5, 0, .1, 0)/.6 to be emitted from;
    without it (.6, .2, .2, 0) is. So .3 (.6, .2, .2, 0) takes the place of .3 (5/6, 0, 1/6, 0): (-.07, .06, .01, 0).
    """
    instance = depth_one(law(".4", ".3", ".2", ".1"), law(".1", ".2", ".1", ".6")).instance
    for drafting in ("with:2", "iid:2"):
        right = audit_exact(lambda tree: rejection(tree, merged=False), instance, drafting=drafting)
        assert right.lossless, right.faults
        wrong = audit_exact(lambda tree: rejection(tree, merged=True), instance, drafting=drafting)
        assert not wrong.lossless
        assert wrong.prefix_matching
        assert wrong.total_variation == F(7, 100)


def test_draws_without_replacement_are_not_those_with() -> None:
    """p = (.2, .5, .2, .1), q = (.1, .1, .1, .7), two draws that differ.

    Token 3 is drawn first with .7 and accepted with 1/7: .1 and .6. What is left is (.1, .4, .1, 0)/.6; the second
    token is 0, 1 or 2 with 1/3 each, and is always accepted, as its share of what is left is above .1. So the law
    emitted is (.1 + .2, .1 + .2, .1 + .2, .1), at distance .2.
    """
    instance = depth_one(law(".2", ".5", ".2", ".1"), law(".1", ".1", ".1", ".7")).instance
    found = audit_exact(lambda tree: rejection(tree, merged=False), instance, drafting="without:2")
    assert not found.lossless
    assert found.total_variation == F(1, 5)


def test_a_verifier_that_is_not_defined_says_so(run_command: Run) -> None:
    for drafting in ("without:2,1", "with:2,2", UNEQUAL):
        with pytest.raises(ValueError, match=r"^gbv needs i\.i\.d\. paths; got "):
            audit_exact("gbv", FLAT, drafting=drafting)
    code, out, err = run_command("audit", "gbv", MOTIVATING, "--drafting", "without:2,1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "gbv needs i.i.d. paths; got without:2,1" in err


def test_the_command_tells_what_was_drafted(run_command: Run) -> None:
    by_paths, by_drafting, by_name = (
        json.loads(run_command("audit", "gbv", MOTIVATING, *options, "--json")[1])
        for options in (("--paths", "2"), ("--drafting", "iid:2"), ("--drafting", "with:2,1"))
    )
    assert by_paths.items() <= by_drafting.items()
    assert by_drafting.keys() - by_paths.keys() == {"drafting", "nodes_expected", "nodes_most"}
    assert (by_name["paths"], by_name["drafting"]) == (None, "with:2,1")
    assert {key: by_name[key] for key in by_paths if key != "paths"} == {
        key: value for key, value in by_paths.items() if key != "paths"
    }
    code, out, _ = run_command("audit", "nss", MOTIVATING, "--drafting", "top:2,1")
    assert code == 0
    assert ", top:2,1" in out
    assert "OPT_K" not in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "missing option '--paths' or '--drafting'"),
        (("--paths", "2", "--drafting", "iid:2"), "--paths and --drafting both say what is drafted"),
        (("--drafting", "with:2"), "expected one for each of the depth, 2"),
        (("--drafting", "tree:nowhere.json"), "nowhere.json"),
    ],
)
def test_bad_draftings_are_one_line(options: tuple[str, ...], said: str, run_command: Run) -> None:
    code, out, err = run_command("audit", "nss", MOTIVATING, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_drafted_trees_from_what_was_drawn() -> None:
    with pytest.raises(ValueError, match=r"^nodes: the node '1,0' has no parent '1'$"):
        DraftTree.from_drawn(FLAT, [(0,), (1, 0)])
    with pytest.raises(ValueError, match="at most the depth, 2"):
        DraftTree.from_drawn(FLAT, [(0,), (0, 0), (0, 0, 0)])
    tree = DraftTree.from_drawn(FLAT, [(2,), (0,), (2,), (2, 1), (2, 0), (0, 0), (2, 1)])
    nodes = tree.nodes
    assert [nodes.path(z) for z in range(len(nodes))] == [(), (2,), (0,), (2, 1), (2, 0), (0, 0)]
    assert nodes.counts.tolist() == [1, 2, 1, 2, 1, 1]
    assert nodes.drawn == ((1, 2, 1), (3, 4, 3), (5,))
    assert nodes.children == ((1, 2), (3, 4), (5,))
    assert nodes.ends.tolist() == [False, False, False, True, True, True]
    assert TreeNodes([(2,), (2, 1), (0,)]).drawn == ((1, 2), (3,), ())


def test_a_fixed_tree_on_a_sparse_instance() -> None:
    """Nodes without a place on it have no target mass, or are refused."""
    full = random_instance("flat", 3, 3, seed=10, zeros=0.5)
    sparse = full.prune()
    paths = [sparse.tree.path(z) for z in range(1, len(sparse.tree))]
    off = [full.tree.path(z) for z in range(len(full.tree)) if sparse.tree.find(full.tree.path(z)) is None]
    hopeless, wanted = (
        [p for p in off if (full.joint_target[full.tree.find(p)] > 0) == live] for live in (False, True)
    )
    given = GivenTree([*paths, next(path for path in hopeless if path[:-1] in paths)])
    found, same = (audit_exact("nss", instance, drafting=given) for instance in (sparse, full))
    assert found.lossless
    assert found.accepted_tokens == found.optimum == same.accepted_tokens == drafted_mass(full, given)
    with pytest.raises(ValueError, match="to which the target gives probability"):
        audit_exact("nss", sparse, drafting=GivenTree([*paths, next(p for p in wanted if p[:-1] in paths)]))
    with pytest.raises(ValueError, match="this instance is sparse"):
        audit_exact("nss", sparse, drafting="without:2,1,1")


def test_a_tree_of_64_nodes_as_an_engine_drafts_it() -> None:
    instance = random_instance("flat", 4, 5, seed=3)
    paths = list(best_tree(instance, nodes=64).paths)
    random.Random(0).shuffle(paths)
    given = GivenTree(paths)
    ends = {len(path) for path in paths if not any(other[:-1] == path for other in paths)}
    assert (len(paths), len(ends) > 1) == (64, True)
    start = time.perf_counter()
    found = audit_exact("nss", instance, drafting=given)
    assert time.perf_counter() - start < 10  # about a second; the machine may be busy
    assert found.lossless
    assert (
        found.accepted_tokens
        == found.optimum
        == sum(instance.joint_target[instance.tree.find(p)] for p in paths)
    )
    lossy = audit_exact(first_drawn, instance, drafting=given)
    assert not lossy.target_matching
