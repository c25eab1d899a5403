"""Trees grown node by node: the children of different nodes are drawn independently (statement 13.2)."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from ..instances.instance import Instance
from ..numbers.rationals import Array, fast, to_fraction
from .antichains import Antichain
from .drafting import TREES_LIMIT, Drafting, Limits, Nodes, never_drafted, require_full
from .supports import Support, support
from .tables import TABLE_LIMIT, AntichainTable, antichains_listed

Places = tuple[int, ...]
"""Drawn children, by their places in a `Support`, in the order in which they were drawn."""


SetLaw = dict[frozenset[int], Any]
"""Sets of nodes with their probabilities."""

Grown = tuple[tuple[Any, Any], ...]
"""Drawn children in order, each with what is grown below it, which is of this kind again."""


class GrownTree(Drafting):
    """A tree that is grown node by node: at all nodes of one length equally many children are drawn."""

    @abstractmethod
    def counts(self, depth: int) -> tuple[int, ...]:
        """How many children are drawn at a node of length 0, 1, .., depth - 1.

        Raises ValueError where this drafting is not for this depth.
        """

    @abstractmethod
    def hit_at(self, below: Support, count: int, hits: Sequence[Any]) -> Any:
        """The probability that what is drafted below a node hits an antichain.

        Args:
            below: the draft at the node.
            count: how many children are drawn.
            hits: for each token of `below` the probability of a hit below it, given that it is drawn: numbers, or
                arrays that broadcast.
        """

    @abstractmethod
    def drawn(self, below: Support, count: int) -> Iterator[tuple[Places, Any]]:
        """Every sequence of children that can be drawn at a node, with its probability."""

    @abstractmethod
    def count_drawn(self, ways: Sequence[int], count: int) -> int:
        """How many sequences of children can be drawn, each child in several ways.

        Args:
            ways: for each token with draft mass, likeliest first, what can be grown below it.
            count: how many children are drawn.
        """

    @abstractmethod
    def draw_children(self, below: Support, count: int, rng: np.random.Generator) -> Places:
        """Children drawn at a node."""

    def most_below(self, sizes: Sequence[int], count: int) -> int:
        """The largest number of nodes below a node, given that of each child with what is below it; without copies."""
        return sum(sorted(sizes, reverse=True)[:count])

    def most_drawn(self, below: Support, count: int) -> int:
        """How many draws there are at a node, copies counted: fewer than are asked for where tokens run out."""
        return min(count, len(below.tokens))

    def check(self, instance: Instance) -> None:
        """Raise ValueError unless there is a count for every length."""
        self.counts(instance.depth)

    def hit_probability(self, instance: Instance, nodes: Nodes) -> Any:
        """F(A), from the antichain up the tree."""
        tree, counts = instance.tree, self.counts(instance.depth)
        zero = fast(instance.draft[:1])[0] * 0
        hits: dict[int, Any] = dict.fromkeys(nodes, zero + 1)
        waiting = {int(tree.parent[node]) for node in nodes if node}
        while waiting:
            node = max(waiting)  # in level order nothing below it is still waiting
            waiting.remove(node)
            if node in hits:
                raise ValueError(f"nodes: got {nodes}; expected an antichain")
            below = support(instance, node)
            known = [zero if child is None else hits.get(child, zero) for child in below.children]
            hits[node] = self.hit_at(below, counts[_length(instance, node)], known)
            if node:
                waiting.add(int(tree.parent[node]))
        found = hits.get(0, zero)
        return to_fraction(found) if instance.exact else float(found)

    def drafted(self, instance: Instance) -> Array:
        """bool array (n,): every token with draft mass can be drawn."""
        return np.asarray(instance.joint_draft > 0, dtype=bool)

    def violated(self, instance: Instance, budgets: Array, **limits: Unpack[Limits]) -> list[Antichain]:
        """By a table of all antichains (`AntichainTable`), where they are few enough."""
        self.check(instance)
        never = never_drafted(self, instance, budgets, **limits)
        return never or AntichainTable.of(instance, self).violated(budgets, **limits)

    def separable(self, instance: Instance, *, exact: bool) -> bool:
        """Whether `violated` has an answer: there it has no table, or one that is not too large."""
        listed = type(self).violated is GrownTree.violated
        return not listed or antichains_listed(instance) <= TABLE_LIMIT[exact]

    def trees(self, instance: Instance) -> Iterator[tuple[Nodes, Any]]:
        """Every tree, from the leaves up: the law of the set of nodes below one copy of a node."""
        require_full(instance, "the list of drafted trees")
        counts, tree = self.counts(instance.depth), instance.tree
        laws: dict[int, SetLaw] = {}
        one = fast(instance.draft[:1])[0] * 0 + 1
        for node in range(len(tree) - 1, -1, -1):
            if node in tree.leaves:
                laws[node] = {frozenset((node,)): one}
                continue
            below = support(instance, node)
            children = [laws[child] for child in below.children if child is not None]
            grown = self.grown_sets(below, counts[_length(instance, node)], children)
            laws[node] = {nodes | {node}: mass for nodes, mass in grown.items()}
        for nodes, mass in laws[0].items():
            yield tuple(sorted(nodes)), to_fraction(mass) if instance.exact else mass

    def grown_sets(self, below: Support, count: int, children: Sequence[SetLaw]) -> SetLaw:
        """The law of the nodes below a node, from its children's; ValueError for more than `TREES_LIMIT` sets."""
        law: SetLaw = {}
        for places, chance in self.drawn(below, count):
            grown: SetLaw = {frozenset(): chance}
            for place in places:
                grown = joined(grown, children[place])
            for nodes, mass in grown.items():
                law[nodes] = law.get(nodes, 0) + mass
            check_listed(law)
        return law

    def outcomes(self, instance: Instance) -> Iterator[tuple[Nodes, Any]]:
        """Every sequence of draws at every copy, level after level."""
        require_full(instance, "the list of what can be drafted")
        for grown, chance in self._grown(instance, 0):
            found: list[int] = []
            level = grown
            while level:
                found += [child for child, _ in level]
                level = tuple(entry for _, below in level for entry in below)
            yield tuple(found), to_fraction(chance) if instance.exact else chance

    def _grown(self, instance: Instance, node: int) -> Iterator[tuple[Grown, Any]]:
        """What can be grown below one copy of a node: each drawn child with what is grown below it."""
        one = fast(instance.draft[:1])[0] * 0 + 1
        if node in instance.tree.leaves:
            yield (), one
            return
        below = support(instance, node)
        for places, chance in self.drawn(below, self.counts(instance.depth)[_length(instance, node)]):
            children = [below.children[place] for place in places]
            options = [list(self._grown(instance, child)) for child in children if child is not None]
            for combination in itertools.product(*options):
                grown, mass = [], chance
                for child, (rest, share) in zip(children, combination, strict=True):
                    grown.append((child, rest))
                    mass = mass * share
                yield tuple(grown), mass

    def count_outcomes(self, instance: Instance) -> int:
        """By what can be grown below each node."""
        require_full(instance, "the list of what can be drafted")
        tree, counts = instance.tree, self.counts(instance.depth)
        ways: dict[int | None, int] = dict.fromkeys(tree.leaves, 1)
        for node in range(tree.leaves.start - 1, -1, -1):
            below = support(instance, node)
            grown = [ways[child] for child in below.children]
            ways[node] = self.count_drawn(grown, counts[_length(instance, node)])
        return ways[0]

    def draw(self, instance: Instance, rng: np.random.Generator) -> tuple[tuple[int, ...], ...]:
        """Children after children; where a sparse tree ends, what is drafted ends as well."""
        counts, found = self.counts(instance.depth), []
        open_: list[tuple[tuple[int, ...], int]] = [((), 0)]
        for path, node in open_:
            if len(path) == instance.depth:
                continue
            below = support(instance, node)
            for place in self.draw_children(below, counts[len(path)], rng):
                found.append((*path, below.tokens[place]))
                child = below.children[place]
                if child is not None:
                    open_.append((found[-1], child))
        return tuple(found)

    def most_nodes(self, instance: Instance) -> int:
        """From the leaves up."""
        tree, counts = instance.tree, self.counts(instance.depth)
        most = np.zeros(len(tree), dtype=np.int64)
        for node in range(tree.leaves.start - 1, -1, -1):
            below = support(instance, node)
            sizes = [1 + (0 if c is None else int(most[c])) for c in below.children]
            most[node] = self.most_below(sizes, counts[_length(instance, node)])
        return int(most[0])


