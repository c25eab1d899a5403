"""Checks of sections 14 and 15: rules at one node, the walk down with them, and their lift."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from nodebudget.lp import Instance
from nodebudget.lp.drafting import (
    Drafting,
    GrownTree,
    LikeliestAndSample,
    WithoutReplacement,
    WithReplacement,
)
from nodebudget.lp.drafting.grown import Counted
from nodebudget.lp.drafting.supports import support
from nodebudget.lp.numbers.rationals import exact_array, fmpq_array, to_fraction
from nodebudget.verifiers import DraftTree, TreeNodes, Verifier, expected_accepted, get_verifier
from nodebudget.verifiers.algorithms.one_step import answer
from nodebudget.verifiers.algorithms.residuals import residual_rows
from nodebudget.verifiers.audit import ExactAudit, audit_exact

from .drafts import cases, certified
from .grid import Case, Grid
from .statement import Outcome, Statement

RULES = ("nss", "recursive-rejection", "greedy", "transport")
"""The verifiers with one-step rules that are checked, by name."""

WEIGHTS = (Fraction(1), Fraction(3, 5), Fraction(1, 7))
"""Weights of a node at which rules are asked."""

OUTCOMES = 40
"""Most outcomes of a drafting that are gone through."""


def defined(name: str, drafting: Drafting) -> bool:
    return bool(get_verifier(name).needs.met(drafting))


def audited(grid: Grid) -> Iterator[tuple[Case, Drafting, str]]:
    """The small cases with the draftings and the rules that are defined for them."""
    for case, drafting in cases(grid):
        if not isinstance(drafting, GrownTree) or drafting.count_outcomes(case.instance) > OUTCOMES:
            continue
        yield from ((case, drafting, name) for name in RULES if defined(name, drafting))


def audit(case: Case, drafting: Drafting, name: str) -> ExactAudit:
    return audit_exact(
        get_verifier(name), case.instance, drafting=drafting, optimum=certified(case, drafting)
    )


def value(case: Case, drafting: Drafting, name: str) -> Fraction:
    """Accepted tokens, without the verdict of an audit."""
    return Fraction(expected_accepted(get_verifier(name), case.instance, drafting=drafting))


def expect_lossless(outcome: Outcome, found: ExactAudit, case: Case, drafting: Drafting) -> None:
    label = f"{found.verifier} on {case.label}, {drafting}"
    outcome.expect(not found.faults, f"{label}: {' '.join(found.faults)}")
    outcome.expect(found.gap >= 0, f"{label}: accepts more than the optimum")


def check_walk(grid: Grid) -> Outcome:
    outcome = Outcome()
    for case, drafting, name in audited(grid):
        outcome.instances += 1
        expect_lossless(outcome, audit(case, drafting, name), case, drafting)
    return outcome


def check_lift(grid: Grid) -> Outcome:
    """Lossless; whether it is ever worse than the walk is a finding, not a statement."""
    outcome, more, less = Outcome(), 0, 0
    for case, drafting, name in audited(grid):
        outcome.instances += 1
        lifted = audit(case, drafting, f"lift:{name}")
        expect_lossless(outcome, lifted, case, drafting)
        walked = value(case, drafting, name)
        more += lifted.accepted_tokens > walked
        less += lifted.accepted_tokens < walked
    outcome.expect(more > 0, "the lift must accept more than the walk somewhere")
    outcome.note = f"more than the walk in {more} of {outcome.instances}, less in {less}"
    return outcome


def one_draw(depth: int) -> list[tuple[str, Drafting]]:
    ones = (1,) * depth
    return [
        ("recursive-rejection", WithReplacement(*ones)),
        ("recursive-rejection", WithoutReplacement(*ones)),
        ("greedy", LikeliestAndSample(*ones)),
        ("transport", WithReplacement(*ones)),
    ]


def check_one_draw(grid: Grid) -> Outcome:
    """The whole law of (Z, Y), not only its value."""
    outcome = Outcome()
    for case in [case for case in grid.cases if len(case.instance.tree) <= 13][::2]:
        block = audit_exact("bv", case.instance, 1)
        for name, drafting in one_draw(case.instance.depth):
            outcome.instances += 1
            lifted = audit(case, drafting, f"lift:{name}")
            same = bool((lifted.joint == block.joint).all())
            outcome.expect(same, f"the lift of {name} on {case.label}, {drafting} is not block verification")
    return outcome


def answers(
    verifier: Verifier, instance: Instance, node: int, drafting: GrownTree, weight: Fraction
) -> Iterator[tuple[list[int], Any, list[Any], Any]]:
    """What a rule answers at a node: drawn tokens, their probability, A(y|c) of all tokens, and A(none|c)."""
    count = drafting.counts(instance.depth)[int(instance.tree.lengths[node])]
    here = type(drafting)(count) if isinstance(drafting, Counted) else WithReplacement(count)
    target, draft = (
        fmpq_array(law)[None, :] for law in (instance.target_law(node), instance.draft_law(node))
    )
    below = support(instance, node)
    for places, chance in drafting.drawn(below, count):
        tokens = [below.tokens[place] for place in places]
        nodes = TreeNodes([(y,) for y in tokens])
        leaves = np.repeat(target, len(nodes) - 1, axis=0)
        tree = DraftTree(nodes, np.concatenate([target, leaves]), draft, drafting=here, check=False)
        assert verifier.one_step is not None
        rule = verifier.one_step(tree)
        w, rest = (tree.arrays.from_host([value]) for value in (weight, 1 - weight))
        found = answer(tree, rule, nodes.by_draws[0], w, rest)
        row = residual_rows(tree, nodes.by_draws, [found.residual])(tree.arrays.index([0]))[0]
        law = [found.leave[0] * mass for mass in row]
        for token, mass in zip(tokens, found.tokens[0], strict=True):
            law[token] = mass
        assert found.none is not None
        yield tokens, chance, law, found.none[0]


def check_rule(grid: Grid, name: str) -> Outcome:
    """E A(y|c) = W p(y), and "none" has 1 - W, at the root and at a node below it."""
    outcome, verifier = Outcome(), get_verifier(name)
    for case, drafting, listed in audited(grid):
        if listed != name:
            continue
        assert isinstance(drafting, GrownTree)
        for weight in WEIGHTS:
            outcome.instances += 1
            instance = case.instance
            total, none = [Fraction(0)] * instance.vocab, Fraction(0)
            for _, chance, law, rest in answers(verifier, instance, 0, drafting, weight):
                share = to_fraction(chance)
                total = [known + share * to_fraction(mass) for known, mass in zip(total, law, strict=True)]
                none += share * to_fraction(rest)
            label = f"{name} on {case.label}, {drafting}, W = {weight}"
            wanted = [weight * mass for mass in exact_array(instance.target_law(0))]
            outcome.expect(total == wanted, f"{label}: the emitted token has the law {total}, not {wanted}")
            outcome.expect(none == 1 - weight, f"{label}: none has the mass {none}")
    return outcome


def check_recursive_rejection(grid: Grid) -> Outcome:
    return check_rule(grid, "recursive-rejection")


def check_greedy(grid: Grid) -> Outcome:
    return check_rule(grid, "greedy")


def check_transport(grid: Grid) -> Outcome:
    return check_rule(grid, "transport")


def check_most_at_a_node(grid: Grid) -> Outcome:
    """What transport accepts at the root is the min over S of F(S) + W p(off S), for all S."""
    outcome = Outcome()
    for case, drafting, name in audited(grid):
        if name != "transport":
            continue
        assert isinstance(drafting, GrownTree)
        instance = case.instance
        law = list(instance.target_law(0))
        children = list(instance.tree.children(0))
        for weight in WEIGHTS:
            outcome.instances += 1
            accepted = Fraction(0)
            for tokens, chance, emitted, _ in answers(get_verifier(name), instance, 0, drafting, weight):
                accepted += to_fraction(chance) * sum(to_fraction(emitted[y]) for y in set(tokens))
            most = min(
                drafting.hit_probability(
                    instance, tuple(z for z, kept in zip(children, chosen, strict=True) if kept)
                )
                + weight * sum((p for p, kept in zip(law, chosen, strict=True) if not kept), Fraction(0))
                for chosen in itertools.product((False, True), repeat=len(children))
            )
            # A token that leads out of its acceptance into the residual may still be one that was drawn.
            outcome.expect(
                accepted == most, f"{case.label}, {drafting}, W = {weight}: {accepted}, not {most}"
            )
    return outcome


def check_value_of_the_lift(grid: Grid) -> Outcome:
    """V(z, W) = E sum_j [a_j + (1 - a_1 - .. - a_(j-1)) V(z t_j, W(z t_j))], for draws without copies below a node."""
    outcome = Outcome()

    def below(name: str, instance: Instance, node: int, drafting: GrownTree, weight: Fraction) -> Fraction:
        if node in instance.tree.leaves:
            return Fraction(0)
        total = Fraction(0)
        for tokens, chance, law, _ in answers(get_verifier(name), instance, node, drafting, weight):
            left, worth = Fraction(1), Fraction(0)
            for token in dict.fromkeys(tokens):
                a = to_fraction(law[token])
                child = instance.tree.child(node, token)
                assert child is not None
                under = below(name, instance, child, drafting, a / left) if left else Fraction(0)
                worth += a + left * under
                left -= a
            total += to_fraction(chance) * worth
        return total

    for case, drafting, name in audited(grid):
        if isinstance(drafting, WithoutReplacement | LikeliestAndSample) and name != "nss":
            outcome.instances += 1
            found = below(name, case.instance, 0, drafting, Fraction(1))
            lifted = value(case, drafting, f"lift:{name}")
            outcome.equal(found, lifted, f"lift of {name} on {case.label}, {drafting}")
    return outcome


STATEMENTS = (
    Statement("14.1", "the walk down with a one-step rule is lossless", check_walk),
    Statement("14.2", "the lift of a one-step rule is lossless", check_lift),
    Statement("14.3", "with one draw the lift is block verification", check_one_draw),
    Statement("14.4", "the value of the lift", check_value_of_the_lift),
    Statement("15.1", "transport accepts the most that is possible at a node", check_most_at_a_node),
    Statement("15.2", "recursive rejection emits W p at a node", check_recursive_rejection),
    Statement("15.3", "greedy tree sampling emits W p at a node", check_greedy),
    Statement("15.5", "fair transport emits W p at a node", check_transport),
)
