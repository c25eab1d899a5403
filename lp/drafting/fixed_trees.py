"""Trees that are fixed once the context is known (statement 13.3)."""

from __future__ import annotations

import heapq
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from ..instances.arguments import described
from ..instances.instance import Instance
from ..instances.trees import format_context
from ..numbers.rationals import Array
from .antichains import Antichain
from .drafting import Drafting, Limits, Nodes, never_drafted
from .grown import Counted, Places
from .supports import Support, support

Strings = tuple[tuple[int, ...], ...]
"""Token strings, rising in length."""


class FixedTree(Drafting):
    """A tree without chance: F(A) is 1 where it meets A, else 0."""

    from_draft = False

    @abstractmethod
    def strings(self, instance: Instance) -> Strings:
        """The token strings of its nodes but the root, a parent before its children."""

    def drafted(self, instance: Instance) -> Array:
        """bool array (n,): the nodes of the tree."""
        out = np.zeros(len(instance.tree), dtype=bool)
        out[list(self.nodes(instance))] = True
        return out

    def single_hits(self, instance: Instance) -> Array:
        """array (n,): 1 on the tree, else 0."""
        return self.drafted(instance) * (Fraction(1) if instance.exact else 1.0)

    def nodes(self, instance: Instance) -> frozenset[int]:
        """Its nodes on the instance's tree, the root with them."""
        found = (instance.tree.find(path) for path in self.strings(instance))
        return frozenset((0, *(node for node in found if node is not None)))

    def check(self, instance: Instance) -> None:
        """Raise ValueError for a node that is not on the instance's tree, but for one without target mass."""
        for path in self.strings(instance):
            if len(path) > instance.depth or max(path) >= instance.vocab:
                raise ValueError(
                    f"drafting {self}: the node {format_context(path)!r} is not on a tree of depth "
                    f"{instance.depth} over {instance.vocab} tokens"
                )
            above = instance.tree.find(path[:-1])
            if above is None or instance.tree.child(above, path[-1]) is not None:
                continue
            if instance.target_law(above)[path[-1]] > 0:
                raise ValueError(
                    f"drafting {self}: the sparse instance has no node {format_context(path)!r}, to which the target "
                    "gives probability; expected one with every drafted node"
                )

    def hit_probability(self, instance: Instance, nodes: Nodes) -> Any:
        """1 or 0."""
        hit = not self.nodes(instance).isdisjoint(nodes)
        return Fraction(hit) if instance.exact else float(hit)

    def violated(self, instance: Instance, budgets: Array, **limits: Unpack[Limits]) -> list[Antichain]:
        """Single nodes: those off the tree may have no budget, and for the others 2.2 is enough."""
        return never_drafted(self, instance, budgets, **limits)

    def trees(self, instance: Instance) -> Iterator[tuple[Nodes, Any]]:
        """The one tree."""
        yield tuple(sorted(self.nodes(instance))), Fraction(1) if instance.exact else 1.0

    def outcomes(self, instance: Instance) -> Iterator[tuple[Nodes, Any]]:
        """The one tree."""
        yield from Drafting.outcomes(self, instance)

    def count_outcomes(self, instance: Instance) -> int:
        """One."""
        return 1

    def draw(self, instance: Instance, rng: np.random.Generator) -> Strings:
        """The tree."""
        return self.strings(instance)

    def most_nodes(self, instance: Instance) -> int:
        """Its size."""
        return len(self.strings(instance))

    def expected_nodes(self, instance: Instance) -> Any:
        """Its size."""
        return Fraction(self.most_nodes(instance)) if instance.exact else float(self.most_nodes(instance))


@dataclass(frozen=True)
class GivenTree(FixedTree):
    """A tree that is known once the context is: an n-gram match, a prompt lookup, a dynamic tree of an engine.

    Attributes:
        paths: the token strings of its nodes; the root is always drafted.

    Raises ValueError for a node whose parent is missing, and for one that is named twice.

    >>> print(GivenTree([(0,), (1,), (0, 2)]))
    tree:0 1 0,2
    """

    paths: Strings

    def __init__(self, paths: Iterable[Sequence[int]]) -> None:
        listed = sorted(read_strings(paths), key=lambda path: (len(path), path))
        known: set[tuple[int, ...]] = {()}
        for path in listed:
            name = format_context(path)
            if path[:-1] not in known:
                raise ValueError(
                    f"tree: the node {name!r} has no parent {format_context(path[:-1])!r} in the tree"
                )
            if path in known and path:
                raise ValueError(f"tree: the node {name!r} is given twice")
            known.add(path)
        object.__setattr__(self, "paths", tuple(path for path in listed if path))

    def __str__(self) -> str:
        return "tree:" + " ".join(format_context(path) for path in self.paths)

    def strings(self, instance: Instance) -> Strings:
        """The nodes."""
        return self.paths