def _length(instance: Instance, node: int) -> int:
    return int(np.searchsorted(instance.tree.level_start, node, side="right")) - 1


def joined(first: SetLaw, second: SetLaw) -> SetLaw:
    """The law of the union of two independent sets; ValueError for more than `TREES_LIMIT` sets."""
    out: SetLaw = {}
    for one, mass in first.items():
        for other, share in second.items():
            both = one | other
            out[both] = out.get(both, 0) + mass * share
        check_listed(out)
    return out


def check_listed(law: SetLaw) -> None:
    """ValueError for more than `TREES_LIMIT` sets."""
    if len(law) > TREES_LIMIT:
        raise ValueError(f"more than {TREES_LIMIT} trees can be drafted; they are not listed")


def check_counts(name: str, counts: Sequence[int]) -> tuple[int, ...]:
    """Counts as a tuple; ValueError unless they are integers of at least 1."""
    listed = tuple(counts)
    if not listed or any(isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1 for k in listed):
        raise ValueError(
            f"{name}: got {listed}; expected how many are drawn at each length, at least 1, such as 2, 1, 1"
        )
    return tuple(map(int, listed))


@dataclass(frozen=True)
class Counted(GrownTree):
    """A grown tree with a count for each length.

    Attributes:
        children: k_1 .. k_L, how many children are drawn at the root, at nodes of one token, and so on.
    """

    children: tuple[int, ...]

    def __init__(self, *children: int) -> None:
        object.__setattr__(self, "children", check_counts(type(self).__name__, children))

    name = ""

    def __str__(self) -> str:
        return f"{self.name}:{','.join(map(str, self.children))}"

    def counts(self, depth: int) -> tuple[int, ...]:
        """The counts; ValueError for another depth."""
        if len(self.children) != depth:
            raise ValueError(
                f"drafting {self}: it has counts for {len(self.children)} lengths; "
                f"expected one for each of the depth, {depth}"
            )
        return self.children
