"""The exact simplex: optimal from any basis, or an honest refusal."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp import (
    Basis,
    ExactOptimum,
    Instance,
    LinearProgram,
    NotCertified,
    Row,
    enumerated_program,
    exact_optimum,
    random_instance,
    single_path_program,
    solve,
    solve_multi_path,
    starting_program,
    verifier_program,
    violated_antichains,
)
from nodebudget.lp.drafting import IidPaths, Problem
from nodebudget.lp.numbers.rationals import exact_array, to_fmpq
from nodebudget.lp.programs.linear_program import BudgetVariables
from strategies import exact_instances, few, many, motivating, some

F = Fraction


def all_slack(program: LinearProgram) -> Basis:
    return Basis(np.zeros(len(program.variables), dtype=bool), np.ones(len(program.rows), dtype=bool))


def make(costs: Sequence[int], *rows: tuple[Sequence[int], int, bool]) -> LinearProgram:
    """max costs . x, x >= 0, with rows (coefficients, bound, equality)."""
    columns = tuple(range(len(costs)))
    listed = tuple(
        Row("antichain", (), columns, tuple(map(F, coefficients)), F(bound), equality)
        for coefficients, bound, equality in rows
    )
    return LinearProgram("small", columns, exact_array(costs), listed, np.ones(len(costs)))


def assert_optimal(program: LinearProgram, found: ExactOptimum) -> None:
    """Primal and dual feasible in rationals, with equal objectives."""
    x, y = found.values, found.duals
    assert len(y) == len(found.rows)
    assert all(type(v) is Fraction for v in (*x, *y, found.value))
    assert all(v >= 0 for v in x)
    gains = list(program.costs)
    for row, dual in zip(found.rows, y, strict=True):
        left = sum((a * x[c] for a, c in zip(row.coefficients, row.columns, strict=True)), F(0))
        assert left == row.bound if row.equality else left <= row.bound
        assert row.equality or dual >= 0
        for a, c in zip(row.coefficients, row.columns, strict=True):
            gains[c] -= dual * a
    assert all(gain <= 0 for gain in gains)
    assert sum((c * v for c, v in zip(program.costs, x, strict=True)), F(0)) == found.value
    assert sum((row.bound * dual for row, dual in zip(found.rows, y, strict=True)), F(0)) == found.value


PROGRAMS = {
    f"{build.__name__}, V={vocab} L={depth} seed={seed}": build(
        random_instance("flat", vocab, depth, seed, zeros=0.2), *arguments
    )
    for (vocab, depth), seed in itertools.product(((2, 2), (2, 3), (3, 2), (4, 1)), (0, 1))
    for build, arguments in ((single_path_program, ()), (enumerated_program, (2,)))
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_from_the_float_basis(name: str) -> None:
    program = PROGRAMS[name]
    found = exact_optimum(program, solve(program).basis)
    assert_optimal(program, found)
    assert float(found.value) == pytest.approx(solve(program, "scipy").objective, abs=1e-8)
    assert found.pivots == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_from_the_basis_of_slacks(name: str) -> None:
    """The worst start: every budget zero."""
    program = PROGRAMS[name]
    found = exact_optimum(program, all_slack(program))
    assert_optimal(program, found)
    assert found.value == exact_optimum(program, solve(program).basis).value
    assert found.pivots >= len(program.variables) > 0


def is_regular(program: LinearProgram, basis: Basis) -> bool:
    tight, basic = np.flatnonzero(~basis.rows), np.flatnonzero(basis.columns)
    table = [
        [to_fmpq(dict(zip(row.columns, row.coefficients, strict=True)).get(c, F(0))) for c in basic]
        for row in (program.rows[i] for i in tight)
    ]
    return not table or fmpq_mat(table).det() != fmpq(0)


def test_from_any_basis_at_all() -> None:
    """Primal infeasible, dual infeasible, or both, and singular: the optimum is reached from all of them."""
    seen = set()

    @many
    @given(exact_instances(shapes=((2, 2), (3, 1))), st.integers(1, 2), st.data())
    def start(instance: Instance, paths: int, data: st.DataObject) -> None:
        program = enumerated_program(instance, paths)
        width, height = len(program.variables), len(program.rows)
        size = data.draw(st.integers(0, width))
        basic = data.draw(st.permutations(range(width)))[:size]
        tight = data.draw(st.permutations(range(height)))[:size]
        basis = Basis(
            np.isin(np.arange(width), basic).astype(bool), ~np.isin(np.arange(height), tight).astype(bool)
        )
        seen.add(is_regular(program, basis) and size > 0)
        found = exact_optimum(program, basis)
        assert_optimal(program, found)
        assert found.value == solve_multi_path(instance, paths).value

    start()
    assert seen == {True, False}, "both regular and singular bases must be tried"


@few
@given(exact_instances(shapes=((2, 2), (3, 1))))
def test_equations_and_redundant_rows(instance: Instance) -> None:
    """The verifier LP is all equations, some of them redundant."""
    program = verifier_program(instance, 1)
    found = exact_optimum(program, solve(program).basis)
    assert_optimal(program, found)
    assert found.value == solve_multi_path(instance, 1).value


@some
@given(exact_instances(), st.integers(1, 3))
def test_rows_that_the_oracle_adds_lead_to_the_optimum_of_all_rows(instance: Instance, paths: int) -> None:
    variables = BudgetVariables(Problem(instance, IidPaths(paths)))
    asked = []

    def separate(values: tuple[Fraction, ...]) -> list[Row]:
        found = violated_antichains(instance.tree, variables.budgets(values), instance.joint_draft, paths)
        asked.append(len(found))
        return [variables.antichain_row(antichain.nodes) for antichain in found]

    program = starting_program(instance, paths)
    found = exact_optimum(program, solve(program).basis, separate)
    assert_optimal(program, found)
    assert asked[-1] == 0
    assert len(found.rows) == len(program.rows) + sum(asked)
    listed = enumerated_program(instance, paths)
    assert found.value == exact_optimum(listed, solve(listed).basis).value


def test_the_oracle_of_the_motivating_instance_is_needed() -> None:
    """On two paths the single nodes allow 2; the antichains bring it down to 131/81, by hand the expected value."""
    program = starting_program(motivating(), 2)
    alone = exact_optimum(program, solve(program).basis).value
    assert alone >= F(131, 81)
    assert solve_multi_path(motivating(), 2).value == F(131, 81)


def test_a_small_program_by_hand() -> None:
    """max 3x + 2y, x + y <= 4, x + 3y <= 6, x <= 3: x = 3, y = 1, duals 2, 0, 1."""
    program = make([3, 2], ([1, 1], 4, False), ([1, 3], 6, False), ([1, 0], 3, False))
    found = exact_optimum(program, all_slack(program))
    assert (found.value, found.values, found.duals) == (F(11), (F(3), F(1)), (F(2), F(0), F(1)))
    assert_optimal(program, found)


def test_an_equation_may_start_with_a_basic_slack() -> None:
    """max x + 2y, x + y == 4, y <= 1, from the infeasible basis of slacks: x = 3, y = 1."""
    program = make([1, 2], ([1, 1], 4, True), ([0, 1], 1, False))
    found = exact_optimum(program, all_slack(program))
    assert (found.value, found.values) == (F(5), (F(3), F(1)))
    assert_optimal(program, found)


def test_an_equation_stays_met_when_its_slack_would_grow() -> None:
    """max x, y - x == 0, y <= 3: from the basis of slacks, raising x alone leaves the equation behind."""
    program = make([1, 0], ([-1, 1], 0, True), ([0, 1], 3, False))
    found = exact_optimum(program, all_slack(program))
    assert (found.value, found.values) == (F(3), (F(3), F(3)))
    assert_optimal(program, found)


INFEASIBLE = {
    "x <= -1": make([1], ([1], -1, False)),
    "x + y <= 1 and x + y == 2": make([1, 1], ([1, 1], 1, False), ([1, 1], 2, True)),
    "two equations": make([1], ([1], 1, True), ([1], 2, True)),
}


@pytest.mark.parametrize("name", INFEASIBLE)
def test_an_infeasible_program_is_refused(name: str) -> None:
    with pytest.raises(NotCertified, match="infeasible"):
        exact_optimum(INFEASIBLE[name], all_slack(INFEASIBLE[name]))


UNBOUNDED = {
    "max x": make([1]),
    "max x, x - y <= 1": make([1, 0], ([1, -1], 1, False)),
    "max x, x - y == 0": make([1, 0], ([1, -1], 0, True)),
}


@pytest.mark.parametrize("name", UNBOUNDED)
def test_an_unbounded_program_is_refused(name: str) -> None:
    with pytest.raises(NotCertified, match="unbounded"):
        exact_optimum(UNBOUNDED[name], all_slack(UNBOUNDED[name]))


def test_the_pivot_limit_is_kept_and_said() -> None:
    program = enumerated_program(motivating(), 2)
    needed = exact_optimum(program, all_slack(program)).pivots
    assert needed > 1
    assert exact_optimum(program, all_slack(program), pivot_limit=needed).pivots == needed
    for limit in (0, needed - 1):
        with pytest.raises(NotCertified, match=f"no exact optimum within {limit} pivots"):
            exact_optimum(program, all_slack(program), pivot_limit=limit)


def test_a_float_program_is_refused() -> None:
    program = enumerated_program(motivating().to_float(), 2)
    with pytest.raises(ValueError, match="is a float program"):
        exact_optimum(program, all_slack(program))
