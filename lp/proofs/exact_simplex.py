"""From a float solver's final basis to an exact optimum: the basis solved in rationals, pivoted on if need be.

The float basis is usually optimal already; then this is two linear systems. Where it is not exactly optimal
(rounding, tolerances, costs too small for the float solver to see) the simplex method goes on in rationals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq

from ..instances.progress import progress
from ..numbers.exact_linear import SingularError, SparseRows, dependent, solve_square, transpose
from ..numbers.rationals import to_fmpq, to_fraction
from ..programs.linear_program import LinearProgram, Row
from ..solving.sessions import Basis

ZERO = fmpq(0)

PIVOT_WORK = 200_000
"""Pivots times variables after which an exact optimum is given up: about a minute."""

Variable = tuple[str, int]
"""A simplex variable: ("x", column) or ("slack", row)."""


class NotCertified(ArithmeticError):
    """No exact optimum was reached from the float basis; the message says why."""


@dataclass(frozen=True, eq=False)
class ExactOptimum:
    """An exactly optimal basic solution.

    Attributes:
        value: the optimum.
        values: one number per variable.
        rows: the program's rows, followed by those that the separation oracle added.
        duals: one number per row; nonnegative for inequalities.
        pivots: exact pivots that were needed after the float basis.
    """

    value: Fraction
    values: tuple[Fraction, ...]
    rows: tuple[Row, ...]
    duals: tuple[Fraction, ...]
    pivots: int


def exact_optimum(
    program: LinearProgram,
    basis: Basis,
    separate: Callable[[tuple[Fraction, ...]], Sequence[Row]] | None = None,
    pivot_limit: int | None = None,
) -> ExactOptimum:
    """Solve a program exactly, starting from a basis that a float solver found.

    Args:
        program: an exact program.
        basis: the float solver's final basis. Of a singular one a regular part is kept.
        separate: values -> further rows that they violate; asked at every optimum until it has none.
        pivot_limit: give up after this many pivots; by default `PIVOT_WORK` over the number of variables.

    Raises:
        NotCertified: the limit was reached. Nothing is claimed then.
        ValueError: the program is not exact.
    """
    if not program.exact:
        raise ValueError(f"{program.name} is a float program; an exact optimum needs an exact one")
    limit = max(100, PIVOT_WORK // max(1, len(program.variables))) if pivot_limit is None else pivot_limit
    try:
        tableau = _Tableau(program, basis, limit)
        if tableau.worst_primal() is not None:
            tableau.shift_costs()
            tableau.dual_simplex()
            tableau.restore_costs()
        while True:
            tableau.primal_simplex()
            fresh = separate(tableau.values()) if separate else ()
            if not fresh:
                return tableau.optimum()
            tableau.add_rows(fresh)
            tableau.dual_simplex()
    except SingularError as error:
        raise NotCertified(str(error)) from None


class _Tableau:
    """The current basis: the basic columns, and the tight rows (their slacks are nonbasic)."""

    def __init__(self, program: LinearProgram, basis: Basis, pivot_limit: int) -> None:
        self.program_rows: list[Row] = []
        self.rows: list[dict[int, fmpq]] = []
        self.columns: list[dict[int, fmpq]] = [{} for _ in program.variables]
        self.bounds: list[fmpq] = []
        self.true_costs = [to_fmpq(c) for c in program.costs]
        self.costs = list(self.true_costs)
        self.slack_costs: list[fmpq] = []
        self.pivots, self.pivot_limit = 0, pivot_limit
        self.basic: set[int] = {j for j, is_basic in enumerate(basis.columns) if is_basic}
        self.tight: set[int] = set()
        self.bar = progress("pivot", what="exact pivots")
        self._append(program.rows)
        self.tight = {i for i, is_basic in enumerate(basis.rows) if not is_basic}
        try:
            self._solve_primal()
        except SingularError:
            self._make_regular()
            self._solve_primal()

    def _make_regular(self) -> None:
        """Drop what depends on the rest of the basis: rows that differ by less than a float solver sees."""
        rows, columns = dependent(self._matrix(), self.basic)
        self.tight.difference_update(rows)
        self.basic.difference_update(columns)

    def _append(self, rows: Sequence[Row]) -> None:
        for row in rows:
            i = len(self.rows)
            entries = {c: to_fmpq(a) for c, a in zip(row.columns, row.coefficients, strict=True) if a}
            self.program_rows.append(row)
            self.rows.append(entries)
            self.bounds.append(to_fmpq(row.bound))
            self.slack_costs.append(ZERO)
            for c, a in entries.items():
                self.columns[c][i] = a

    def add_rows(self, rows: Sequence[Row]) -> None:
        self._append(rows)
        self._solve_primal()

    # The four linear systems of a simplex step.

    def _matrix(self) -> SparseRows:
        return {i: {j: a for j, a in self.rows[i].items() if j in self.basic} for i in self.tight}

    def _forward(self, right: dict[int, fmpq]) -> dict[int, fmpq]:
        return solve_square(self._matrix(), right)

    def _backward(self, right: dict[int, fmpq]) -> dict[int, fmpq]:
        return solve_square(transpose(self._matrix()), right)

    def _solve_primal(self) -> None:
        self.x = self._forward({i: self.bounds[i] for i in self.tight})
        self.slack = {
            i: self.bounds[i] - self._dot(self.rows[i], self.x)
            for i in range(len(self.rows))
            if i not in self.tight
        }

    def _duals(self) -> dict[int, fmpq]:
        """Multipliers of all rows: those of slack rows are their slacks' costs (zero unless shifted)."""
        loose = {i: self.slack_costs[i] for i in self.slack if self.slack_costs[i]}
        right = {j: self.costs[j] - self._dot(loose, self.columns[j]) for j in self.basic}
        return {**loose, **self._backward(right)}

    def _reduced_costs(self) -> dict[Variable, fmpq]:
        """Gain per unit of each nonbasic variable; an equation's slack is fixed and has none."""
        duals = self._duals()
        gains: dict[Variable, fmpq] = {}
        for j in range(len(self.columns)):
            if j not in self.basic:
                gains["x", j] = self.costs[j] - self._dot(duals, self.columns[j])
        for i in self.tight:
            if not self.program_rows[i].equality:
                gains["slack", i] = self.slack_costs[i] - duals.get(i, ZERO)
        return gains

    @staticmethod
    def _dot(first: dict[int, fmpq], second: dict[int, fmpq]) -> fmpq:
        if len(first) > len(second):
            first, second = second, first
        return sum((a * second[k] for k, a in first.items() if k in second), ZERO)

    # Cost shifting makes any basis dual feasible, so that the dual simplex can restore primal feasibility.

    def shift_costs(self) -> None:
        for (kind, k), gain in self._reduced_costs().items():
            if gain > 0:
                (self.costs if kind == "x" else self.slack_costs)[k] -= gain

    def restore_costs(self) -> None:
        self.costs = list(self.true_costs)
        self.slack_costs = [ZERO] * len(self.rows)

    def worst_primal(self) -> tuple[Variable, fmpq] | None:
        """The basic variable furthest from feasible, with its value."""
        wrong: list[tuple[fmpq, Variable, fmpq]] = [(-v, ("x", j), v) for j, v in self.x.items() if v < 0]
        for i, v in self.slack.items():
            if v < 0 or (v > 0 and self.program_rows[i].equality):
                wrong.append((abs(v), ("slack", i), v))
        if not wrong:
            return None
        _, variable, value = max(wrong, key=lambda entry: entry[0])
        return variable, value

    def dual_simplex(self) -> None:
        while (leaving := self.worst_primal()) is not None:
            variable, value = leaving
            effect = self._row_of(variable)
            if value > 0:
                effect = {name: -a for name, a in effect.items()}
            gains = self._reduced_costs()
            ratios = [(-gains[name] / a, name) for name, a in effect.items() if a > 0]
            if not ratios:
                raise NotCertified("a constraint cannot be met: the program is infeasible")
            self._exchange(min(ratios)[1], variable)

    def _row_of(self, variable: Variable) -> dict[Variable, fmpq]:
        """How much the basic variable grows per unit of each nonbasic one."""
        kind, k = variable
        if kind == "x":
            weight = self._backward({k: fmpq(1)})
            own: dict[int, fmpq] = {}
            sign = fmpq(-1)
        else:
            own = self.rows[k]
            weight = self._backward({j: own[j] for j in own if j in self.basic})
            sign = fmpq(1)
        effect: dict[Variable, fmpq] = {}
        for j in range(len(self.columns)):
            if j not in self.basic:
                effect["x", j] = sign * self._dot(weight, self.columns[j]) - own.get(j, ZERO)
        for i in self.tight:
            if not self.program_rows[i].equality:
                effect["slack", i] = sign * weight.get(i, ZERO)
        return effect

    def primal_simplex(self) -> None:
        while True:
            gains = self._reduced_costs()
            entering, gain = max(gains.items(), key=lambda item: item[1], default=(None, ZERO))
            if entering is None or gain <= 0:
                return
            kind, k = entering
            right = (
                {i: self.columns[k][i] for i in self.columns[k] if i in self.tight}
                if kind == "x"
                else {k: fmpq(1)}
            )
            drop = self._forward(right)
            limits: list[tuple[fmpq, Variable]] = [
                (self.x[j] / d, ("x", j)) for j, d in drop.items() if d > 0
            ]
            for i, value in self.slack.items():
                fall = (self.columns[k].get(i, ZERO) if kind == "x" else ZERO) - self._dot(self.rows[i], drop)
                if fall > 0 or (fall and self.program_rows[i].equality):
                    limits.append((abs(value / fall), ("slack", i)))
            if not limits:
                raise NotCertified("the program is unbounded")
            self._exchange(entering, min(limits)[1])

    def _exchange(self, entering: Variable, leaving: Variable) -> None:
        self.pivots += 1
        self.bar.update()
        if self.pivots > self.pivot_limit:
            raise NotCertified(f"no exact optimum within {self.pivot_limit} pivots of the float basis")
        for (kind, k), enters in ((leaving, False), (entering, True)):
            if kind == "x":
                (self.basic.add if enters else self.basic.discard)(k)
            else:
                (self.tight.discard if enters else self.tight.add)(k)
        self._solve_primal()

    def values(self) -> tuple[Fraction, ...]:
        return tuple(to_fraction(self.x.get(j, ZERO)) for j in range(len(self.columns)))

    def optimum(self) -> ExactOptimum:
        duals = self._duals()
        value = sum((c * self.x[j] for j, c in enumerate(self.costs) if j in self.x), ZERO)
        return ExactOptimum(
            to_fraction(value),
            self.values(),
            tuple(self.program_rows),
            tuple(to_fraction(duals.get(i, ZERO)) for i in range(len(self.rows))),
            self.pivots,
        )
