"""The judge: is a verifier lossless on an instance, and how far is it from the best possible? All in rationals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from nodebudget.lp import Instance, Optimum, accepted_tokens, solve_multi_path, violated_antichains
from nodebudget.lp.antichains import check_paths
from nodebudget.lp.drafting import DraftedTuple, count_drafted_tuples, drafted_leaves, drafted_tuples
from nodebudget.lp.rationals import Array, exact_array, to_fmpq, to_fraction
from nodebudget.lp.trees import format_context
from tqdm import tqdm

from .laws import AcceptanceLaw
from .paths import DraftTree
from .registry import Verifier

TUPLE_LIMIT = 250_000
"""Most drafted tuples that an exact audit goes through."""

RANKING_FROM = 20_000
"""Tuples from which a verifier that picks a path is audited by its ranking instead."""

FAULTS_SHOWN = 10

PickPath = Callable[[DraftTree], tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class ExactAudit:
    """What an exact audit found; every number is a Fraction.

    Attributes:
        verifier: its name.
        paths: number K of drafted paths.
        accepted_tokens: E|Z|.
        optimum: OPT_K, which no valid verifier exceeds.
        prefix_matching: every law is a probability law on prefixes of the drafted paths, and the budgets
            respect D(A) <= f(q(A)) for every antichain A (statement 3.1).
        target_matching: the JOINT law of the next L + 1 tokens is the target's (statement 2.1).
        total_variation: distance of that joint law from the target's.
        budgets: exact array (n,), Pr[z is a prefix of Z].
        joint: exact array (n, V), Pr[Z = z, Y = y].
        faults: what is wrong, in words; empty for a lossless verifier.
    """

    verifier: str
    paths: int
    accepted_tokens: Fraction
    optimum: Fraction
    prefix_matching: bool
    target_matching: bool
    total_variation: Fraction
    budgets: Array
    joint: Array
    faults: tuple[str, ...]

    @property
    def gap(self) -> Fraction:
        """OPT_K minus the accepted tokens; negative only for an invalid verifier."""
        return self.optimum - self.accepted_tokens

    @property
    def lossless(self) -> bool:
        """True when nothing is wrong."""
        return not self.faults


def audit_exact(
    verifier: Verifier, instance: Instance, paths: int, *, optimum: Optimum | None = None
) -> ExactAudit:
    """Go through every drafted tuple and compare the output with the target's, exactly (statements 2.1, 10.1).

    Args:
        verifier: from the registry, or a user's own (`load_verifier`, or a `Verifier` made around a law).
        instance: on the full tree; a float instance is audited on its rational reading.
        paths: number K of drafted paths. A verifier that looks at one path is shown the first only.
        optimum: OPT_K of the instance where it is known already.

    Raises ValueError for paths < 1, a sparse instance, too many tuples, an OPT_K without a certificate, or a
    law function that returns something else than an exact `AcceptanceLaw` of the tree it was given.
    """
    check_paths(paths)
    instance = instance.to_exact()
    best = optimum or solve_multi_path(instance, paths)
    if not best.certified:
        raise ValueError(
            f"the optimum is not certified, so there is nothing exact to compare with: {best.status}"
        )
    joint, faults = _accumulate(verifier, instance, paths if verifier.multipath else 1)
    budgets = _budgets(instance, joint)
    value, ceiling = Fraction(accepted_tokens(budgets)), Fraction(best.value)

    tree = instance.tree
    above = violated_antichains(tree, budgets, instance.joint_draft, paths)
    for found in above[:1]:
        names = ", ".join(repr(format_context(tree.path(node))) for node in found.nodes)
        faults.append(
            f"the budgets of {names} sum to {found.budget}, above the chance that a drafted path passes"
        )
    prefix_matching = not faults
    distance = _distance(instance, joint)
    if distance:
        faults.append(
            f"the next {tree.depth + 1} tokens are at total variation {distance} from the target's law"
        )
        faults += _first_mismatch(instance, joint, budgets)
    if value > ceiling:
        faults.append(f"E|Z| = {value} is above OPT_{paths} = {ceiling}, which no valid verifier exceeds")
    return ExactAudit(
        verifier.name,
        paths,
        value,
        ceiling,
        prefix_matching,
        distance == 0,
        distance,
        budgets,
        joint,
        tuple(faults),
    )


def _accumulate(verifier: Verifier, instance: Instance, paths: int) -> tuple[Array, list[str]]:
    """Pr[Z = z, Y = y] over all that can be drafted, and the laws that are none."""
    tree = instance.tree
    total = np.full((len(tree), tree.vocab), fmpq(0), dtype=object)
    faults: list[str] = []
    every, count = _everything_drafted(verifier, instance, paths)
    for leaves, probability in tqdm(every, total=count, unit="tuple", leave=False, delay=2, disable=None):
        drafted = draft_tree(instance, leaves)
        try:
            law = verifier.law(drafted)
            if not isinstance(law, AcceptanceLaw) or law.tree is not drafted:
                raise TypeError(f"got {type(law).__name__}")
            table = _working_joint(law)
        except (Exception, SystemExit) as error:  # whatever a user's function does
            shown = " | ".join(format_context(tree.path(leaf)) for leaf in leaves)
            raise ValueError(
                f"{verifier.name} failed on the drafted paths {shown}: {type(error).__name__}: {error}; "
                "expected the AcceptanceLaw of the tree it was given"
            ) from error
        if len(faults) < FAULTS_SHOWN and (
            sum(table.ravel()) != 1 or any(mass < 0 for mass in table.ravel())
        ):
            shown = " | ".join(format_context(tree.path(leaf)) for leaf in leaves)
            faults.append(
                f"for the drafted paths {shown} the law is negative somewhere or does not sum to one"
            )
        total[_places(instance, drafted)] += to_fmpq(probability) * table
    return exact_array(total.ravel()).reshape(total.shape), faults


def _everything_drafted(
    verifier: Verifier, instance: Instance, paths: int
) -> tuple[Iterable[tuple[DraftedTuple, Fraction]], int]:
    """Drafted tuples with their probabilities, as few as the verifier allows, and how many they are."""
    count = count_drafted_tuples(instance, paths, ordered=verifier.ordered)
    if verifier.pick_path is not None and count > RANKING_FROM:
        ranked = list(picks(verifier.pick_path, instance, paths))
        return ranked, len(ranked)
    if count > TUPLE_LIMIT:
        raise ValueError(
            f"{paths} paths of this instance can be drafted in {count} ways; an exact audit goes through at most "
            f"{TUPLE_LIMIT} (take fewer paths or a smaller instance)"
        )
    return drafted_tuples(instance, paths, ordered=verifier.ordered), count


def draft_tree(instance: Instance, leaves: DraftedTuple) -> DraftTree:
    """The drafted tree of these leaves of an instance."""
    return DraftTree.from_instance(instance, [instance.tree.path(leaf) for leaf in leaves])


def picks(pick_path: PickPath, instance: Instance, paths: int) -> Iterator[tuple[DraftedTuple, Fraction]]:
    """For a verifier that picks the highest-ranked path: each leaf, K times over, with the chance of its pick.

    The ranking is read off the picks among two, in both orders and for every pair of leaves; the highest of K
    i.i.d. paths is then the leaf z with probability (A + x)^K - A^K (statement 6.2).

    Raises ValueError where the picks among two are not one strict ranking: such a selection depends on the
    drafting order, or has cycles.
    """

    def better(first: int, second: int) -> int:
        drafted = draft_tree(instance, (first, second))
        return (
            first
            if drafted.nodes.path(int(pick_path(drafted)[0][-1])) == instance.tree.path(first)
            else second
        )

    leaves = drafted_leaves(instance)
    wins = dict.fromkeys(leaves, 0)
    for first, second in itertools.combinations(leaves, 2):
        winner = better(first, second)
        if better(second, first) != winner:
            raise ValueError("the picked path depends on the order in which paths were drafted")
        wins[winner] += 1
    if sorted(wins.values()) != list(range(len(leaves))):
        raise ValueError("the picks among two paths are not one ranking of all paths")
    below = Fraction(0)
    for leaf in sorted(leaves, key=lambda leaf: wins[leaf]):
        upto = below + instance.joint_draft[leaf]
        yield (leaf,) * paths, upto**paths - below**paths
        below = upto


def _working_joint(law: AcceptanceLaw) -> Array:
    stop, rows = law.working()
    return np.asarray(stop[:, None] * rows(law.tree.arrays.positions(len(law.tree.nodes))))


def _places(instance: Instance, drafted: DraftTree) -> list[int]:
    """The instance's node of each drafted node; on the full tree children are numbered by their tokens."""
    first_child = instance.tree.first_child
    places = [0]
    for above, token in zip(drafted.nodes.parent[1:], drafted.nodes.token[1:], strict=True):
        places.append(int(first_child[places[above]]) + int(token))
    return places


