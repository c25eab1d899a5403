"""Linear programs as plain data: maximise costs . x over x >= 0 subject to rows that know what they say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ..budgets.node_budgets import block_budgets
from ..drafting.problem import Problem
from ..instances.trees import PrefixTree, format_context
from ..numbers.rationals import Array, exact_array, fill, float_array, is_exact

RowKind = Literal["target-matching", "prefix-matching", "antichain", "simplex"]


@dataclass(frozen=True, slots=True)
class Row:
    """One constraint: sum of coefficients times variables <= bound (or == bound).

    Attributes:
        kind: what the row says: "target-matching" (2.2 for budgets, 2.1 for the verifier LP),
            "prefix-matching" (D(z) <= q(z)), "antichain" (D(A) <= f(q(A))), or "simplex" (probabilities of
            one drafted tuple sum to one).
        nodes: the tree nodes that the row is about.
        columns: variable numbers with a coefficient.
        coefficients: one number per column, exact or float like the program.
        bound: right-hand side.
        equality: True for an equation.
    """

    kind: RowKind
    nodes: tuple[int, ...]
    columns: tuple[int, ...]
    coefficients: tuple[Any, ...]
    bound: Any
    equality: bool = False


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """max costs . x subject to `rows` and x >= 0.

    Attributes:
        name: what the program is, for messages.
        variables: a label per variable: a node for LP_1 and LP_K, (instance, leaves of the drafted tuple, node, token)
            for the verifier LP.
        costs: array (number of variables,), exact or float.
        rows: the constraints.
        units: float array: the natural size of each variable. Solvers scale columns by it, so that budgets
            of 1e-30 are not taken for zero.
    """

    name: str
    variables: tuple[Any, ...]
    costs: Array
    rows: tuple[Row, ...]
    units: Array

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "float"
        return f"LinearProgram({self.name!r}, variables={len(self.variables)}, rows={len(self.rows)}, {kind})"

    @property
    def exact(self) -> bool:
        """True where every number is a Fraction."""
        return is_exact(self.costs)

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """The constraint matrix in floats, unscaled."""
        return row_matrix(self.rows, len(self.variables))

    @cached_property
    def bounds(self) -> Array:
        """float array: the right-hand sides."""
        return np.array([float(row.bound) for row in self.rows])

    @cached_property
    def equality(self) -> Array:
        """bool array: which rows are equations."""
        return np.array([row.equality for row in self.rows], dtype=bool)

    def describe(self, tree: PrefixTree) -> str:
        """The rows as text, one a line, nodes by their token strings.

        >>> from nodebudget.lp import random_instance, single_path_program
        >>> small = random_instance("iid", 2, 1, seed=1)
        >>> print(single_path_program(small).describe(small.tree))
        target-matching   D(0) <= 1/2
        target-matching   D(1) <= 1/2
        prefix-matching   D(0) <= 3/4
        prefix-matching   D(1) <= 1/4
        """

        def label(column: int) -> str:
            name = self.variables[column]
            if isinstance(name, tuple):
                _, leaves, node, y = name
                drafted = " | ".join(format_context(tree.path(leaf)) for leaf in leaves)
                return f"phi({drafted}; {format_context(tree.path(node))!r}, {y})"
            return f"D({format_context(tree.path(name))})"

        def line(row: Row) -> str:
            terms = [
                (f"{'-' if a < 0 else '+'} " + ("" if abs(a) == 1 else f"{abs(a)} ") + label(c))
                for c, a in zip(row.columns, row.coefficients, strict=True)
            ]
            text = " ".join(terms).removeprefix("+ ")
            return f"{row.kind:17} {text} {'==' if row.equality else '<='} {row.bound}"

        return "\n".join(line(row) for row in self.rows)


def row_matrix(rows: Sequence[Row], columns: int) -> sparse.csr_array:
    """The rows as a float CSR matrix with this many columns."""
    start = np.concatenate(([0], np.cumsum([len(row.columns) for row in rows], dtype=np.int64)))
    index = np.fromiter((c for row in rows for c in row.columns), dtype=np.int64, count=start[-1])
    data = np.fromiter((a for row in rows for a in row.coefficients), dtype=np.float64, count=start[-1])
    return sparse.csr_array((data, index, start), shape=(len(rows), columns))


class BudgetVariables:
    """The variables of LP_1 and LP_K: one budget D(z) for each live node z other than the root.

    Nodes without target or draft mass can have no budget, so leaving them out changes nothing: an antichain
    row with such a node follows from the row without it, f being increasing.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.instance = problem, problem.instance
        instance = self.instance
        self.nodes = np.flatnonzero(problem.live)[1:]
        self.column = np.full(len(instance.tree), -1, dtype=np.int64)
        self.column[self.nodes] = np.arange(len(self.nodes))
        self._one = instance.target[0]

    def program(self, name: str, rows: Iterable[Row]) -> LinearProgram:
        """The program max sum of D over these rows."""
        costs = fill([self._one] * len(self.nodes))
        if not self.instance.exact:
            costs = costs.astype(np.float64)
        return LinearProgram(name, tuple(self.nodes.tolist()), costs, tuple(rows), self._units())

    def _units(self) -> Array:
        """An upper bound on every budget, D(zy) <= min(f(q(zy)), p(y|z) D(z)), as the size of the variable."""
        floats = self.problem.floats.instance
        ceiling = self.problem.floats.single_hits
        units = block_budgets(floats, np.concatenate(([1.0], ceiling[1:])))[self.nodes]
        return np.maximum(units, np.finfo(float).tiny)

    def target_matching_rows(self) -> list[Row]:
        """D(zy) - p(y|z) D(z) <= 0, or D(y) <= p(y) below the root (statement 2.2)."""
        tree, target = self.instance.tree, self.instance.target
        rows = []
        for column, node in enumerate(self.nodes.tolist()):
            above = int(tree.parent[node])
            if above == 0:
                rows.append(Row("target-matching", (node,), (column,), (self._one,), target[node]))
            else:
                columns = (column, int(self.column[above]))
                rows.append(
                    Row("target-matching", (above, node), columns, (self._one, -target[node]), self._one * 0)
                )
        return rows

    def prefix_matching_rows(self) -> list[Row]:
        """D(z) <= q(z) (statement 3.2)."""
        draft = self.instance.joint_draft
        return [
            Row("prefix-matching", (node,), (column,), (self._one,), draft[node])
            for column, node in enumerate(self.nodes.tolist())
        ]

    def antichain_row(self, nodes: tuple[int, ...], hit: Any = None) -> Row:
        """D(A) <= F(A) for an antichain of live nodes (statements 3.1 and 13.1); `hit` is F(A) where it is known."""
        columns = tuple(self.column[list(nodes)].tolist())
        bound = self.problem.hit_probability(nodes) if hit is None else hit
        return Row("antichain", nodes, columns, (self._one,) * len(nodes), bound)

    def budgets(self, values: Sequence[Any] | Array) -> Array:
        """array (n,): the budgets of all nodes from the values of the variables (1 at the root, else 0)."""
        out = [self._one * 0] * len(self.instance.tree)
        out[0] = self._one
        for node, value in zip(self.nodes.tolist(), values, strict=True):
            out[node] = value
        return exact_array(out) if self.instance.exact else np.array(out, dtype=np.float64)


def float_costs(program: LinearProgram) -> Array:
    """float array: the costs of a program."""
    return float_array(program.costs)
