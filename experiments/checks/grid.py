"""The built-in grid of exact instances, with their optima computed once."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from nodebudget.lp import (
    Instance,
    Optimum,
    accepted_tokens,
    block_budgets,
    greedy_skewed_draft,
    random_instance,
    solve_multi_path,
)
from nodebudget.lp.numbers.rationals import Array, exact_array
from nodebudget.verifiers.audit import ExactAudit

PATHS = (1, 2, 3, 4)

SHAPES = ((2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (4, 1), (4, 2))
"""(V, L) of the grid."""


@dataclass(frozen=True, eq=False)
class Case:
    """One exact instance of the grid."""

    family: str
    label: str
    instance: Instance

    @property
    def shape(self) -> tuple[int, int]:
        """(V, L)."""
        return self.instance.vocab, self.instance.depth

    @property
    def drafted_paths(self) -> int:
        """Number of paths that can be drafted."""
        return sum(1 for leaf in self.instance.tree.leaves if self.instance.joint_draft[leaf] > 0)


@dataclass(eq=False)
class Grid:
    """The cases, and what is computed about them, once each."""

    cases: tuple[Case, ...]
    optima: dict[tuple[str, int], Optimum] = field(default_factory=dict)
    audits: dict[tuple[str, int, str], ExactAudit] = field(default_factory=dict)
    mixed: dict[tuple[str, int], float] = field(default_factory=dict)

    def optimum(self, case: Case, paths: int) -> Optimum:
        """OPT_K of a case, certified or not; remembered."""
        key = (case.label, paths)
        if key not in self.optima:
            self.optima[key] = solve_multi_path(case.instance, paths)
        return self.optima[key]

    def value(self, case: Case, paths: int) -> Fraction:
        """OPT_K as a certified rational; ValueError where no certificate was reached."""
        found = self.optimum(case, paths)
        if not found.certified:
            raise ValueError(f"{case.label}, K={paths}: {found.verdict}")
        return Fraction(found.value)

    def learn(self, other: Grid) -> None:
        """Take over what was computed about cases of the same labels."""
        self.optima |= other.optima
        self.audits |= other.audits
        self.mixed |= other.mixed

    def small(self, limit: int, paths: int) -> list[Case]:
        """The cases with at most `limit` tuples of `paths` drafted paths."""
        return [case for case in self.cases if case.drafted_paths**paths <= limit]


def block_value(case: Case) -> Fraction:
    """E|Z| of block verification on one path, from its budgets (5.2)."""
    return Fraction(accepted_tokens(block_budgets(case.instance)))


def greedy_value(case: Case, paths: int) -> Fraction:
    """E|Z| of greedy multi-path block verification, from its skewed draft (6.3)."""
    nu = greedy_skewed_draft(case.instance, paths)
    return Fraction(accepted_tokens(block_budgets(case.instance, nu)))


def build_grid() -> Grid:
    """The built-in grid: the motivating instance and five families, every one exact."""
    third = Fraction(1, 3)
    law = {(): [third, 2 * third], (0,): [third, 2 * third], (1,): [third, 2 * third]}
    flipped = {context: row[::-1] for context, row in law.items()}
    cases = [Case("motivating", "motivating", Instance.from_laws(2, 2, law, flipped))]
    for vocab, depth in SHAPES:
        for family, name, zeros, first_seed in (
            ("flat", "flat", 0.0, 1),
            ("flat", "zeros", 0.3, 3),
            ("iid", "iid", 0.0, 5),
            ("markov", "markov", 0.1, 7),
            ("identical", "identical", 0.0, 9),
        ):
            label = "depth one" if depth == 1 and name != "identical" else name
            for seed in (first_seed, first_seed + 1):
                instance = random_instance(family, vocab, depth, seed, zeros=zeros)
                cases.append(Case(label, f"{name} V={vocab} L={depth} seed={seed}", instance))
    return Grid(tuple(cases))


def random_budgets(instance: Instance, rng: np.random.Generator, eagerness: int) -> Array:
    """exact array (n,): random budgets that meet (2.2), D(zy) a random share of p(y|z) D(z).

    Args:
        instance: an exact instance.
        rng: source of randomness.
        eagerness: the shares are drawn from eagerness/12 .. 1, so that a larger one accepts more.
    """
    budgets = [Fraction(1)]
    for node in range(1, len(instance.tree)):
        share = Fraction(int(rng.integers(eagerness, 13)), 12)
        budgets.append(budgets[instance.tree.parent[node]] * instance.target[node] * share)
    return exact_array(budgets)
