"""Exact certificates: an optimum of LP_1 or LP_K that can be checked without any solver (section 9).

Weak duality in the form used here: for multipliers y_A >= 0 of antichains, every feasible D has

    sum D(z)  <=  sum_A y_A F(A)  +  sum_{y} p(y|root) T(y),
    T(z) = max(0, 1 - sum of y_A over A containing z + sum_y p(y|z) T(zy)),

because T(zy) is a feasible dual price of the row D(zy) <= p(y|z) D(z). Nodes that are never drafted have T(z) = 0:
their budget is zero, by the antichain {z}. So budgets that are feasible and multipliers that give the same number
prove each other optimal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..budgets.node_budgets import accepted_tokens, target_matching_violation
from ..drafting.antichains import is_antichain
from ..drafting.drafting import Drafting
from ..drafting.replacement import IidPaths
from ..drafting.specs import Drafted, as_drafting, drafting_from_json, drafting_to_json
from ..instances.instance import Instance
from ..instances.instance_json import (
    instance_from_json,
    instance_to_json,
    parse_context,
    read_json,
    write_json,
)
from ..instances.tables import short_number
from ..instances.trees import format_context, maximum
from ..numbers.rationals import (
    Array,
    constant,
    exact_array,
    fast,
    format_rational,
    parse_rational,
    settled,
    shown,
    to_fraction,
)

FORMATS = {"paths": "nodebudget certificate 1", "drafting": "nodebudget certificate 2"}
"""By the member that says what is drafted."""


@dataclass(frozen=True)
class TightAntichain:
    """An antichain whose constraint D(A) <= f(q(A)) carries a positive multiplier in the dual solution."""

    nodes: tuple[int, ...]
    multiplier: Fraction


@dataclass(frozen=True)
class Verdict:
    """The outcome of a verification: true when nothing failed, with the failures in words otherwise."""

    failures: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.failures


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """Proof, in rationals, that `optimum` is the largest E|Z| of any valid verifier with what is drafted.

    Attributes:
        instance: the exact instance that the proof is about.
        drafting: what is drafted; one i.i.d. path for LP_1.
        optimum: the value of the linear program.
        budgets: exact array (n,), an optimal primal solution.
        antichains: the tight antichains with their multipliers, the dual solution.
        prices: exact array (n,), T(z), the multipliers of the target-matching rows; 0 at the root.
    """

    instance: Instance
    drafting: Drafting
    optimum: Fraction
    budgets: Array
    antichains: tuple[TightAntichain, ...]
    prices: Array

    @classmethod
    def build(
        cls, instance: Instance, paths: Drafted, budgets: Array, antichains: Sequence[TightAntichain]
    ) -> Certificate:
        """The certificate of these primal and dual solutions; `verify` says whether it proves anything.

        Raises ValueError for a float instance: use its rational reading, `Instance.to_exact`.
        """
        if not instance.exact:
            raise ValueError(
                "a certificate needs an exact instance; take the rational reading, Instance.to_exact()"
            )
        drafting = as_drafting(paths)
        prices = target_matching_prices(instance, drafting, antichains)
        return cls(instance, drafting, accepted_tokens(budgets), budgets, tuple(antichains), prices)

    @property
    def paths(self) -> int | None:
        """The number K of drafted paths where they are i.i.d., else None."""
        return self.drafting.paths if isinstance(self.drafting, IidPaths) else None

    def __repr__(self) -> str:
        tight = len(self.antichains)
        return f"Certificate(K={self.paths}, optimum {short_number(self.optimum)}, {tight} tight antichains)"

    def verify(self) -> Verdict:
        """Recompute everything from the instance, without any solver.

        Checked in rationals: the laws of the instance, D(root) = 1, target-matching (2.2), every antichain by
        the separation oracle (8.1), the objective, the signs of the multipliers, that the antichains are
        antichains, the prices, and that primal and dual values are both equal to the optimum.
        """
        failures: list[str] = []
        tree = self.instance.tree
        numbers = [
            self.optimum,
            *self.budgets,
            *self.prices,
            *(tight.multiplier for tight in self.antichains),
        ]
        if not all(isinstance(number, Fraction) for number in numbers):
            return Verdict(("every number must be a Fraction; floats prove nothing",))
        if not all(isinstance(node, int) for tight in self.antichains for node in tight.nodes):
            return Verdict(("the nodes of an antichain must be node numbers",))
        try:
            self.drafting.check(self.instance)
            *tables, sparse = self.instance.laws()
            target, draft = ({at: list(law) for at, law in table.items()} for table in tables)
            rebuilt = Instance.from_laws(tree.vocab, tree.depth, target, draft, sparse=sparse)
        except (ValueError, TypeError) as error:
            return Verdict((f"instance: {error}",))
        if not rebuilt.exact or self.budgets.shape != (len(tree),) or self.prices.shape != (len(tree),):
            return Verdict(("the instance, budgets and prices must be exact, one number per node",))
        if len(rebuilt.tree) != len(tree):
            return Verdict(("the tree lacks a node that both models give probability",))
        broken = target_matching_violation(self.instance, self.budgets)
        if broken is not None:
            failures.append(broken.describe(tree))
        for found in self.drafting.violated(self.instance, self.budgets):
            names = ", ".join(repr(format_context(tree.path(node))) for node in found.nodes)
            ceiling = "f(q(A))" if self.paths else "F(A)"
            failures.append(
                f"antichain constraint at {names}: D(A) = {shown(found.budget)} exceeds {ceiling}"
            )
        value = accepted_tokens(self.budgets)
        if value != self.optimum:
            failures.append(
                f"the budgets sum to {shown(value)}; the certificate claims {shown(self.optimum)}"
            )
        for tight in self.antichains:
            if tight.multiplier <= 0:
                failures.append(f"a multiplier is {shown(tight.multiplier)}; it must be positive")
            if 0 in tight.nodes or not tight.nodes or not is_antichain(tree, tight.nodes):
                failures.append(f"the nodes {tight.nodes} are not an antichain without the root")
        if failures:
            return Verdict(tuple(failures))
        if not np.array_equal(
            self.prices, target_matching_prices(self.instance, self.drafting, self.antichains)
        ):
            failures.append("the prices of the target-matching rows do not follow from the multipliers")
        bound = dual_bound(self.instance, self.drafting, self.antichains)
        if bound != self.optimum:
            claimed = shown(self.optimum)
            failures.append(
                f"the multipliers prove the bound {shown(bound)}; the certificate claims {claimed}"
            )
        return Verdict(tuple(failures))

    def to_json(self) -> dict[str, Any]:
        """The certificate as a JSON object of rational strings; nodes are named by their token strings."""
        names = [format_context(self.instance.tree.path(node)) for node in range(len(self.instance.tree))]
        drafted: dict[str, Any] = {"format": FORMATS["drafting"], "drafting": drafting_to_json(self.drafting)}
        if self.paths:  # as files have been since before there were other draftings
            drafted = {"format": FORMATS["paths"], "paths": self.paths}
        return {
            **drafted,
            "instance": instance_to_json(self.instance),
            "optimum": format_rational(self.optimum),
            "budgets": {names[z]: format_rational(v) for z, v in enumerate(self.budgets)},
            "antichains": [
                {"nodes": [names[z] for z in tight.nodes], "multiplier": format_rational(tight.multiplier)}
                for tight in self.antichains
            ],
            "prices": {names[z]: format_rational(v) for z, v in enumerate(self.prices)},
        }

    @classmethod
    def from_json(cls, document: Any) -> Certificate:
        """Read a certificate; ValueError names the member that is missing or malformed. Call `verify` next."""
        kind = "drafting" if isinstance(document, Mapping) and "drafting" in document else "paths"
        members = {"format", "instance", kind, "optimum", "budgets", "antichains", "prices"}
        if not isinstance(document, Mapping) or document.keys() != members:
            raise ValueError(f"a certificate is an object with the members {', '.join(sorted(members))}")
        if document["format"] != FORMATS[kind]:
            raise ValueError(f"format: got {document['format']!r}; expected {FORMATS[kind]!r}")
        instance = instance_from_json(document["instance"])
        drafting = IidPaths(document[kind]) if kind == "paths" else drafting_from_json(document[kind])
        drafting.check(instance)

        def node(key: Any, where: str) -> int:
            found = instance.tree.find(parse_context(key, where)) if isinstance(key, str) else None
            if found is None or format_context(instance.tree.path(found)) != key:
                raise ValueError(f"{where}: {key!r} is not a node of the instance")
            return found

        def per_node(name: str) -> Array:
            table = document[name]
            if not isinstance(table, Mapping) or len(table) != len(instance.tree):
                raise ValueError(f"{name}: expected an object with one number per node, {len(instance.tree)}")
            values = constant(instance.target if instance.exact else np.array([Fraction(0)]), 0)
            values = np.resize(values, len(instance.tree))
            places = [node(key, name) for key in table]
            if len(set(places)) != len(places):
                raise ValueError(f"{name}: a node is given twice")
            for place, (key, value) in zip(places, table.items(), strict=True):
                values[place] = parse_rational(value, f"{name} at {key!r}")
            return values

        antichains = []
        if not isinstance(document["antichains"], list):
            raise ValueError("antichains: expected a list of objects with nodes and multiplier")
        for k, entry in enumerate(document["antichains"]):
            where = f"antichains, number {k}"
            if not isinstance(entry, Mapping) or entry.keys() != {"nodes", "multiplier"}:
                raise ValueError(f"{where}: expected an object with nodes and multiplier")
            if not isinstance(entry["nodes"], list):
                raise ValueError(f"{where}: expected nodes to be a list of token strings such as '0,2'")
            nodes = tuple(node(key, where) for key in entry["nodes"])
            antichains.append(TightAntichain(nodes, parse_rational(entry["multiplier"], where)))
        return cls(
            instance,
            drafting,
            parse_rational(document["optimum"], "optimum"),
            per_node("budgets"),
            tuple(antichains),
            per_node("prices"),
        )

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        write_json(self.to_json(), path)

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate from a JSON file; ValueError names the file and what is wrong."""
        try:
            return cls.from_json(read_json(path))
        except ValueError as error:
            raise ValueError(
                f"{path}: {error}" if not str(error).startswith(str(path)) else str(error)
            ) from None


