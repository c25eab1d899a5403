"""The plain verifiers of drafted trees: the same laws as the fast ones, outcome by outcome, and lossless."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import pytest
from nodebudget.lp import Instance, random_instance
from nodebudget.lp.drafting import Drafting, LikeliestAndSample, ListedTrees, WithoutReplacement
from nodebudget.lp.drafting.specs import parse_drafting
from nodebudget.verifiers import DraftTree, Verifier, get_verifier, plain
from nodebudget.verifiers.audit import audit_exact
from nodebudget.verifiers.plain.shared import Laws, Outcomes, Row
from nodebudget.verifiers.plain.trees import Drawn, TreeLaw
from nodebudget.verifiers.verifier import ANY_DRAFTING

INSTANCES = {
    "flat": random_instance("flat", 3, 2, seed=4),
    "zeros": random_instance("flat", 3, 2, seed=8, zeros=0.3),
    "p = q": random_instance("identical", 3, 2, seed=3),
    "one-hot": random_instance("flat", 3, 2, seed=9, zeros=1.0),
    "three tokens": random_instance("flat", 2, 3, seed=5, zeros=0.2),
}


def recursive(tree: DraftTree) -> TreeLaw:
    lost = isinstance(tree.drafting, WithoutReplacement)
    return plain.recursive_rejection.law_without if lost else plain.recursive_rejection.law


def greedy(tree: DraftTree) -> TreeLaw:
    return partial(plain.greedy.law, counts=counts_of(tree))


def lifted_recursive(tree: DraftTree) -> TreeLaw:
    lost = isinstance(tree.drafting, WithoutReplacement)
    emit = plain.recursive_rejection.emit_without if lost else plain.specinfer.emit
    return partial(plain.lift.law, emit=emit)


def lifted_greedy(tree: DraftTree) -> TreeLaw:
    counts = counts_of(tree)

    def law(drawn: Drawn, target: Laws, draft: Laws) -> Outcomes:
        ms = plain.trees.off_top(drawn, draft, counts)
        return plain.lift.law(drawn, target, ms, plain.greedy.emit)

    return law


def transport(tree: DraftTree) -> TreeLaw:
    if isinstance(tree.drafting, LikeliestAndSample):
        return partial(plain.transport_sample.law, counts=counts_of(tree))
    return plain.transport.law


def lifted_transport(tree: DraftTree) -> TreeLaw:
    if not isinstance(tree.drafting, LikeliestAndSample):
        return partial(plain.lift.law, emit=plain.transport.emit)
    counts = counts_of(tree)

    def law(drawn: Drawn, target: Laws, draft: Laws) -> Outcomes:
        ms = plain.trees.off_top(drawn, draft, counts)
        return plain.lift.law(drawn, target, ms, plain.transport_sample.emit)

    return law


def counts_of(tree: DraftTree) -> tuple[int, ...]:
    assert isinstance(tree.drafting, LikeliestAndSample)
    return tree.drafting.children


DRAWS = ("with:2,2", "with:3,1", "without:2,2", "without:3,1")
PAIRS = ("top-sample:2,2", "without:2,2")
INDEPENDENT = ("iid:2", "with:2,2", "with:3,1", "top-sample:2,2")
TWINS: dict[str, tuple[Callable[[DraftTree], TreeLaw], tuple[str, ...]]] = {
    "recursive-rejection": (recursive, DRAWS),
    "greedy": (greedy, ("top-sample:2,2", "top-sample:3,1")),
    "lift:recursive-rejection": (lifted_recursive, DRAWS),
    "univer": (lifted_greedy, ("top-sample:2,2", "top-sample:3,1")),
    "lift:greedy": (lifted_greedy, ("top-sample:1,2",)),
    "spechub": (lambda tree: plain.spechub.law, PAIRS),
    "lift:spechub": (lambda tree: partial(plain.lift.law, emit=plain.spechub.emit), PAIRS),
    "transport": (transport, INDEPENDENT),
    "lift:transport": (lifted_transport, INDEPENDENT),
}
CASES = [(name, spec, case) for name, (_, specs) in TWINS.items() for spec in specs for case in INSTANCES]


def fitting(spec: str, instance: Instance) -> Drafting:
    if spec.startswith("iid"):
        return parse_drafting(spec)
    last = spec.rpartition(",")[2] if spec == "top-sample:2,2" else "1"
    return parse_drafting(spec + f",{last}" * (instance.depth - 2))


@pytest.mark.parametrize(("name", "spec", "case"), CASES)
def test_plain_and_fast_are_one_law(name: str, spec: str, case: str) -> None:
    instance = INSTANCES[case]
    drafting = fitting(spec, instance)
    read, fast = plain.on_drawn_tree(TWINS[name][0]), get_verifier(name).law
    outcomes = list(drafting.outcomes(instance))
    for nodes, _ in outcomes[:: max(1, len(outcomes) // 60)]:
        tree = DraftTree.from_drawn(instance, [instance.tree.path(node) for node in nodes], drafting)
        assert (read(tree).joint() == fast(tree).joint()).all(), nodes


@pytest.mark.parametrize("name", TWINS)
def test_lossless(name: str) -> None:
    twin, specs = TWINS[name]
    read = Verifier(name, plain.on_drawn_tree(twin), True, "to be read", needs=ANY_DRAFTING)
    found = audit_exact(read, INSTANCES["zeros"], drafting=specs[-1])
    assert found.lossless, found.faults
    assert found.gap >= 0


@pytest.mark.parametrize("spec", ["with:1,1", "without:1,1", "top-sample:1,1"])
def test_one_draw_is_token_verification_and_its_lift_is_block_verification(spec: str) -> None:
    """Statement 14.3."""
    for name in ("greedy" if spec.startswith("top") else "recursive-rejection", "transport"):
        for case in ("flat", "zeros", "one-hot"):
            instance = INSTANCES[case]
            for one, other in ((name, "token"), (f"lift:{name}", "bv")):
                found, wanted = audit_exact(one, instance, drafting=spec), audit_exact(other, instance, 1)
                assert (found.joint == wanted.joint).all()


def test_of_paths_recursive_rejection_is_specinfer() -> None:
    instance = INSTANCES["zeros"]
    for other in ("iid:2", "with:2,1"):
        found = audit_exact("recursive-rejection", instance, drafting=other)
        assert (found.joint == audit_exact("specinfer", instance, 2).joint).all()


def faulty(kind: str) -> tuple[Verifier, str]:
    """A plain verifier with one step done wrong, and a drafting on which that shows."""
    rejection, lift = plain.recursive_rejection, plain.lift

    def kept(r: Row, d: Row, tokens: list[int]) -> Row:
        return plain.specinfer.emit(r, d, tokens)

    def merged(r: Row, d: Row, tokens: list[int]) -> Row:
        return plain.specinfer.emit(r, d, list(dict.fromkeys(tokens)))

    def forgetful(drawn: Drawn, target: Laws, draft: Laws) -> Outcomes:
        """The lift with the weight a_j instead of a_j / (1 - a_1 - .. - a_(j-1)): siblings forgotten."""
        out: Outcomes = {}
        a = rejection.emit_without(target(()), draft(()), drawn[()])
        failed: Fraction | int = 1
        for t in drawn[()]:
            for y, mass in enumerate(target((t,))):
                out[(t,), y] = failed * a[t] * mass
            failed *= 1 - a[t]
        off = {y: mass for y, mass in enumerate(a) if y not in drawn[()]}
        for y, mass in off.items():
            out[(), y] = failed * mass / sum(off.values()) if sum(off.values()) else 0
        if not any(off.values()):
            out[(), 0] = failed
        return out

    laws: dict[str, tuple[TreeLaw, str]] = {
        "not renormalised": (partial(walk_with, kept), "without:2,1"),
        "copies merged": (partial(walk_with, merged), "with:2,1"),
        "copies merged under the lift": (partial(lift.law, emit=merged), "with:2,1"),
        "siblings forgotten": (forgetful, "without:2"),
    }
    law, spec = laws[kind]
    return Verifier(kind, plain.on_drawn_tree(lambda tree: law), True, "a control", needs=ANY_DRAFTING), spec


def walk_with(
    emit: Callable[[Row, Row, list[int]], Row], drawn: Drawn, target: Laws, draft: Laws
) -> Outcomes:
    return plain.trees.walk(drawn, target, draft, emit)


@pytest.mark.parametrize(
    "kind", ["not renormalised", "copies merged", "copies merged under the lift", "siblings forgotten"]
)
def test_control_faults_are_found(kind: str) -> None:
    verifier, spec = faulty(kind)
    instance = random_instance("flat", 3, spec.count(",") + 1, seed=4)
    found = audit_exact(verifier, instance, drafting=spec)
    assert not found.lossless
    assert found.total_variation > 0


def test_lift_refuses_what_has_no_rule_and_suffixes_that_are_shared() -> None:
    with pytest.raises(
        ValueError, match="lift: got gbv, which has no one-step rule; expected one of nss, specinfer"
    ):
        get_verifier("lift:gbv")
    suffixes = ([(0,), (1,), (0, y), (1, y)] for y in range(2))
    shared = ListedTrees([(tree, Fraction(1, 2)) for tree in suffixes])
    with pytest.raises(ValueError, match="lift:nss needs a tree grown node by node; got trees:2"):
        audit_exact("lift:nss", INSTANCES["flat"], drafting=shared)
