"""The program of draws with replacement on large trees, in floats: prices of whole subtrees (statement 13.7).

Let M(z, s) be the most that an antichain A at and below z is worth, D(A) - s h(z), where a hit at z costs the price s
(h as in statement 13.7). With k draws at z, h(z) = f(t), f(t) = 1 - (1 - t)^k, t = the sum of q(y|z) h(zy); and f(t) is
the least of mu t + f*(mu) over slopes mu. So M(z, s) is the largest of D(z) - s, 0 and, over mu,

    sum of M(zy, s mu q(y|z)) over y - s f*(mu),

and no antichain is violated if and only if the last is at most 0 at the root, where s = 1. The program has finitely
many slopes, each with variables M for the children of its node, and of subtrees of some size it asks M >= D(A) - s h
for the antichains separated so far: one such row does what plain cutting planes need a row for in all combinations
with antichains in other subtrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..budgets.node_budgets import block_budgets
from ..budgets.repair import feasible_budgets
from ..drafting.float_hulls import FloatHulls
from ..drafting.hulls import ITSELF
from ..drafting.problem import Problem
from ..drafting.replacement import DrawnWithReplacement
from ..instances.progress import progress
from ..numbers.rationals import Array
from .mixtures import Price, Split, mixture
from .sessions import MatrixSession, SolverFailure, Status
from .slopes import FIRST_SLOPES, MEMORY, SMALLEST_UNIT, TOLERANCE, conjugate, slope_at

SPLIT_LENGTH, SPLIT_NODES = 2, 200
"""Subtrees are split into those of the children at shorter nodes with at least so many nodes at and below them."""

ROOT_SLOPES = 4
"""Most new slopes of the root for one point."""

SHORT = 0.3
"""A new slope is added at a node where the old ones, fully separated, would leave this share of the violation."""

REPAIR_EVERY = 3
"""Rounds between two looks at the bracket."""

ROUND_LIMIT = 100

WORK_LIMIT = 4_000_000_000
"""Simplex iterations times rows, summed over the rounds, after which the rounds stop: some tens of seconds."""


@dataclass(frozen=True, eq=False)
class PriceBracket:
    """What the float phase found.

    Attributes:
        lower, upper: floats; the optimum lies between them up to the solver's tolerance.
        feasible: float array (n,): budgets that attain `lower`.
        weighted: a dual solution: antichains with their multipliers.
        converged: True when no antichain is violated by more than the tolerance.
        rounds, rows, cuts: programs solved; rows of the last one; antichains that were separated in subtrees.
    """

    lower: float
    upper: float
    feasible: Array
    weighted: list[tuple[tuple[int, ...], float]]
    converged: bool
    rounds: int
    rows: int
    cuts: int


class PriceProgram:
    """The program, which grows by slopes and antichains."""

    def __init__(self, problem: Problem, draws: Sequence[int], unit: float) -> None:
        """`problem` is in floats; `draws` are those of each length; the solver is shown multiples of `unit`."""
        instance = problem.instance
        self.tree, self.draft, self.draws = instance.tree, instance.draft, draws
        self.live, self.tolerance = problem.live, TOLERANCE * unit
        count, target, parent = len(self.tree), instance.target[1:], self.tree.parent[1:]
        self._lengths = self.tree.lengths.tolist()
        self._size = np.ones(count, dtype=np.int64)
        for length in range(self.tree.depth - 1, -1, -1):
            self._size[self.tree.level(length)] += self.tree.sum_children(self._size, length)
        ceiling = np.where(self.live, problem.single_hits, 0.0)[1:]
        self.session = MatrixSession(np.ones(count - 1), ceiling, unit)
        column, inner = np.arange(count - 1), np.flatnonzero(parent > 0)
        values = np.concatenate((np.ones(count - 1), -target[inner]))
        places = (np.concatenate((column, inner)), np.concatenate((column, parent[inner] - 1)))
        shape = (count - 1, count - 1)
        self.session.add_rows(
            sparse.csr_array((values, places), shape=shape), np.where(parent == 0, target, 0.0)
        )
        self._rows: list[tuple[list[int], list[float], float]] = []  # those that wait to be added
        self._height, self._width, self.cuts = count - 1, count - 1, 0
        self._prices: dict[int, list[Price]] = {}
        self.root = Price(0, 1.0, None, 0)
        for mass in np.arange(1, FIRST_SLOPES + 1) / (FIRST_SLOPES + 1):
            self._split(self.root, slope_at(float(mass), draws[0]))

    @property
    def grown(self) -> bool:
        """Whether there are rows that the solver does not know yet."""
        return bool(self._rows)

    def flush(self) -> None:
        """Hand the new variables and rows to the solver."""
        if self._width > self.session.width:
            self.session.add_free_variables(self._width - self.session.width)
        if self._rows:
            row = np.repeat(np.arange(len(self._rows)), [len(columns) for columns, _, _ in self._rows])
            column = np.concatenate([columns for columns, _, _ in self._rows])
            value = np.concatenate([values for _, values, _ in self._rows])
            shape = (len(self._rows), self._width)
            matrix = sparse.csr_array((value, (row, column)), shape=shape)
            self.session.add_rows(matrix, np.array([bound for _, _, bound in self._rows]))
            self._rows = []

    def separate(self, values: Array, budgets: Array) -> float:
        """Add slopes and rows that the values of the variables violate at these budgets; the largest violation."""
        values = np.append(
            values, np.zeros(self._width - len(values))
        )  # of those that the solver does not know yet
        hulls = FloatHulls(self.tree, budgets, self.draft, self.draws)
        hit, budget, _ = hulls.hull()
        excess = budget - hit
        around = np.concatenate(([-np.inf], excess, [-np.inf]))
        peaks = np.flatnonzero((excess > self.tolerance) & (excess >= around[:-2]) & (excess > around[2:]))
        best: dict[int, tuple[list[float], list[int]]] = {}
        for node, prices in self._prices.items():
            hits, worth, _ = hulls.hull(node)
            gain = worth - np.array([price.price for price in prices])[:, None] * hits
            at = gain.argmax(axis=1)
            best[node] = gain[np.arange(len(at)), at].tolist(), at.tolist()
        for split in list(self.root.splits):
            for price in split.below:
                self._separate(price, hulls, best, values)
        for vertex in peaks[np.argsort(-excess[peaks], kind="stable")][:ROOT_SLOPES].tolist():
            self._split(self.root, self._slope(0, float(hit[vertex])))
        return float(excess.max())

    def _separate(
        self,
        price: Price,
        hulls: FloatHulls,
        best: dict[int, tuple[list[float], list[int]]],
        values: Array,
    ) -> None:
        node, variable = price.node, price.variable
        assert variable is not None
        worth, vertex = best[node][0][price.rank], best[node][1][price.rank]
        lacking = worth - max(0.0, float(values[variable]))
        if lacking <= self.tolerance:
            return
        hits, _, taken = hulls.hull(node)
        hit = float(hits[vertex])
        large = self._lengths[node] < SPLIT_LENGTH and self._size[node] >= SPLIT_NODES
        if taken[vertex] == ITSELF or not large:
            nodes = hulls.antichain(vertex, node)
            if nodes not in price.cuts:
                price.cuts[nodes] = hit, self._height
                self._row([*(z - 1 for z in nodes), variable], [1.0] * len(nodes) + [-1.0], price.price * hit)
                self.cuts += 1
            return
        reach = 0.0
        for split in price.splits:
            total = sum(best[below.node][0][below.rank] for below in split.below)
            reach = max(reach, total - split.bound)
            for below in split.below:
                self._separate(below, hulls, best, values)
        if worth - reach > SHORT * lacking:
            self._split(price, self._slope(node, hit))

    def _slope(self, node: int, hit: float) -> float:
        """f'(t) where f(t) = hit."""
        k = self.draws[self._lengths[node]]
        return slope_at(-float(np.expm1(np.log1p(-min(hit, 1.0)) / k)), k) if hit < 1 else slope_at(1.0, k)

    def _split(self, price: Price, slope: float) -> None:
        if any(abs(split.slope - slope) <= TOLERANCE for split in price.splits):
            return
        node, k, below = price.node, self.draws[self._lengths[price.node]], []
        for child in self.tree.children(node):
            if self.live[child]:
                siblings = self._prices.setdefault(child, [])
                cost = price.price * slope * float(self.draft[child])
                below.append(Price(child, cost, self._width, len(siblings)))
                siblings.append(below[-1])
                self._width += 1
        bound = price.price * conjugate(slope, k)
        price.splits.append(Split(slope, k, below, bound, self._height))
        own = [] if price.variable is None else [price.variable]
        variables = [b.variable for b in below if b.variable is not None]
        self._row([*variables, *own], [1.0] * len(below) + [-1.0] * len(own), bound)

    def _row(self, columns: list[int], values: list[float], bound: float) -> None:
        self._rows.append((columns, values, bound))
        self._height += 1

    def weighted(self, row_duals: Array, bound_duals: Array) -> list[tuple[tuple[int, ...], float]]:
        """Antichains of the whole tree with multipliers that prove a bound at most that of the dual solution."""
        single = np.maximum(bound_duals[: len(self.tree) - 1], 0.0) * self.live[1:]
        found: dict[tuple[int, ...], float] = {
            (int(z) + 1,): float(single[z]) for z in np.flatnonzero(single)
        }
        duals = np.append(row_duals, np.zeros(self._height - len(row_duals)))
        for nodes, _, weight in mixture(self.root, duals, self.draft):
            found[nodes] = found.get(nodes, 0.0) + weight
        return list(found.items())


