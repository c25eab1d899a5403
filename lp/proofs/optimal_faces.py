"""The optimal face of LP_K that a dual solution names, in few variables (complementary slackness and statement 8.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from flint import fmpq

from ..drafting.iid_paths import hit_probability
from ..drafting.problem import Problem
from ..drafting.replacement import IidPaths
from ..drafting.top_sets import rank_key
from ..instances.instance import Instance
from ..numbers.rationals import Array, fast, fill, float_array, is_exact, settled, to_fmpq
from ..programs.linear_program import BudgetVariables
from .certificates import TightAntichain, target_matching_prices

NOTHING, ROOT = -1, 0

FaceRow = tuple[dict[int, fmpq], fmpq]
"""Coefficients of the variables, and the right-hand side of a row <=."""

FaceRowKind = Literal["antichain", "ceiling", "sign"]


class OptimalFace:
    """The budgets that meet with equality what a dual solution asks of every optimum.

    With prices T as in `certificates`: D(zy) = p(y|z) D(z) where T(zy) > 0, D(z) = 0 where the dual constraint of
    D(z) has slack, and D(A) = f(q(A)) where the multiplier of A is positive. The other nodes are free. Above the
    last level each has a variable. On it a family shares one: by statement 8.2 its budgets may be taken as
    min(p(y|z) D(z), level q(zy)), and which of the two is less is read off budgets that are nearly optimal.

    Attributes:
        chain: the antichains with a positive multiplier, from small to large draft mass.
        equations: for each of them a row, the difference of its equation and that of the antichain before.
        free: int array: the free nodes that are not tied to their parents.
        start, units: float arrays, one number per variable: its value in the given budgets, and its natural size.
        source, factor: int array (n,) and fmpq array (n,): D(z) is factor(z) times variable source(z) - 1. Source 0
            stands for the number one, and -1 for a budget of zero.
    """

    def __init__(
        self, instance: Instance, paths: int, antichains: Sequence[TightAntichain], near: Array
    ) -> None:
        """`near` are nearly optimal budgets, float array (n,). The instance is exact."""
        self.instance, self.paths = instance, paths
        self._draft, self._target = fast(instance.joint_draft), fast(instance.target)
        self._name_sources(antichains, near)
        self.chain = sorted((a.nodes for a in antichains), key=self._mass)
        before: list[tuple[int, ...]] = [(), *self.chain]
        self.equations = [self._row(nodes, less) for less, nodes in zip(before, self.chain, strict=False)]

    def _name_sources(self, antichains: Sequence[TightAntichain], near: Array) -> None:
        tree, paths = self.instance.tree, self.paths
        prices = fast(target_matching_prices(self.instance, IidPaths(self.paths), antichains))
        gains = tree.sum_children_everywhere(self._target * prices) + 1
        for tight in antichains:
            gains[list(tight.nodes)] -= to_fmpq(tight.multiplier)
        tied = np.asarray(prices > 0, dtype=bool)
        empty = ~self.instance.live | np.asarray(gains < 0, dtype=bool)
        tied[0], empty[0] = True, False
        levels, own = self._levels(tied | empty, near)
        variables = BudgetVariables(Problem(self.instance, IidPaths(paths)))
        sizes = np.zeros(len(tree))
        sizes[variables.nodes] = variables.program("units", ()).units
        self.source, self.factor = np.zeros(len(tree), dtype=np.int64), fill([fmpq(1)] * len(tree))
        start: list[float] = []
        units: list[float] = []
        families: dict[int, int] = {}
        for z in range(1, len(tree)):
            above = int(tree.parent[z])
            if empty[z] or self.source[above] == NOTHING:
                self.source[z], self.factor[z] = NOTHING, fmpq(0)
            elif tied[z]:
                self.source[z], self.factor[z] = self.source[above], self.factor[above] * self._target[z]
            elif np.isnan(own[z]):
                if above not in families:
                    start.append(levels[above])
                    units.append(float(paths))
                    families[above] = len(start)
                self.source[z], self.factor[z] = families[above], self._draft[z]
            else:
                start.append(float(own[z]))
                units.append(float(sizes[z]))
                self.source[z] = len(start)
        self.start, self.units = np.array(start), np.array(units)
        self.free = np.flatnonzero(~tied & (self.source != NOTHING))
        self._float_factor = float_array(settled(self.factor))

    def _levels(self, fixed: Array, near: Array) -> tuple[dict[int, float], Array]:
        """The level of each last family, by its parent, and the nodes with a budget of their own.

        Args:
            fixed: bool array (n,): nodes that are not free.
            near: float array (n,), nearly optimal budgets.

        Returns:
            The levels, and a float array (n,): the budgets; nan for the leaves that share a level.
        """
        tree, own, levels = self.instance.tree, near.copy(), {}
        target, draft = float_array(self.instance.target), float_array(self.instance.draft)
        mass = float_array(self.instance.joint_draft)
        leaves = np.arange(tree.leaves.start, len(tree))
        leaves = leaves[~fixed[leaves]]
        order = leaves[np.lexsort((rank_key(target[leaves], draft[leaves]), tree.parent[leaves]))]
        starts = np.flatnonzero(np.diff(tree.parent[order], prepend=-1))
        for family in np.split(order, starts[1:]) if len(order) else []:
            above = int(tree.parent[family[0]])
            ceiling = target[family] * near[above]
            after = np.append(ceiling[:0:-1].cumsum()[::-1], 0.0)
            candidates = (near[family].sum() - after) / mass[family].cumsum()  # as in `TopSets.budgets`
            levels[above] = level = max(0.0, float(candidates.max()))
            shares = level * mass[family]
            own[family] = np.where(shares > ceiling, ceiling, np.nan)
        return levels, own

    def _mass(self, nodes: Sequence[int]) -> fmpq:
        return self._draft[list(nodes)].sum() + fmpq(0) if nodes else fmpq(0)

    def _row(self, nodes: Sequence[int], less: Sequence[int]) -> FaceRow:
        """D(A) - D(B) <= f(q(A)) - f(q(B)) in the variables."""
        bound = hit_probability(self._mass(nodes), self.paths) - hit_probability(self._mass(less), self.paths)
        terms = [(fmpq(1), z) for z in sorted(set(nodes).difference(less))]
        terms += [(fmpq(-1), z) for z in sorted(set(less).difference(nodes))]
        return self._collect(terms, bound)

    def _collect(self, terms: Sequence[tuple[fmpq, int]], bound: fmpq) -> FaceRow:
        """The sum of multiples of budgets <= bound, in the variables."""
        out: dict[int, fmpq] = {}
        for multiple, z in terms:
            variable = int(self.source[z]) - 1
            if variable >= 0:
                out[variable] = out.get(variable, fmpq(0)) + multiple * self.factor[z]
            elif self.source[z] == ROOT:
                bound -= multiple * self.factor[z]
        return {k: a for k, a in out.items() if a}, bound

    def inequality(self, kind: FaceRowKind, nodes: tuple[int, ...]) -> FaceRow:
        """One inequality in the variables.

        Args:
            kind: "antichain", D(A) <= f(q(A)), less the equation of the antichain of the chain that A differs from
                least; "ceiling", D(zy) <= p(y|z) D(z) for one node; "sign", D(z) >= 0 for one node.
            nodes: the antichain, or the node.
        """
        if kind == "antichain":
            unlike = lambda one: len(set(one).symmetric_difference(nodes))  # noqa: E731
            return self._row(nodes, min(self.chain, key=unlike, default=()))
        (node,) = nodes
        if kind == "sign":
            return self._collect([(fmpq(-1), node)], fmpq(0))
        above = int(self.instance.tree.parent[node])
        return self._collect([(fmpq(1), node), (-self._target[node], above)], fmpq(0))

    def budgets(self, values: Array) -> Array:
        """array (n,): all budgets from the values of the variables: exact from fmpq numbers, else floats."""
        exact = is_exact(values)
        one = fill([fmpq(1)]) if exact else np.ones(1)
        factor = self.factor if exact else self._float_factor
        return settled(factor * np.concatenate((one, values))[np.maximum(self.source, 0)])
