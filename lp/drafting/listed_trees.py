"""One of several possible trees, each with its probability (statement 13.7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from ..instances.instance import Instance
from ..numbers.rationals import Array, is_exact
from .antichains import Antichain, minimal_nodes
from .drafting import Drafting, Limits, Nodes
from .fixed_trees import GivenTree, Strings


@dataclass(frozen=True)
class ListedTrees(Drafting):
    """One of several trees, each with its probability: a log, or a sample of dynamic trees.

    Attributes:
        listed: the trees with their probabilities.

    Raises ValueError unless the probabilities are positive and sum to one: exactly, or within 1e-9 in floats.
    """

    from_draft = False

    listed: tuple[tuple[GivenTree, Any], ...]

    def __init__(self, trees: Iterable[tuple[GivenTree | Iterable[Sequence[int]], Any]]) -> None:
        listed = tuple(
            (tree if isinstance(tree, GivenTree) else GivenTree(tree), chance) for tree, chance in trees
        )
        total = sum(chance for _, chance in listed)
        exact = all(isinstance(chance, int | Fraction) for _, chance in listed)
        if not listed or any(not chance > 0 for _, chance in listed):
            raise ValueError("trees: expected at least one tree, each with a positive probability")
        if total != 1 if exact else abs(total - 1) > 1e-9:
            raise ValueError(f"trees: the probabilities sum to {total}; expected 1")
        object.__setattr__(self, "listed", listed)

    def __str__(self) -> str:
        return f"trees:{len(self.listed)}"

    def check(self, instance: Instance) -> None:
        """As `FixedTree.check`, for every tree."""
        for tree, _ in self.listed:
            tree.check(instance)

    def _chance(self, instance: Instance, chance: Any) -> Any:
        return Fraction(chance) if instance.exact else float(chance)

    def hit_probability(self, instance: Instance, nodes: Nodes) -> Any:
        """The sum over the trees that have one of the nodes."""
        return sum(
            (
                self._chance(instance, p)
                for tree, p in self.listed
                if not tree.nodes(instance).isdisjoint(nodes)
            ),
            self._chance(instance, 0),
        )

    def violated(self, instance: Instance, budgets: Array, **limits: Unpack[Limits]) -> list[Antichain]:
        """The most violated antichain by a minimum cut between nodes with their stop mass and trees (13.7)."""
        import networkx as nx

        self.check(instance)
        tree, values = instance.tree, [Fraction(value) for value in budgets]
        stops = list(values)
        for node in range(1, len(tree)):
            stops[int(tree.parent[node])] -= values[node]
        chances = [Fraction(p) for _, p in self.listed]
        scale = int(np.lcm.reduce(np.array([m.denominator for m in [*stops, *chances]], dtype=object)))
        graph = nx.DiGraph()
        graph.add_node("source")
        graph.add_node("sink")
        for node in range(1, len(tree)):
            if stops[node] > 0:
                graph.add_edge("source", ("node", node), capacity=int(stops[node] * scale))
        for number, ((given, _), chance) in enumerate(zip(self.listed, chances, strict=True)):
            graph.add_edge(("tree", number), "sink", capacity=int(chance * scale))
            for node in given.nodes(instance):
                if node and stops[node] > 0:
                    graph.add_edge(("node", node), ("tree", number))
        _, (near, _) = nx.minimum_cut(graph, "source", "sink")
        inside = {entry[1] for entry in near if entry[0] == "node"}
        top = tuple(minimal_nodes(tree, inside))
        if not top:
            return []
        budget, hit = sum(values[node] for node in top), Fraction(0) + self.hit_probability(instance, top)
        kind = Fraction if is_exact(budgets) else float
        slack = limits.get("relative", 0.0), limits.get("tolerance", 0.0)
        ceiling = hit if is_exact(budgets) else float(hit) * (1 + slack[0]) + slack[1]
        return [Antichain(top, kind(budget), hit=kind(hit))] if budget > ceiling else []

    def trees(self, instance: Instance) -> Iterator[tuple[Nodes, Any]]:
        """Those of the list, equal ones together."""
        law: dict[Nodes, Any] = {}
        for tree, chance in self.listed:
            nodes = tuple(sorted(tree.nodes(instance)))
            law[nodes] = law.get(nodes, 0) + self._chance(instance, chance)
        yield from law.items()

    def draw(self, instance: Instance, rng: np.random.Generator) -> Strings:
        """One of the trees."""
        law = np.array([float(p) for _, p in self.listed])
        return self.listed[int(rng.choice(len(law), p=law / law.sum()))][0].paths

    def most_nodes(self, instance: Instance) -> int:
        """The size of the largest."""
        return max(len(tree.paths) for tree, _ in self.listed)

    def expected_nodes(self, instance: Instance) -> Any:
        """The mean size."""
        sizes = (len(tree.paths) * self._chance(instance, p) for tree, p in self.listed)
        return sum(sizes, self._chance(instance, 0))
