"""The optimum for trees grown node by node, in floats, as the best mixture of orders (statements 13.1 and 13.5).

An order of the nodes is a rule: the first drafted node is picked. With X(z) the probability that what is picked is at
or below z, budgets D <= X that are target-matching are feasible, and so they are for a mixture of orders; the best
mixture attains the optimum. The dual program chooses v(z) >= 0 and prices T(z) with
v(z) + T(z) >= 1 + sum p(y|z) T(zy), and pays the largest v . X of an order. For fixed v that order is known: by the sum
of v from the root to the node, falling. The antichains that v stands for (statement 9.1) are the sets that this order
goes through. So every round gives a bound from both sides, and the orders found so far are the rows of the program that
names the next v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..budgets.node_budgets import accepted_tokens, block_budgets
from ..drafting.grown import GrownTree
from ..drafting.orders import first_drafted
from ..drafting.problem import Problem
from ..instances.progress import progress
from ..numbers.rationals import Array
from .sessions import MatrixSession, SolverFailure, Status

STEP = 0.2
"""Where the next order is asked for: this share of the way from the best v so far to the program's.

The program's own is an extreme point that jumps about.
"""

WHOLE_STEP_EVERY = 5
"""Rounds between two whole steps, which find the end at once when it is near."""

SMALLEST = 1e-11
"""What an order picks with less probability is not shown to the solver, which can end without a verdict over it."""

WIDTH = 1e-9
"""Relative width of the bracket at which it has converged."""

ROUND_LIMIT = 1000
WORK_LIMIT = 300_000_000
"""Simplex iterations times rows, summed over the rounds, after which it stops and says so."""


@dataclass(frozen=True, eq=False)
class MixtureBracket:
    """What the float phase found.

    Attributes:
        lower, upper: floats; the optimum lies between them up to rounding.
        feasible: float array (n,): budgets that attain `lower`.
        orders: the orders of the best mixture, each an int array of nodes.
        shares: float array, their probabilities.
        weights: float array (n,): the dual solution, the multiplier of all antichains that contain a node.
        converged: True when the bracket is relatively no wider than `WIDTH`.
        rounds, rows: programs solved, and the rows of the last one.
    """

    lower: float
    upper: float
    feasible: Array
    orders: tuple[Array, ...]
    shares: Array
    weights: Array
    converged: bool
    rounds: int
    rows: int


class _Dual:
    """The dual program: its variables are v and T of the live nodes but the root, and what an order pays."""

    def __init__(self, problem: Problem, drafting: GrownTree) -> None:
        self.instance, self.drafting = problem.instance, drafting
        tree, target = self.instance.tree, self.instance.target
        self.nodes = nodes = np.flatnonzero(problem.live)[1:]
        count = len(nodes)
        column = np.zeros(len(tree), dtype=np.int64)
        column[nodes] = np.arange(count)
        above = tree.parent[nodes]
        costs = np.concatenate((np.zeros(count), np.where(above == 0, -target[nodes], 0.0), [-1.0]))
        self.session = MatrixSession(costs, np.full(len(costs), float(self.instance.depth)), 1.0)
        row, inner = np.arange(count), np.flatnonzero(above)
        entries = (
            np.concatenate((-np.ones(2 * count), target[nodes[inner]])),
            (
                np.concatenate((row, row, column[above[inner]])),
                np.concatenate((row, count + row, count + inner)),
            ),
        )
        self.session.add_rows(sparse.csr_array(entries, shape=(count, len(costs))), np.full(count, -1.0))

    def best_order(self, values: Array) -> tuple[float, Array, Array]:
        """An upper bound on the optimum from v, the order that goes with it, and X of that order."""
        tree, target, nodes = self.instance.tree, self.instance.target, self.nodes
        steps = self._spread(values)
        total = steps.copy()
        for d in range(2, tree.depth + 1):
            total[tree.level(d)] += total[tree.parent[tree.level(d)]]
        order = nodes[np.lexsort((-nodes, -total[nodes]))]  # among equals what is below comes first
        first = first_drafted(self.instance, self.drafting, order)
        prices, reached = np.zeros(len(tree)), first.copy()
        live = self._spread(np.ones(len(nodes)))
        for d in range(tree.depth, -1, -1):
            level = tree.level(d)
            if d < tree.depth:
                reached[level] += tree.sum_children(reached, d)
                prices[level] = tree.sum_children(target * prices, d)
            if d:
                prices[level] = live[level] * np.maximum(0.0, 1 - steps[level] + prices[level])
        return float(total @ first + prices[0]), order, reached

    def add(self, reached: Array) -> None:
        """The row of an order: it pays v . X."""
        shown = np.where(reached > SMALLEST, reached, 0.0)
        row = np.concatenate((shown[self.nodes], np.zeros(len(self.nodes)), [-1.0]))
        self.session.add_rows(sparse.csr_array(row[None, :]), np.zeros(1))

    def _spread(self, values: Array) -> Array:
        out = np.zeros(len(self.instance.tree))
        out[self.nodes] = values
        return out


def best_mixture(problem: Problem, drafting: GrownTree) -> MixtureBracket:
    """Rounds of orders until both ends meet, or until `ROUND_LIMIT`, `WORK_LIMIT`, or a failure of the solver.

    Args:
        problem: in floats.
        drafting: that of the problem.

    Raises SolverFailure when the solver reports no optimum in the first round.
    """
    dual, instance = _Dual(problem, drafting), problem.instance
    count = len(dual.nodes)
    upper, best = np.inf, np.full(count, 0.5)
    asked, work = best, 0
    orders: list[Array] = []
    columns: list[Array] = []
    lower, feasible, mixture = -1.0, np.empty(0), np.empty(0)
    bar = progress("round", what="mixtures of orders")
    for turn in range(1, ROUND_LIMIT + 1):
        value, order, reached = dual.best_order(asked)
        if value < upper:
            upper, best = value, asked
        orders.append(order)
        columns.append(reached)
        dual.add(reached)
        solution = dual.session.solve()
        bar.update()
        if solution.status is not Status.OPTIMAL:
            if mixture.size:  # what earlier rounds found is there
                break
            raise SolverFailure(f"{problem.program}: the float solver said {solution.status.value!r}")
        shares = np.maximum(solution.row_duals[count:], 0.0)
        if not shares.any():  # nothing can be accepted: any mixture will do
            shares[-1] = 1.0
        shares /= shares.sum()
        ceiling = np.sum([shares[i] * columns[i] for i in np.flatnonzero(shares)], axis=0)
        ceiling[0] = 1.0
        budgets = block_budgets(instance, ceiling)
        if (found := float(accepted_tokens(budgets))) > lower:
            lower, feasible, mixture = found, budgets, shares
        work += solution.iterations * dual.session.height
        if upper - lower <= WIDTH * upper or work > WORK_LIMIT:
            break
        step = STEP if turn % WHOLE_STEP_EVERY else 1.0
        asked = best + step * (np.maximum(solution.values[:count], 0.0) - best)
    bar.close()
    used = np.flatnonzero(mixture)
    return MixtureBracket(
        min(lower, upper),
        upper,
        feasible,
        tuple(orders[i] for i in used),
        mixture[used],
        dual._spread(best),
        upper - lower <= WIDTH * upper,
        len(orders),
        dual.session.height,
    )
