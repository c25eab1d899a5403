"""The judge: is a verifier lossless on an instance, and how far is it from the best possible? All in rationals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from joblib import Parallel, delayed
from nodebudget.lp import Instance, Optimum, solve_problem
from nodebudget.lp.drafting import Drafting, IidPaths, Problem
from nodebudget.lp.drafting.specs import Drafted, which_drafting
from nodebudget.lp.drafting.tuples import (
    DraftedTuple,
    check_count,
    checked_count,
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
from ..drafts.tree_nodes import TreeNodes
from ..registry import as_verifier
from ..verifier import LawFunction, Verifier
from .judgement import ExactAudit, judge

RANKING_FROM = 20_000
"""Tuples from which a verifier that picks a path is audited by its ranking instead."""

SCORES_FROM = 5_000
"""Tuples from which a verifier that picks a path by scores is audited by their distribution instead."""

PROCESSES_FROM = 2_000
"""Outcomes from which other processes are worth starting."""

OUTCOMES_PER_TASK = 50
"""Outcomes that a process goes through at a time, and after which progress is shown: a few seconds at most."""

FAULTS_SHOWN = 10

INSTEAD = "take fewer paths or a smaller instance"

Outcome = tuple[int, ...]
"""The leaves of K drafted paths, or the drafted nodes in the order of drawing, copies repeated."""

PickPath = Callable[[DraftTree], Any]
"""From drafted paths to the nodes of the picked one, from the root to its leaf."""

Scores = Callable[[DraftTree], tuple[Any, Any, Any]]


def audit_exact(
    verifier: Verifier | LawFunction | str,
    instance: Instance,
    paths: Drafted | None = None,
    *,
    drafting: Drafted | None = None,
    optimum: Optimum | None = None,
    workers: int = 1,
) -> ExactAudit:
    """Go through everything that can be drafted and compare the output with the target's, exactly (2.1, 10.1, 13.1).

    Args:
        verifier: from the registry or its name, or a user's own: a `Verifier` or a law function.
        instance: a float instance is audited on its rational reading; on the full tree, but for a fixed drafting.
        paths: number K of drafted paths. A verifier that looks at one path is shown the first only.
        drafting: instead of `paths`, what is drafted: a `Drafting`, or its text form such as "without:2,1".
        optimum: that of the instance with this drafting, where it is known already.
        workers: processes that share what can be drafted where that is much; the answer is the same.

    Where it takes more than two seconds, a progress bar appears on stderr, on a terminal or in a notebook.

    Raises ValueError for arguments of another kind, paths < 1, a sparse instance, a drafting for which the verifier is
    not defined, too many outcomes, an optimum without a certificate, or a law function that returns something else
    than an exact `AcceptanceLaw` of the tree it was given.
    """
    verifier = as_verifier(verifier)
    check_instance(instance)
    problem = Problem(instance.to_exact(), which_drafting(paths, drafting))
    shown = verifier.shown(problem.instance, problem.drafting)
    best = certified_value(optimum or solve_problem(problem))
    joint, faults = _accumulate(verifier, problem.instance, shown, workers)
    return judge(verifier.name, problem, joint, faults, best)


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


def _accumulate(
    verifier: Verifier, instance: Instance, drafting: Drafting, workers: int
) -> tuple[Array, list[str]]:
    """Pr[Z = z, Y = y] over all that can be drafted, and the laws that are none."""
    every, count = _everything_drafted(verifier, instance, drafting)
    parallel = Parallel(n_jobs=workers if count > PROCESSES_FROM else 1, return_as="generator")
    parts = parallel(
        delayed(_part)(verifier, instance, drafting, outcomes)
        for outcomes in _in_parts(every, OUTCOMES_PER_TASK)
    )
    total = np.full((len(instance.tree), instance.tree.vocab), Fraction(0), dtype=object)
    faults: list[str] = []
    with progress("tuple" if isinstance(drafting, IidPaths) else "tree", count) as bar:
        for outcomes, places, part, wrong in parts:
            total[places] = total[places] + part
            faults += wrong
            bar.update(outcomes)
    return total, faults[:FAULTS_SHOWN]


def _in_parts(every: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(every)
    while part := list(itertools.islice(rest, size)):
        yield part


def _part(
    verifier: Verifier, instance: Instance, drafting: Drafting, outcomes: list[tuple[Outcome, Fraction]]
) -> tuple[int, list[int], Array, list[str]]:
    """How many outcomes these are, their share of Pr[Z = z, Y = y] at some nodes z, and the laws that are none."""
    tree = instance.tree
    rows = _Rows(instance)
    total: dict[int, Array] = {}
    faults: list[str] = []
    for outcome, probability in outcomes:
        strings = [tree.path(node) for node in outcome]
        nodes = PathNodes(strings) if isinstance(drafting, IidPaths) else TreeNodes(strings)
        places = [tree.find(nodes.path(node)) or 0 for node in range(len(nodes))]
        drafted = DraftTree(
            nodes, rows.target(places), rows.draft(places[: nodes.inner]), drafting=drafting, check=False
        )
        table = verifier.ask(drafted, _working_joint)
        if len(faults) < FAULTS_SHOWN and (
            sum(table.ravel()) != 1 or any(mass < 0 for mass in table.ravel())
        ):
            what = "paths" if isinstance(drafting, IidPaths) else "nodes"
            faults.append(
                f"for the drafted {what} {nodes.as_text()} the law is negative somewhere or does not sum to one"
            )
        for place, row in zip(places, to_fmpq(probability) * table, strict=True):
            total[place] = total[place] + row if place in total else row
    part = np.array(list(total.values()), dtype=object)
    return len(outcomes), list(total), exact_array(part.ravel()).reshape(part.shape), faults


class _Rows:
    """The laws of an instance as rows of flint rationals, each converted once, when it is needed."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._target: dict[int, Array] = {}
        self._draft: dict[int, Array] = {}

    def target(self, places: list[int]) -> Array:
        return self._rows(self._target, self.instance.target_law, places)

    def draft(self, places: list[int]) -> Array:
        return self._rows(self._draft, self.instance.draft_law, places)

    def _rows(self, known: dict[int, Array], law: Callable[[int], Array], places: list[int]) -> Array:
        for place in places:
            if place not in known:
                known[place] = fmpq_array(law(place))
        return np.array([known[place] for place in places], dtype=object).reshape(-1, self.instance.vocab)


def _everything_drafted(
    verifier: Verifier, instance: Instance, drafting: Drafting
) -> tuple[Iterable[tuple[Outcome, Fraction]], int]:
    """Outcomes with their probabilities, as few as the verifier allows, and how many they are."""
    if not isinstance(drafting, IidPaths):
        if not verifier.ordered:
            trees = [(nodes[1:], chance) for nodes, chance in drafting.trees(instance)]
            return trees, len(trees)
        return drafting.outcomes(instance), checked_count(drafting, instance)
    paths = drafting.paths
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
