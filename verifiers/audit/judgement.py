"""From the law of (Z, Y) over all drafted tuples to a verdict, in rationals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from nodebudget.lp import Instance, accepted_tokens
from nodebudget.lp.drafting import Drafting, IidPaths, Problem
from nodebudget.lp.instances.tables import html_table, node_name, to_frame
from nodebudget.lp.instances.trees import format_context
from nodebudget.lp.numbers.rationals import Array, exact_array, shortened, to_fmpq, to_fraction


@dataclass(frozen=True, eq=False)
class ExactAudit:
    """What an exact audit found; every number is a Fraction.

    Attributes:
        verifier: its name.
        instance: what it was judged on, exact.
        drafting: what was drafted.
        accepted_tokens: E|Z|.
        optimum: OPT_K, or that of the drafting, which no valid verifier exceeds.
        prefix_matching: every law is a probability law on the drafted nodes, and the budgets respect D(A) <= F(A),
            the probability that A is met by what is drafted, for every antichain A (statements 3.1 and 13.1).
        target_matching: the JOINT law of the next L + 1 tokens is the target's (statement 2.1).
        total_variation: distance of that joint law from the target's.
        budgets: exact array (n,), Pr[z is a prefix of Z].
        joint: exact array (n, V), Pr[Z = z, Y = y].
        faults: what is wrong, in words; empty for a lossless verifier.
    """

    verifier: str
    instance: Instance
    drafting: Drafting
    accepted_tokens: Fraction
    optimum: Fraction
    prefix_matching: bool
    target_matching: bool
    total_variation: Fraction
    budgets: Array
    joint: Array
    faults: tuple[str, ...]

    @property
    def paths(self) -> int | None:
        """The number K of drafted paths where they are i.i.d., else None."""
        return self.drafting.paths if isinstance(self.drafting, IidPaths) else None

    @property
    def problem(self) -> Problem:
        """What it was judged on: the instance with the drafting."""
        return Problem(self.instance, self.drafting)

    @property
    def what(self) -> str:
        """What was drafted, in short: K = 2, or the text form of another drafting."""
        return f"K = {self.paths}" if self.paths else str(self.drafting)

    @property
    def gap(self) -> Fraction:
        """The optimum minus the accepted tokens; negative only for an invalid verifier."""
        return self.optimum - self.accepted_tokens

    @property
    def lossless(self) -> bool:
        """True when nothing is wrong."""
        return not self.faults

    def __repr__(self) -> str:
        drafted = f"K={self.paths}" if self.paths else shortened(self.what)
        return f"ExactAudit({shortened(self.verifier)}, {drafted}: {self._summary()})"

    def _summary(self) -> str:
        count = len(self.faults)
        verdict = "lossless" if self.lossless else f"NOT lossless, {count} fault{'s'[: count > 1]}"
        share = f" ({float(self.accepted_tokens / self.optimum):.2%})" if self.optimum else ""
        return f"{verdict}, E|Z| {float(self.accepted_tokens):.6g} of OPT {float(self.optimum):.6g}{share}"

    def _repr_html_(self) -> str:
        tree, instance = self.instance.tree, self.instance
        columns = (instance.joint_target, instance.joint_draft, self.budgets)
        rows = ([node_name(tree, z), *(column[z] for column in columns)] for z in range(1, len(tree)))
        faults = html_table(["fault"], [[fault] for fault in self.faults]) if self.faults else ""
        caption = f"{self.verifier}, {self.what}: {self._summary()}"
        return html_table(["node z", "p(z)", "q(z)", "D(z)"], rows, caption, count=len(tree) - 1) + faults

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row per node, the root first: its tokens, p(z), q(z), D(z), Pr[Z = z], all exact.

        Raises ImportError where pandas is not installed.
        """
        tree = self.instance.tree
        return to_frame(
            {
                "node": [format_context(tree.path(node)) for node in range(len(tree))],
                "target": self.instance.joint_target.tolist(),
                "draft": self.instance.joint_draft.tolist(),
                "budget": self.budgets.tolist(),
                "stop": [sum(row, Fraction(0)) for row in self.joint.tolist()],
            }
        )


