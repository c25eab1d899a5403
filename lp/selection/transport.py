"""From budgets to a selection rule: stop mass carried to sets of drafted leaves (statements 3.1 and 6.1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..budgets.node_budgets import stop_mass
from ..drafting.iid_paths import check_paths
from ..drafting.tuples import drafted_leaves, prefixes
from ..instances.instance import Instance
from ..instances.tables import short_number
from ..numbers.rationals import Array, constant, exact_array, fast, is_exact, to_fraction


@dataclass(frozen=True, eq=False)
class Transport:
    """A transport of the stop mass of budgets to sets of drafted leaves (statements 3.1 and 6.1).

    Attributes:
        amount: the mass that could be carried; 1 if and only if the budgets can be realised.
        flow: (node, leaves) -> mass that stops at the node when exactly these leaves were drafted.
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
    import networkx as nx

    if not is_exact(budgets):
        raise ValueError("a transport needs exact budgets")
    stops = stop_mass(instance.tree, budgets)
    if any(mass < 0 for mass in stops):
        raise ValueError("budgets: a node has less budget than its children together")
    law = leaf_set_law(instance, paths)
    scale = int(np.lcm.reduce(np.array([m.denominator for m in [*stops, *law.values()]], dtype=object)))
    graph = nx.DiGraph()
    for node, mass in enumerate(stops):
        if mass:
            graph.add_edge("source", ("node", node), capacity=int(mass * scale))
    for leaves, mass in law.items():
        graph.add_edge(("leaves", leaves), "sink", capacity=int(mass * scale))
        for node in prefixes(instance, tuple(leaves)):
            if stops[node]:
                graph.add_edge(("node", node), ("leaves", leaves))
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
    if not transport.complete:
        raise ValueError(
            f"only {transport.amount} of the stop mass could be carried; no rule has these budgets"
        )
    nu = list(constant(instance.target, 0))
    for (node, leaves), mass in transport.flow.items():
        leaf = min(leaf for leaf in leaves if node in prefixes(instance, (leaf,)))
        for z in prefixes(instance, (leaf,)):
            nu[z] += mass
    return exact_array(nu)
