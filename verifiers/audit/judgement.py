"""From the law of (Z, Y) over all drafted tuples to a verdict, in rationals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from nodebudget.lp import Instance, accepted_tokens, violated_antichains
from nodebudget.lp.drafting.iid_paths import hit_probability
from nodebudget.lp.instances.tables import html_table, node_name, to_frame
from nodebudget.lp.instances.trees import format_context
from nodebudget.lp.numbers.rationals import Array, exact_array, shortened, to_fmpq, to_fraction


@dataclass(frozen=True, eq=False)
class ExactAudit:
    """What an exact audit found; every number is a Fraction.

    Attributes:
        verifier: its name.
        instance: what it was judged on, exact.
        paths: number K of drafted paths.
        accepted_tokens: E|Z|.
        optimum: OPT_K, which no valid verifier exceeds.
        prefix_matching: every law is a probability law on prefixes of the drafted paths, and the budgets
            respect D(A) <= f(q(A)) for every antichain A (statement 3.1).
        target_matching: the JOINT law of the next L + 1 tokens is the target's (statement 2.1).
        total_variation: distance of that joint law from the target's.
        budgets: exact array (n,), Pr[z is a prefix of Z].
        joint: exact array (n, V), Pr[Z = z, Y = y].
        faults: what is wrong, in words; empty for a lossless verifier.
    """

    verifier: str
    instance: Instance
    paths: int
    accepted_tokens: Fraction
    optimum: Fraction
    prefix_matching: bool
    target_matching: bool
    total_variation: Fraction
    budgets: Array
    joint: Array
    faults: tuple[str, ...]

    @property
    def gap(self) -> Fraction:
        """OPT_K minus the accepted tokens; negative only for an invalid verifier."""
        return self.optimum - self.accepted_tokens

    @property
    def lossless(self) -> bool:
        """True when nothing is wrong."""
        return not self.faults

    def __repr__(self) -> str:
        return f"ExactAudit({shortened(self.verifier)}, K={self.paths}: {self._summary()})"

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
        caption = f"{self.verifier}, K = {self.paths}: {self._summary()}"
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
    instance: Instance,
    paths: int,
    joint: Array,
    faults: list[str],
    optimum: Fraction,
    rounding: Fraction = Fraction(0),
) -> ExactAudit:
    """The verdict on a law of (Z, Y) with the drafted tuples summed out (statements 2.1, 3.1 and 10.1).

    Args:
        name: of the verifier.
        instance: exact.
        paths: number K of drafted paths.
        joint: exact array (n, V), Pr[Z = z, Y = y].
        faults: what was wrong already with the laws of single drafted tuples: each is one of prefix-matching.
        optimum: OPT_K.
        rounding: how much of a deviation is put down to floats inside the verifier; 0 where it is exact.
    """
    tree = instance.tree
    budgets = _budgets(instance, joint)
    value = Fraction(accepted_tokens(budgets))
    above = violated_antichains(tree, budgets, instance.joint_draft, paths)
    beyond = [a for a in above if a.budget - hit_probability(a.draft_mass, paths) > rounding]
    for found in beyond[:1]:
        names = ", ".join(repr(format_context(tree.path(node))) for node in found.nodes)
        faults.append(
            f"the budgets of {names} sum to {found.budget}, above the chance that a drafted path passes"
        )
    prefix_matching = not faults
    distance = _distance(instance, joint)
    if distance > rounding:
        faults.append(
            f"the next {tree.depth + 1} tokens are at total variation {distance} from the target's law"
        )
        faults += _first_mismatch(instance, joint, budgets, rounding)
    if value > optimum + rounding:
        faults.append(f"E|Z| = {value} is above OPT_{paths} = {optimum}, which no valid verifier exceeds")
    return ExactAudit(
        verifier=name,
        instance=instance,
        paths=paths,
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
    budgets = np.array([sum(map(to_fmpq, row), fmpq(0)) for row in joint], dtype=object)
    for d in range(tree.depth - 1, -1, -1):
        budgets[tree.level(d)] += tree.sum_children(budgets, d)
    return exact_array(budgets)


def _distance(instance: Instance, joint: Array) -> Fraction:
    """Total variation of the next L + 1 tokens, the rest drawn from the target, from the target's law."""
    tree = instance.tree

    def below(node: int, left: fmpq) -> Any:
        """Twice the distance on the strings through a node that the output reaches with mass `left`.

        `left` is the mass of outputs through the node that left the draft at or before it.
        """
        wanted = to_fmpq(instance.joint_target[node])
        target = instance.target_law(node)
        total = fmpq(0)
        for y in range(tree.vocab):
            emitted = left * to_fmpq(target[y]) + to_fmpq(joint[node, y])
            if node in tree.leaves:
                total += abs(emitted - wanted * to_fmpq(target[y]))
            else:
                total += below(int(tree.first_child[node]) + y, emitted)
        return total

    return to_fraction(below(0, fmpq(0)) / 2)


def _first_mismatch(instance: Instance, joint: Array, budgets: Array, rounding: Fraction) -> list[str]:
    """Where statement 2.1, Pr[Z = z, Y = y] = D(z) p(y|z) - D(zy), fails first."""
    tree = instance.tree
    for node in range(len(tree)):
        target = instance.target_law(node)
        for y in range(tree.vocab):
            budget = Fraction(0) if node in tree.leaves else budgets[int(tree.first_child[node]) + y]
            wanted = budgets[node] * target[y] - budget
            if abs(joint[node, y] - wanted) > rounding:
                name = format_context(tree.path(node))
                return [
                    f"stopping at {name!r} and emitting {y} has probability {joint[node, y]}; it must be {wanted} (2.1)"
                ]
    return []