def judge(
    name: str,
    problem: Problem,
    joint: Array,
    faults: list[str],
    optimum: Fraction,
    rounding: Fraction = Fraction(0),
) -> ExactAudit:
    """The verdict on a law of (Z, Y) with what is drafted summed out (statements 2.1, 3.1, 10.1 and 13.1).

    Args:
        name: of the verifier.
        problem: an exact instance, and what was drafted.
        joint: exact array (n, V), Pr[Z = z, Y = y].
        faults: what was wrong already with the laws of single outcomes: each is one of prefix-matching.
        optimum: of the problem.
        rounding: how much of a deviation is put down to floats inside the verifier; 0 where it is exact.
    """
    instance, tree = problem.instance, problem.instance.tree
    budgets = _budgets(instance, joint)
    value = Fraction(accepted_tokens(budgets))
    beyond = [a for a in problem.violated(budgets) if a.budget - problem.hit_probability(a.nodes) > rounding]
    passes = "a drafted path passes" if isinstance(problem.drafting, IidPaths) else "one of them is drafted"
    for found in beyond[:1]:
        names = ", ".join(repr(format_context(tree.path(node))) for node in found.nodes)
        faults.append(f"the budgets of {names} sum to {found.budget}, above the chance that {passes}")
    prefix_matching = not faults
    distance = _distance(instance, joint, budgets)
    if distance > rounding:
        faults.append(
            f"the next {tree.depth + 1} tokens are at total variation {distance} from the target's law"
        )
        faults += _first_mismatch(instance, joint, budgets, rounding)
    if value > optimum + rounding:
        best = (
            f"OPT_{paths}"
            if (paths := problem.paths)
            else f"the optimum of {shortened(str(problem.drafting))}"
        )
        faults.append(f"E|Z| = {value} is above {best} = {optimum}, which no valid verifier exceeds")
    return ExactAudit(
        verifier=name,
        instance=instance,
        drafting=problem.drafting,
        accepted_tokens=value,
        optimum=optimum,
        prefix_matching=prefix_matching,
        target_matching=distance <= rounding,
        total_variation=distance,
        budgets=budgets,
        joint=joint,
        faults=tuple(faults),
    )


def _budgets(instance: Instance, joint: Array) -> Array:
    """D(z): the mass of Z at or below z."""
    tree = instance.tree
    budgets = np.full(len(tree), fmpq(0))
    for node in np.flatnonzero((joint != 0).any(axis=1)):
        budgets[node] = sum(map(to_fmpq, joint[node]), fmpq(0))
    for d in range(tree.depth - 1, -1, -1):
        budgets[tree.level(d)] += tree.sum_children(budgets, d)
    return exact_array(budgets)


def _distance(instance: Instance, joint: Array, budgets: Array) -> Fraction:
    """Total variation of the next L + 1 tokens, the rest drawn from the target, from the target's law."""
    tree = instance.tree

    def below(node: int, left: fmpq) -> Any:
        """Twice the distance on the strings through a node that the output reaches with mass `left`.

        `left` is the mass of outputs through the node that left the draft at or before it.
        """
        wanted = to_fmpq(instance.joint_target[node])
        if not budgets[node]:  # all that comes here goes on with the target
            return abs(left - wanted)
        target = instance.target_law(node)
        total = fmpq(0)
        for y in range(tree.vocab):
            emitted = left * to_fmpq(target[y]) + to_fmpq(joint[node, y])
            child = tree.child(node, y)
            total += abs(emitted - wanted * to_fmpq(target[y])) if child is None else below(child, emitted)
        return total

    return to_fraction(below(0, fmpq(0)) / 2)


def _first_mismatch(instance: Instance, joint: Array, budgets: Array, rounding: Fraction) -> list[str]:
    """Where statement 2.1, Pr[Z = z, Y = y] = D(z) p(y|z) - D(zy), fails first."""
    tree = instance.tree
    for node in range(len(tree)):
        target = instance.target_law(node)
        for y in range(tree.vocab):
            child = tree.child(node, y)
            budget = Fraction(0) if child is None else budgets[child]
            wanted = budgets[node] * target[y] - budget
            if abs(joint[node, y] - wanted) > rounding:
                name = format_context(tree.path(node))
                return [
                    f"stopping at {name!r} and emitting {y} has probability {joint[node, y]}; it must be {wanted} (2.1)"
                ]
    return []
