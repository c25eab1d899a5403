"""From budgets to a selection rule: stop mass carried to sets of drafted leaves, or to trees (3.1, 6.1, 13.1, 13.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..budgets.node_budgets import stop_mass
from ..drafting.drafting import Drafting
from ..drafting.iid_paths import check_paths
from ..drafting.tuples import drafted_leaves, prefixes
from ..instances.instance import Instance
from ..instances.tables import short_number
from ..numbers.rationals import Array, constant, exact_array, fast, is_exact, to_fraction


@dataclass(frozen=True, eq=False)
class Transport:
    """A transport of the stop mass of budgets to what is drafted (statements 3.1, 6.1 and 13.1).

    Attributes:
        amount: the mass that could be carried; 1 if and only if the budgets can be realised.
        flow: (node, leaves) -> mass that stops at the node when exactly these leaves were drafted; for trees
            (node, nodes of the tree).
    """

    amount: Fraction
    flow: dict[tuple[int, frozenset[int]], Fraction]

    @property
    def complete(self) -> bool:
        """True when all mass was carried: some verifier has these budgets."""
        return self.amount == 1

    def __repr__(self) -> str:
        state = "complete" if self.complete else "NOT complete"
        return f"Transport({state}, amount={short_number(self.amount)}, flows={len(self.flow)})"


def leaf_set_law(instance: Instance, paths: int) -> dict[frozenset[int], Fraction]:
    """The law of the SET of leaves that K drafted paths reach, in rationals.

    Paths enter one by one; sets replace the V^(LK) tuples because neither order nor multiplicity matters to
    what can be accepted. Raises ValueError for a sparse instance.
    """
    check_paths(paths)
    joint = fast(instance.joint_draft)
    drafted = drafted_leaves(instance)
    law: dict[frozenset[int], Any] = {frozenset(): joint[0]}
    for _ in range(paths):
        after: dict[frozenset[int], Any] = {}
        for leaves, mass in law.items():
            for leaf in drafted:
                key = leaves | {leaf}
                after[key] = after.get(key, 0) + mass * joint[leaf]
        law = after
    return {leaves: to_fraction(mass) for leaves, mass in law.items()}


def transport_stop_mass(instance: Instance, budgets: Array, paths: int) -> Transport:
    """Carry the stop mass of exact budgets to drafted leaf sets by an integral maximum flow (statement 3.1).

    Node z may send its stop mass to a set of leaves if one of them lies at or below z. Budgets that meet
    (2.2) can be realised with a prefix of a drafted path if and only if everything can be carried.

    Raises ValueError for float budgets or a negative stop mass.
    """
    law = leaf_set_law(instance, paths)
    return _carried(instance, budgets, {s: (prefixes(instance, tuple(s)), mass) for s, mass in law.items()})


def transport_to_trees(instance: Instance, budgets: Array, drafting: Drafting) -> Transport:
    """The same for any draft, whose trees are listed: the flow names the nodes of each tree (statement 13.1)."""
    return _carried(
        instance, budgets, {frozenset(nodes): (nodes, mass) for nodes, mass in drafting.trees(instance)}
    )


def _carried(
    instance: Instance, budgets: Array, law: Mapping[frozenset[int], tuple[Iterable[int], Fraction]]
) -> Transport:
    """Stop mass carried to what is drafted: for each outcome the nodes that it may come from, and its probability."""
    import networkx as nx

    if not is_exact(budgets):
        raise ValueError("a transport needs exact budgets")
    stops = stop_mass(instance.tree, budgets)
    if any(mass < 0 for mass in stops):
        raise ValueError("budgets: a node has less budget than its children together")
    masses = [*stops, *(mass for _, mass in law.values())]
    scale = int(np.lcm.reduce(np.array([m.denominator for m in masses], dtype=object)))
    graph = nx.DiGraph()
    for node, mass in enumerate(stops):
        if mass:
            graph.add_edge("source", ("node", node), capacity=int(mass * scale))
    for outcome, (nodes, mass) in law.items():
        graph.add_edge(("drafted", outcome), "sink", capacity=int(mass * scale))
        for node in nodes:
            if stops[node]:
                graph.add_edge(("node", node), ("drafted", outcome))
    amount, flow = nx.maximum_flow(graph, "source", "sink")
    carried = {
        (node[1], target[1]): Fraction(mass, scale)
        for node, targets in flow.items()
        if node[0] == "node"
        for target, mass in targets.items()
        if mass
    }
    return Transport(Fraction(amount, scale), carried)


def selection_from_transport(instance: Instance, transport: Transport) -> Array:
    """exact array (n,): the skewed draft of a rule G that picks, in each leaf set, a leaf below the stop (6.1).

    For a complete transport of budgets D it satisfies D(z) <= nu(z) everywhere, so block verification under
    nu attains at least the sum of D.

    Raises ValueError for an incomplete transport.
    """
    _require_complete(transport)
    nu = list(constant(instance.target, 0))
    for (node, leaves), mass in transport.flow.items():
        leaf = min(leaf for leaf in leaves if node in prefixes(instance, (leaf,)))
        for z in prefixes(instance, (leaf,)):
            nu[z] += mass
    return exact_array(nu)


def path_law_from_transport(instance: Instance, transport: Transport) -> Array:
    """exact array (n,): nu(z) of a rule that picks, in each drafted tree, a maximal path through the stop (13.5).

    For a complete transport of budgets D to trees, nu(z) is at least D(z) everywhere. The path goes on below the stop
    to the smallest drafted child, and may end before the depth of the instance.

    Raises ValueError for an incomplete transport.
    """
    _require_complete(transport)
    nu, tree = list(constant(instance.target, 0)), instance.tree
    for (node, drafted), mass in transport.flow.items():
        end: int | None = node
        while end is not None:
            node, end = end, next((child for child in tree.children(end) if child in drafted), None)
        for z in prefixes(instance, (node,)):
            nu[z] += mass
    return exact_array(nu)


def _require_complete(transport: Transport) -> None:
    if not transport.complete:
        raise ValueError(
            f"only {transport.amount} of the stop mass could be carried; no rule has these budgets"
        )
