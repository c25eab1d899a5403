"""The plain race: the same law as the fast one, outcome by outcome; and races done wrong, which the judge finds."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from nodebudget.lp import Instance, random_instance
from nodebudget.lp.drafting import Drafting, GrownTree, IidPaths
from nodebudget.lp.drafting.specs import parse_drafting
from nodebudget.verifiers import DraftTree, Verifier, plain
from nodebudget.verifiers.algorithms import race
from nodebudget.verifiers.audit import audit_exact
from nodebudget.verifiers.plain.fair_rules import fair_rules
from nodebudget.verifiers.plain.races import Pair, Rules
from nodebudget.verifiers.plain.shared import Context, Laws, Outcomes, Row
from nodebudget.verifiers.plain.trees import Drawn, TreeLaw
from nodebudget.verifiers.verifier import ANY_DRAFTING

LEVELS = 4
INSTANCES = {
    "flat": random_instance("flat", 3, 2, seed=4),
    "zeros": random_instance("flat", 3, 2, seed=8, zeros=0.3),
    "p = q": random_instance("identical", 3, 2, seed=3),
    "one-hot": random_instance("flat", 3, 2, seed=9, zeros=1.0),
    "three tokens": random_instance("flat", 2, 3, seed=5, zeros=0.2),
}
SPECS = (
    "with:2,2",
    "with:3,1",
    "without:2,2",
    "without:3,1",
    "top-sample:2,2",
    "top-sample:3,1",
    "delayed:1,2",
    "iid:2",
)


def rules_of(tree: DraftTree) -> Rules:
    assert isinstance(tree.drafting, GrownTree)
    return fair_rules(tree.drafting, tree.nodes.depth, LEVELS)


def twin(tree: DraftTree) -> TreeLaw:
    return partial(plain.race.law, rules=rules_of(tree))


def fitting(spec: str, instance: Instance) -> Drafting:
    counted = spec.split(":")[0] not in ("iid", "delayed")
    return parse_drafting(spec + ",1" * (instance.depth - 2) * counted)


def drafted_tree(instance: Instance, nodes: tuple[int, ...], drafting: Drafting) -> DraftTree:
    strings = [instance.tree.path(node) for node in nodes]
    if isinstance(drafting, IidPaths):
        return DraftTree.from_instance(instance, [x for x in strings if len(x) == instance.depth])
    return DraftTree.from_drawn(instance, strings, drafting)


@pytest.mark.parametrize("case", INSTANCES)
@pytest.mark.parametrize("spec", SPECS)
def test_plain_and_fast_are_one_law(spec: str, case: str) -> None:
    instance = INSTANCES[case]
    drafting = fitting(spec, instance)
    outcomes = list(drafting.outcomes(instance))
    for nodes, _ in outcomes[:: max(1, len(outcomes) // 20)]:
        tree = drafted_tree(instance, nodes, drafting)
        read, fast = plain.on_drawn_tree(twin)(tree), race.law(tree, levels=LEVELS)
        assert (read.joint() == fast.joint()).all(), nodes


@pytest.mark.parametrize("spec", ["with:2,1", "without:3,1", "top-sample:2,2"])
def test_lossless(spec: str) -> None:
    read = Verifier("race", plain.on_drawn_tree(twin), True, "to be read", needs=ANY_DRAFTING)
    found = audit_exact(read, INSTANCES["zeros"], drafting=spec)
    assert found.lossless, found.faults


def looking(tree: DraftTree) -> TreeLaw:
    """At the root the order is turned round where the token 0 was drawn below one of the children."""

    def law(drawn: Drawn, target: Laws, draft: Laws) -> Outcomes:
        rules = rules_of(tree)

        def order(z: Context, q: Row, demand: Row, g: Row) -> list[Pair]:
            pairs = rules.order(z, q, demand, g)
            return pairs[::-1] if not z and any(0 in drawn[(y,)] for y in drawn[()]) else pairs

        return plain.race.law(drawn, target, draft, rules._replace(order=order))

    return law


def merged(tree: DraftTree) -> TreeLaw:
    """Copies are taken for one before they have raced: with the subtree of the first of them."""

    def law(drawn: Drawn, target: Laws, draft: Laws) -> Outcomes:
        once = {z: list(dict.fromkeys(tokens)) for z, tokens in drawn.items()}
        below = {
            z: tokens if not z or drawn[z[:-1]].count(z[-1]) == 1 else tokens[:1]
            for z, tokens in drawn.items()
        }
        return plain.race.law(below | {(): once[()]}, target, draft, rules_of(tree))

    return law


@pytest.mark.parametrize(
    ("kind", "spec"),
    [("looking", "without:2,1"), ("merged", "with:2,1"), ("merged", "iid:2"), ("uneven", "with:2,1")],
)
def test_control_faults_are_found(kind: str, spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "uneven":  # a node's score has the highest level whoever wins

        def highest(a: Any, b: Any, M: int) -> Row:
            return [0] * (M - 1) + [b - a]

        monkeypatch.setattr(plain.race, "overlaps", highest)
    laws = {"looking": looking, "merged": merged, "uneven": twin}
    faulty = Verifier(kind, plain.on_drawn_tree(laws[kind]), True, "a control", needs=ANY_DRAFTING)
    found = audit_exact(faulty, INSTANCES["flat"], drafting=spec)
    assert not found.lossless
    assert found.total_variation > 0


def test_a_law_is_one_for_every_tree() -> None:
    """The laws of the faulty races are laws all the same: what is wrong with them is the average."""
    instance, drafting = INSTANCES["flat"], parse_drafting("with:2,1")
    for nodes, _ in list(drafting.outcomes(instance))[::9]:
        tree = drafted_tree(instance, nodes, drafting)
        for law in (looking, merged, twin):
            assert plain.on_drawn_tree(law)(tree).joint().sum() == 1
