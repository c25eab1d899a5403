"""The judge: is a verifier lossless on an instance, and how far is it from the best possible? All in rationals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from joblib import Parallel, delayed
from nodebudget.lp import Instance, Optimum, solve_multi_path
from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.drafting.tuples import (
    DraftedTuple,
    check_count,
    count_drafted_tuples,
    drafted_leaves,
    drafted_tuples,
)
from nodebudget.lp.instances.arguments import check_kind
from nodebudget.lp.instances.instance import check_instance
from nodebudget.lp.instances.progress import progress
from nodebudget.lp.instances.trees import format_context
from nodebudget.lp.numbers.rationals import Array, exact_array, fmpq_array, to_fmpq, to_fraction

from ..drafts.laws import AcceptanceLaw
from ..drafts.nodes import PathNodes
from ..drafts.paths import DraftTree
from ..registry import as_verifier
from ..verifier import LawFunction, Verifier
from .judgement import ExactAudit, judge

RANKING_FROM = 20_000
"""Tuples from which a verifier that picks a path is audited by its ranking instead."""

SCORES_FROM = 5_000
"""Tuples from which a verifier that picks a path by scores is audited by their distribution instead."""

PROCESSES_FROM = 2_000
"""Tuples from which other processes are worth starting."""

TUPLES_PER_TASK = 50
"""Tuples that a process goes through at a time, and after which progress is shown: a few seconds at most."""

FAULTS_SHOWN = 10

INSTEAD = "take fewer paths or a smaller instance"

PickPath = Callable[[DraftTree], Any]
"""From drafted paths to the nodes of the picked one, from the root to its leaf."""

Scores = Callable[[DraftTree], tuple[Any, Any, Any]]


def audit_exact(
    verifier: Verifier | LawFunction | str,
    instance: Instance,
    paths: int,
    *,
    optimum: Optimum | None = None,
    workers: int = 1,
) -> ExactAudit:
    """Go through every drafted tuple and compare the output with the target's, exactly (statements 2.1, 10.1).

    Args:
        verifier: from the registry or its name, or a user's own: a `Verifier` or a law function.
        instance: on the full tree; a float instance is audited on its rational reading.
        paths: number K of drafted paths. A verifier that looks at one path is shown the first only.
        optimum: OPT_K of the instance where it is known already.
        workers: processes that share the drafted tuples where they are many; the answer is the same.

    Where it takes more than two seconds, a progress bar appears on stderr, on a terminal or in a notebook.

    Raises ValueError for arguments of another kind, paths < 1, a sparse instance, too many tuples, an OPT_K without
    a certificate, or a law function that returns something else than an exact `AcceptanceLaw` of the tree it was
    given.
    """
    verifier = as_verifier(verifier)
    check_instance(instance)
    check_paths(paths)
    instance = instance.to_exact()
    best = certified_value(optimum or solve_multi_path(instance, paths))
    joint, faults = _accumulate(verifier, instance, paths if verifier.multipath else 1, workers)
    return judge(verifier.name, instance, paths, joint, faults, best)


def certified_value(optimum: Optimum) -> Fraction:
    """The value of a certified optimum; ValueError for another one."""
    check_kind("optimum", optimum, Optimum, "an Optimum, as solve_multi_path gives it")
    if not optimum.certified:
        raise ValueError(
            f"the optimum is not certified, so there is nothing exact to compare with: {optimum.verdict}"
        )
    return Fraction(optimum.value)


def shown_paths(instance: Instance, leaves: DraftedTuple) -> str:
    """Drafted paths as text, for messages."""
    return " | ".join(format_context(instance.tree.path(leaf)) for leaf in leaves)


def _accumulate(verifier: Verifier, instance: Instance, paths: int, workers: int) -> tuple[Array, list[str]]:
    """Pr[Z = z, Y = y] over all that can be drafted, and the laws that are none."""
    every, count = _everything_drafted(verifier, instance, paths)
    parallel = Parallel(n_jobs=workers if count > PROCESSES_FROM else 1, return_as="generator")
    parts = parallel(
        delayed(_part)(verifier, instance, tuples) for tuples in _in_parts(every, TUPLES_PER_TASK)
    )
    total = np.full((len(instance.tree), instance.tree.vocab), Fraction(0), dtype=object)
    faults: list[str] = []
    with progress("tuple", count) as bar:
        for tuples, part, wrong in parts:
            total = total + part
            faults += wrong
            bar.update(tuples)
    return total, faults[:FAULTS_SHOWN]


def _in_parts(every: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(every)
    while part := list(itertools.islice(rest, size)):
        yield part


def _part(
    verifier: Verifier, instance: Instance, tuples: list[tuple[DraftedTuple, Fraction]]
) -> tuple[int, Array, list[str]]:
    """How many drafted tuples these are, their share of Pr[Z = z, Y = y], and the laws that are none."""
    tree = instance.tree
    target = _stacked([instance.target_law(node) for node in range(len(tree))])
    draft = _stacked([instance.draft_law(node) for node in range(tree.leaves.start)])
    total = np.full((len(tree), tree.vocab), fmpq(0), dtype=object)
    faults: list[str] = []
    for leaves, probability in tuples:
        nodes = PathNodes([tree.path(leaf) for leaf in leaves])
        places = _places(instance, nodes)
        drafted = DraftTree(nodes, target[places], draft[places[: nodes.inner]], check=False)
        table = verifier.ask(drafted, _working_joint)
        if len(faults) < FAULTS_SHOWN and (
            sum(table.ravel()) != 1 or any(mass < 0 for mass in table.ravel())
        ):
            faults.append(
                f"for the drafted paths {shown_paths(instance, leaves)} the law is negative somewhere or does "
                "not sum to one"
            )
        total[places] += to_fmpq(probability) * table
    return len(tuples), exact_array(total.ravel()).reshape(total.shape), faults


def _everything_drafted(
    verifier: Verifier, instance: Instance, paths: int
) -> tuple[Iterable[tuple[DraftedTuple, Fraction]], int]:
    """Drafted tuples with their probabilities, as few as the verifier allows, and how many they are."""
    count = count_drafted_tuples(instance, paths, ordered=verifier.ordered)
    if verifier.pick_path is not None and count > RANKING_FROM:
        ranked = list(picks(verifier.pick_path, instance, paths))
        return ranked, len(ranked)
    if verifier.scores is not None and count > SCORES_FROM:
        scored = list(scored_picks(verifier.scores, instance, paths))
        return scored, len(scored)
    check_count(count, paths, INSTEAD)
    return drafted_tuples(instance, paths, ordered=verifier.ordered), count


def draft_tree(instance: Instance, leaves: DraftedTuple) -> DraftTree:
    """The drafted tree of these leaves of an instance."""
    check_instance(instance)
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
            first if drafted.nodes.path(int(pick_path(drafted)[-1])) == instance.tree.path(first) else second
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


def scored_picks(scores: Scores, instance: Instance, paths: int) -> Iterator[tuple[DraftedTuple, Fraction]]:
    """For a verifier that picks the largest score: each leaf, K times over, with the chance of its pick.

    The scores of a leaf are read off the tree of K paths to it. Where in each family of orderings they are
    uniform under the draft, the largest of K has the distribution function t^K (statement 12.1).

    Raises ValueError where they are not uniform: what the largest one's path then is, this does not say.
    """
    leaves = drafted_leaves(instance)
    found = []
    for leaf in leaves:
        probability, low, length = scores(draft_tree(instance, (leaf,) * paths))
        found.append((list(low[0]), list(length[0])))
    families = len(probability)
    joint = {leaf: to_fmpq(instance.joint_draft[leaf]) for leaf in leaves}
    for r in range(families):
        # The density of scores: a step up where a leaf's interval starts, a step down where it ends.
        steps: dict[fmpq, fmpq] = {}
        for leaf, (low, length) in zip(leaves, found, strict=True):
            rise = joint[leaf] / length[r]
            steps[low[r]] = steps.get(low[r], fmpq(0)) + rise
            steps[low[r] + length[r]] = steps.get(low[r] + length[r], fmpq(0)) - rise
        if {end: step for end, step in steps.items() if step} != {fmpq(0): fmpq(1), fmpq(1): fmpq(-1)}:
            raise ValueError("the scores of the drafted paths are not uniform under the draft")
    for leaf, (low, length) in zip(leaves, found, strict=True):
        chance = sum(
            (
                probability[r] * ((low[r] + length[r]) ** paths - low[r] ** paths) / length[r]
                for r in range(families)
            ),
            fmpq(0),
        )
        yield (leaf,) * paths, to_fraction(joint[leaf] * chance)


def _working_joint(law: AcceptanceLaw) -> Array:
    stop, rows = law.working()
    return np.asarray(stop[:, None] * rows(law.tree.arrays.positions(len(law.tree.nodes))))


def _stacked(laws: list[Array]) -> Array:
    """Exact laws (V,) as rows of one array of fmpq numbers, so that they are converted once."""
    return np.stack([fmpq_array(law) for law in laws])


def _places(instance: Instance, nodes: PathNodes) -> list[int]:
    """The instance's node of each drafted node; on the full tree children are numbered by their tokens."""
    first_child = instance.tree.first_child
    places = [0]
    for above, token in zip(nodes.parent[1:], nodes.token[1:], strict=True):
        places.append(int(first_child[places[above]]) + int(token))
    return places
