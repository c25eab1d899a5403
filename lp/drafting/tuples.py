"""Drafted tuples: everything that K i.i.d. paths can be, with its probability."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..instances.instance import Instance, check_instance
from ..instances.trees import approximately
from .drafting import Drafting, require_full
from .iid_paths import check_paths

DraftedTuple = tuple[int, ...]
"""The leaves at which the K drafted paths end, in drafting order."""

TUPLE_LIMIT = 250_000
"""Most drafted tuples that are gone through."""


def drafted_tuples(
    instance: Instance, paths: int, *, ordered: bool = True
) -> Iterator[tuple[DraftedTuple, Any]]:
    """Every tuple of K leaves with its probability under the draft, those of probability zero left out.

    Without `ordered`, one representative of each multiset, with the probability of all its orders together.

    Raises ValueError for a sparse instance, whose tree lacks drafted paths without target mass.
    """
    check_paths(paths)
    drafted = drafted_leaves(instance)
    if ordered:
        chosen: Iterator[DraftedTuple] = itertools.product(drafted, repeat=paths)
    else:
        chosen = itertools.combinations_with_replacement(drafted, paths)
    for leaves in chosen:
        mass = tuple_mass(instance, leaves)
        if not ordered:
            mass *= math.factorial(paths) // math.prod(map(math.factorial, Counter(leaves).values()))
        yield leaves, mass


def count_drafted_tuples(instance: Instance, paths: int, *, ordered: bool = True) -> int:
    """How many tuples `drafted_tuples` gives."""
    check_paths(paths)
    count = len(drafted_leaves(instance))
    return count**paths if ordered else math.comb(count + paths - 1, paths)


def check_count(count: int, paths: int, instead: str) -> None:
    """ValueError where so many drafted tuples are too many to go through; `instead` is what to do."""
    if count > TUPLE_LIMIT:
        raise ValueError(
            f"{paths} paths of this instance can be drafted in {approximately(count)} ways; at most {TUPLE_LIMIT} "
            f"are gone through ({instead})"
        )


def checked_count(drafting: Drafting, instance: Instance) -> int:
    """How many outcomes of a drafting there are to go through; ValueError where they are too many."""
    count = drafting.count_outcomes(instance)
    if count > TUPLE_LIMIT:
        raise ValueError(
            f"{drafting} of this instance can be drafted in {approximately(count)} ways; at most {TUPLE_LIMIT} are "
            "gone through (take fewer draws or a smaller instance)"
        )
    return count


def drafted_leaves(instance: Instance) -> list[int]:
    """The leaves that can be drafted; ValueError for a sparse instance."""
    check_instance(instance)
    require_full(instance, "a list of drafted paths")
    return [leaf for leaf in instance.tree.leaves if instance.joint_draft[leaf] > 0]


def tuple_mass(instance: Instance, leaves: DraftedTuple) -> Any:
    """The probability of drafting these leaves in this order."""
    mass = instance.joint_draft[leaves[0]]
    for leaf in leaves[1:]:
        mass = mass * instance.joint_draft[leaf]
    return mass


def prefixes(instance: Instance, leaves: DraftedTuple) -> list[int]:
    """The nodes that are a prefix of at least one drafted path, the root first."""
    found: set[int] = set()
    for node in leaves:
        while node >= 0 and node not in found:
            found.add(node)
            node = int(instance.tree.parent[node])
    return sorted(found)