def target_matching_prices(
    instance: Instance, drafting: Drafting, antichains: Sequence[TightAntichain]
) -> Array:
    """exact array (n,): the least dual prices T(z) that go with these antichain multipliers; 0 at the root."""
    tree = instance.tree
    own = fast(constant(instance.target, 1))
    for tight in antichains:
        for node in tight.nodes:
            own[node] -= fast(exact_array([tight.multiplier]))[0]
    target = fast(instance.target)
    drafted = drafting.drafted(instance)
    prices = own * 0
    for d in range(tree.depth, 0, -1):
        nodes = tree.level(d)
        below = tree.sum_children(target * prices, d) if d < tree.depth else own[nodes] * 0
        prices[nodes] = np.where(drafted[nodes], maximum(own[nodes] + below, own[nodes] * 0), own[nodes] * 0)
    return settled(prices)


def dual_bound(instance: Instance, paths: Drafted, antichains: Sequence[TightAntichain]) -> Fraction:
    """An upper bound on the optimum by weak duality, valid for any nonnegative multipliers.

    Raises ValueError for a negative multiplier.
    """
    if any(tight.multiplier < 0 for tight in antichains):
        raise ValueError("multipliers must be nonnegative for weak duality")
    drafting = as_drafting(paths)
    prices = target_matching_prices(instance, drafting, antichains)
    bound = sum((instance.target[y] * prices[y] for y in instance.tree.children(0)), Fraction(0))
    for tight in antichains:
        bound += tight.multiplier * drafting.hit_probability(instance, tight.nodes)
    return to_fraction(bound)
