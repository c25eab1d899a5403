"""What is known of an optimum: the value, budgets that attain it, and the proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from .drafting.problem import Problem
from .instances.tables import html_table, node_name, short_number, to_frame
from .numbers.rationals import Array
from .proofs.certificates import Certificate, TightAntichain


class OptimumStatus(StrEnum):
    """How sure an optimum is."""

    CERTIFIED = "optimal, certified"
    NOT_CERTIFIED = "optimal in floats, not certified"
    BRACKETED = "bracketed, both ends proven, not certified"
    BOUNDED = "bounded in floats, not certified"


@dataclass(frozen=True, eq=False, repr=False)
class Optimum:
    """The optimum of LP_1 or LP_K.

    Attributes:
        problem: the instance, and what is drafted on it.
        value: OPT_K: a Fraction when it is certified for an exact instance, a float otherwise.
        budgets: array (n,), optimal node budgets, exact or float like `value`.
        status: how sure it is. BRACKETED: a large tree, or cutting planes that stopped early. BOUNDED: the slope
            programs stopped early and no proof was asked for. In these two cases `value` is only an upper bound, and
            `budgets` attain the lower end.
        reason: why it is not certified; "" when it is.
        certificate: the verified proof, or None. For a float instance it is about the rational reading of
            the instance (`Instance.to_exact`) without the target's laws at the leaves, on which no linear
            program depends.
        bracket: floats between which the optimum lies; equal when it is certified or the solver converged on a
            small tree.
        rows: number of constraints in the last program.
        antichain_rows: number of antichain constraints in it.
        rounds: cutting-plane rounds; 1 without cutting planes.
        proven: rationals between which the optimum lies, by `proven_lower_bound` and `proven_upper_bound`
            (statements 9.1 and 9.2); equal when it is certified; None when no proof was asked for.
    """

    problem: Problem
    value: Any
    budgets: Array
    status: OptimumStatus
    reason: str
    certificate: Certificate | None
    bracket: tuple[float, float]
    rows: int
    antichain_rows: int
    rounds: int
    proven: tuple[Fraction, Fraction] | None = None

    @property
    def paths(self) -> int | None:
        """The number K of drafted paths where they are i.i.d., else None."""
        return self.problem.paths

    @property
    def certified(self) -> bool:
        """True when an exact certificate was verified."""
        return self.certificate is not None

    @property
    def antichains(self) -> tuple[TightAntichain, ...]:
        """The tight antichains with their multipliers, as in the certificate; empty without one."""
        return self.certificate.antichains if self.certificate else ()

    @property
    def block_efficiency(self) -> Any:
        """Expected tokens per target pass, E|Z| + 1."""
        return self.value + 1

    @property
    def verdict(self) -> str:
        """The status with its reason, and with the two ends where that is all that is known, in one line."""
        if not self.reason:
            return str(self.status)
        ends = ""
        if self.status is OptimumStatus.BRACKETED:
            low, high = self.bracket
            ends = f": between {low} and {high}"
        return f"{self.status}{ends} ({self.reason})"

    def __repr__(self) -> str:
        value, shown = short_number(self.value), f"{float(self.value):.6f}"
        both = f"{value} = {shown}" if "/" in value else shown
        return f"Optimum({self.problem.drafting}, accepted tokens {both}, {self.status})"

    def _repr_html_(self) -> str:
        tree, instance = self.problem.instance.tree, self.problem.instance
        nodes = html_table(
            ["node", "budget D(z)", "p(z)", "q(z)"],
            self._rows(),
            f"OPT, {self.problem.drafting}: {short_number(self.value)} accepted tokens; {self.verdict}",
            count=len(instance.tree) - 1,
        )
        if not self.antichains:
            return nodes
        named = (
            (" ".join(f"[{node_name(tree, node)}]" for node in tight.nodes), tight.multiplier)
            for tight in self.antichains
        )
        return nodes + html_table(
            ["tight antichain", "multiplier"], named, "The proof of the bound", count=len(self.antichains)
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row per node but the root: node, length, budget, target, draft.

        `target` and `draft` are p(z) and q(z), the probabilities of the node's whole string. Raises ImportError
        without pandas.
        """
        names, budgets, target, draft = zip(*self._rows(), strict=True)
        lengths = self.problem.instance.tree.lengths[1:].tolist()
        return to_frame(
            {"node": names, "length": lengths, "budget": budgets, "target": target, "draft": draft}
        )

    def _rows(self) -> Iterator[tuple[str, Any, Any, Any]]:
        """Every node but the root: its tokens, D(z), p(z) and q(z)."""
        instance = self.problem.instance
        for node in range(1, len(instance.tree)):
            name = node_name(instance.tree, node)
            yield name, self.budgets[node], instance.joint_target[node], instance.joint_draft[node]