def price_phase(problem: Problem, width: float) -> PriceBracket:
    """Solve the program of draws with replacement on a float instance, to this relative width of the bracket.

    Raises SolverFailure when the solver reports no optimum of the first program.
    """
    drafting, instance = problem.drafting, problem.instance
    assert isinstance(drafting, DrawnWithReplacement)
    feasible = feasible_budgets(problem, block_budgets(instance))
    unit = min(1.0, max(SMALLEST_UNIT, float(feasible[1:].sum())))
    program = PriceProgram(problem, drafting.counts(instance.depth), unit)
    average: Array | None = None
    rounds = work = 0
    bar = progress("round", what="prices")
    while True:
        program.flush()
        solution = program.session.solve()
        stalled = solution.status is not Status.OPTIMAL
        if stalled and average is None:
            raise SolverFailure(
                f"{problem.program}: the float solver said {solution.status.value!r}, not optimal"
            )
        if not stalled:
            bar.update()
            rounds, rows, upper = rounds + 1, program.session.height, solution.objective
            work += solution.iterations * rows
            duals = solution.row_duals, solution.bound_duals
            last = np.concatenate(([1.0], np.maximum(solution.values[: len(instance.tree) - 1], 0.0)))
            last *= problem.live
            average = last if average is None else MEMORY * average + (1 - MEMORY) * last
            worst = program.separate(solution.values, last)
            program.separate(solution.values, average)
            converged = worst <= program.tolerance or not program.grown
        stop = stalled or converged or rounds >= ROUND_LIMIT or work > WORK_LIMIT
        if stop or rounds % REPAIR_EVERY == 0:
            assert average is not None
            repaired = [feasible_budgets(problem, one) for one in (last, average)]
            feasible = max((feasible, *repaired), key=lambda one: float(one[1:].sum()))
            lower = float(feasible[1:].sum())
            if stop or upper - lower <= width * upper:
                break
    bar.close()
    return PriceBracket(
        lower, upper, feasible, program.weighted(*duals), converged, rounds, rows, program.cuts
    )