def read_strings(strings: Any) -> list[tuple[int, ...]]:
    """Token strings as tuples of integers; ValueError for anything else."""
    if isinstance(strings, str | Mapping) or not isinstance(strings, Iterable):
        raise ValueError(
            f"tree: got {described(strings)}; expected token strings such as [(0,), (1,), (0, 2)]"
        )
    found = []
    for string in strings:
        path = tuple(string) if isinstance(string, Iterable) and not isinstance(string, str) else None
        if path is None or any(
            isinstance(y, bool) or not isinstance(y, int | np.integer) or y < 0 for y in path
        ):
            raise ValueError(f"tree: got the node {string!r}; expected token ids, at least 0")
        found.append(tuple(int(y) for y in path))
    return found


class Likeliest(FixedTree, Counted):
    """The k_1, .., k_L likeliest tokens of the draft at each node, equally likely ones from the smaller id on."""

    name = "top"

    def strings(self, instance: Instance) -> Strings:
        """The nodes."""
        counts = self.counts(instance.depth)
        found: list[tuple[int, ...]] = []
        open_: list[tuple[tuple[int, ...], int]] = [((), 0)]
        for path, node in open_:
            below = support(instance, node)
            for token, child in list(zip(below.tokens, below.children, strict=True))[: counts[len(path)]]:
                found.append((*path, token))
                if child is not None and len(path) + 1 < instance.depth:
                    open_.append((found[-1], child))
        return tuple(found)

    def expected_nodes(self, instance: Instance) -> Any:
        """Its size; ValueError where a sparse instance does not know what is drafted off its tree."""
        return Drafting.expected_nodes(self, instance)

    def hit_at(self, below: Support, count: int, hits: Sequence[Any]) -> Any:
        """Whether one of the likeliest hits."""
        found = 0
        for hit in hits[:count]:
            found = hit + (1 - hit) * found
        return found

    def count_drawn(self, below: Support, count: int, ways: Sequence[int]) -> int:
        """Those of the likeliest."""
        return math.prod(ways[:count])

    def drawn(self, below: Support, count: int) -> Iterator[tuple[Places, Any]]:
        """The likeliest ones."""
        yield tuple(range(min(count, len(below.tokens)))), sum(below.shares)

    def draw_children(self, below: Support, count: int, rng: np.random.Generator) -> Places:
        """The likeliest ones."""
        return tuple(range(min(count, len(below.tokens))))


def best_tree(instance: Instance, nodes: int, *, by: str = "target") -> GivenTree:
    """The given tree of so many nodes, the root not counted, with the largest sum of p(z).

    Nodes are taken one after the other, always the one of largest probability whose parent is taken: no string is
    likelier than its prefix. Equally likely ones are taken from the shorter string on, then by token ids.

    Args:
        instance: exact or float.
        nodes: how many; fewer where fewer have mass.
        by: "target", or "draft" for use before the target is known. On a sparse instance the former are nodes of its
            tree, and the latter can have a last token off it.

    Raises ValueError for nodes < 1 and another `by`.

    >>> from fractions import Fraction as F
    >>> law = [F(1, 2), F(3, 10), F(1, 5)]
    >>> laws = {c: law for c in [(), (0,), (1,), (2,)]}
    >>> best_tree(Instance.from_laws(3, 2, laws, laws), 3).paths
    ((0,), (1,), (0, 0))
    """
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
        raise ValueError(f"nodes: got {nodes!r}; expected an integer of at least 1")
    if by not in ("target", "draft"):
        raise ValueError(f"by: got {by!r}; expected 'target' or 'draft'")
    tree = instance.tree
    taken: list[tuple[int, ...]] = []
    waiting: list[tuple[Any, int, tuple[int, ...], int | None]] = []

    def open_below(node: int, path: tuple[int, ...]) -> None:
        children, joint = tree.children(node), instance.joint_draft
        if by == "target":
            joint = instance.joint_target
        for child in children:
            heapq.heappush(waiting, (-joint[child], len(path) + 1, (*path, int(tree.token[child])), child))
        if by == "draft":
            for y, (_, share) in instance.off_tree.get(node, {}).items():
                heapq.heappush(waiting, (-joint[node] * share, len(path) + 1, (*path, y), None))

    open_below(0, ())
    while waiting and len(taken) < nodes:
        mass, _, path, node = heapq.heappop(waiting)
        if not -mass > 0:
            break
        taken.append(path)
        if node is not None:
            open_below(node, path)
    return GivenTree(taken)