def _budgets(instance: Instance, joint: Array) -> Array:
    """D(z): the mass of Z at or below z."""
    tree = instance.tree
    budgets = np.array([sum(map(to_fmpq, row), fmpq(0)) for row in joint], dtype=object)
    for d in range(tree.depth - 1, -1, -1):
        budgets[tree.level(d)] += tree.sum_children(budgets, d)
    return exact_array(budgets)


def _distance(instance: Instance, joint: Array) -> Fraction:
    """Total variation of the next L + 1 tokens, the rest drawn from the target, from the target's law."""
    tree = instance.tree

    def below(node: int, left: fmpq) -> Any:
        """Twice the distance on the strings through a node that the output reaches with mass `left`.

        `left` is the mass of outputs through the node that left the draft at or before it.
        """
        wanted = to_fmpq(instance.joint_target[node])
        target = instance.target_law(node)
        total = fmpq(0)
        for y in range(tree.vocab):
            emitted = left * to_fmpq(target[y]) + to_fmpq(joint[node, y])
            if node in tree.leaves:
                total += abs(emitted - wanted * to_fmpq(target[y]))
            else:
                total += below(int(tree.first_child[node]) + y, emitted)
        return total

    return to_fraction(below(0, fmpq(0)) / 2)


def _first_mismatch(instance: Instance, joint: Array, budgets: Array) -> list[str]:
    """Where statement 2.1, Pr[Z = z, Y = y] = D(z) p(y|z) - D(zy), fails first."""
    tree = instance.tree
    for node in range(len(tree)):
        target = instance.target_law(node)
        for y in range(tree.vocab):
            budget = Fraction(0) if node in tree.leaves else budgets[int(tree.first_child[node]) + y]
            wanted = budgets[node] * target[y] - budget
            if joint[node, y] != wanted:
                name = format_context(tree.path(node))
                return [
                    f"stopping at {name!r} and emitting {y} has probability {joint[node, y]}; 2.1 asks {wanted}"
                ]
    return []
