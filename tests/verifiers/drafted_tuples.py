"""Enumeration of drafted tuples: what a verifier outputs, averaged over all that can be drafted."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from nodebudget.lp.instances.instance import Instance
from nodebudget.verifiers import AcceptanceLaw, DraftTree
from nodebudget.verifiers.algorithms.greedy_multipath import pick_path

Paths = list[tuple[int, ...]]


class OnADevice(DraftTree):
    """Torch rows in this machine's memory, computed on as if they lay on another device."""

    def in_memory(self) -> DraftTree:
        return self


LawFunction = Callable[[DraftTree], AcceptanceLaw]
Table = dict[tuple[int, ...], Any]


def drafted_tuples(instance: Instance, count: int, *, ordered: bool = True) -> Iterator[tuple[Any, Paths]]:
    """Every tuple of `count` paths with its probability, or every set for a verifier that ignores order."""
    leaves = [leaf for leaf in instance.tree.leaves if instance.joint_draft[leaf] > 0]
    tuples: Iterator[tuple[int, ...]] = itertools.product(leaves, repeat=count)
    if not ordered:
        tuples = itertools.combinations_with_replacement(leaves, count)
    for chosen in tuples:
        probability = math.prod(instance.joint_draft[leaf] for leaf in chosen)
        if not ordered:
            repeats = math.prod(math.factorial(n) for n in Counter(chosen).values())
            probability = probability * (math.factorial(count) // repeats)
        yield probability, [instance.tree.path(leaf) for leaf in chosen]


def output_law(
    law: LawFunction,
    instance: Instance,
    count: int,
    *,
    ordered: bool = True,
    build: Callable[[Instance, Paths], DraftTree] = DraftTree.from_instance,
) -> Table:
    """Pr[Z = z, Y = y] over all drafted tuples: accepted string -> list of V masses."""
    table: Table = {}
    for probability, paths in drafted_tuples(instance, count, ordered=ordered):
        tree = build(instance, paths)
        joint = law(tree).joint().tolist()
        for node, row in enumerate(joint):
            string = tree.nodes.path(node)
            total = table.setdefault(string, [probability * 0] * instance.vocab)
            for y, mass in enumerate(row):
                total[y] += probability * mass
    return table


def output_law_by_pick(
    law: LawFunction,
    instance: Instance,
    count: int,
    *,
    build: Callable[[Instance, Paths], DraftTree] = DraftTree.from_instance,
) -> Table:
    """The same for a law that depends on the path that greedy multi-path picks and on nothing else drafted.

    Leaves are put in the order in which one of two is picked (exactly, whatever `build` makes), which gives
    the law of the pick among any number of paths without going through the tuples.
    """
    exact = instance.to_exact()

    def prefer(first: int, second: int) -> int:
        paths = [exact.tree.path(first), exact.tree.path(second)]
        tree = DraftTree.from_instance(exact, paths)
        return -1 if tree.nodes.path(int(pick_path(tree)[-1])) == paths[1] else 1

    table: Table = {}
    below = Fraction(0)
    leaves = [leaf for leaf in exact.tree.leaves if exact.joint_draft[leaf] > 0]
    for leaf in sorted(leaves, key=functools.cmp_to_key(prefer)):
        upto = below + exact.joint_draft[leaf]
        probability = upto**count - below**count
        tree = build(instance, [exact.tree.path(leaf)] * count)
        for node, row in enumerate(law(tree).joint().tolist()):
            total = table.setdefault(tree.nodes.path(node), [Fraction(0)] * instance.vocab)
            for y, mass in enumerate(row):
                total[y] += probability * Fraction(mass)
        below = upto
    assert below == 1
    return table


def accepted_tokens(law: LawFunction, instance: Instance, count: int, *, ordered: bool = True) -> Any:
    """E|Z| over all drafted tuples."""
    return sum(
        probability * law(DraftTree.from_instance(instance, paths)).expected_accepted
        for probability, paths in drafted_tuples(instance, count, ordered=ordered)
    )


def distance_from_target(instance: Instance, table: Table) -> Any:
    """Total variation of the L + 1 emitted tokens, the rest drawn from the target, from the target's own."""

    def below(string: tuple[int, ...], emitted: Any, wanted: Any) -> Any:
        if len(string) > instance.depth:
            return abs(emitted - wanted)
        node = instance.tree.find(string)
        assert node is not None
        target = instance.target_law(node)
        corrected = table.get(string, [0] * instance.vocab)
        return sum(
            below((*string, y), emitted * target[y] + corrected[y], wanted * target[y])
            for y in range(instance.vocab)
        )

    zero = Fraction(0) if instance.exact else 0.0
    return below((), zero, zero + 1) / 2


def budgets(table: Table, instance: Instance) -> Table:
    """D(z), the probability that z is a prefix of the accepted string, for every string of the tree."""
    out = {}
    for node in range(len(instance.tree)):
        string = instance.tree.path(node)
        below = (sum(row) for accepted, row in table.items() if accepted[: len(string)] == string)
        out[string] = sum(below, Fraction(0))
    return out
