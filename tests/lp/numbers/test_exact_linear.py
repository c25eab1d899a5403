"""Square sparse systems in rationals, against flint's dense solver."""

from __future__ import annotations

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp.numbers.exact_linear import SingularError, SparseRows, dependent, solve_square, transpose
from strategies import many


def dense(rows: SparseRows, size: int) -> fmpq_mat:
    return fmpq_mat(size, size, [rows[r].get(c, fmpq(0)) for r in range(size) for c in range(size)])


@st.composite
def systems(draw: st.DrawFn) -> tuple[SparseRows, dict[int, fmpq]]:
    """Up to 7 equations, mostly zeros; some rows are copies or sums of others, so that singular ones are common."""
    size = draw(st.integers(1, 7))
    entry = st.sampled_from([0, 0, 0, 0, 1, 1, -1, 2, -3])
    table = [draw(st.lists(entry, min_size=size, max_size=size)) for _ in range(size)]
    for i in range(size):
        table[i][draw(st.integers(0, size - 1))] = draw(st.sampled_from([1, -1, 5]))
    if size > 2 and draw(st.integers(0, 3)) == 0:
        table[-1] = [a + b for a, b in zip(table[0], table[1], strict=True)]
    rows = {r: {c: fmpq(a, 2) for c, a in enumerate(row) if a} for r, row in enumerate(table)}
    right = {r: fmpq(draw(st.integers(-5, 5)), 3) for r in range(size)}
    return rows, {r: b for r, b in right.items() if b or draw(st.booleans())}


def test_the_answer_is_flints_and_singular_systems_are_refused() -> None:
    outcomes = set()

    @many
    @given(systems())
    def compare(system: tuple[SparseRows, dict[int, fmpq]]) -> None:
        rows, right = system
        size = len(rows)
        matrix = dense(rows, size)
        regular = matrix.det() != 0
        outcomes.add(regular)
        if not regular:
            with pytest.raises(SingularError, match=r"singular|unknowns"):
                solve_square(rows, right)
            return
        wanted = matrix.solve(fmpq_mat(size, 1, [right.get(r, fmpq(0)) for r in range(size)]))
        assert solve_square(rows, right) == {c: wanted[c, 0] for c in range(size)}

    compare()
    assert outcomes == {True, False}, "both regular and singular systems must be tried"


def test_what_is_left_of_a_singular_system_is_regular_and_as_large_as_its_rank() -> None:
    dropped = set()

    @many
    @given(systems())
    def reduce(system: tuple[SparseRows, dict[int, fmpq]]) -> None:
        rows, _ = system
        size = len(rows)
        out_rows, out_columns = dependent(rows, range(size))
        rank = dense(rows, size).rank()
        assert len(out_rows) == len(out_columns) == size - rank
        dropped.add(size - rank)
        kept_rows = [r for r in range(size) if r not in out_rows]
        kept_columns = [c for c in range(size) if c not in out_columns]
        left = fmpq_mat(rank, rank, [rows[r].get(c, fmpq(0)) for r in kept_rows for c in kept_columns])
        assert left.rank() == rank

    reduce()
    assert {0, 1} <= dropped, "both regular and singular systems must be tried"


def test_names_of_rows_and_columns_need_not_be_in_order() -> None:
    """x7 + 2 x3 = 5, x3 = 1: peeled; and a dense block that nothing can be peeled from."""
    assert solve_square({40: {7: fmpq(1), 3: fmpq(2)}, 2: {3: fmpq(1)}}, {40: fmpq(5), 2: fmpq(1)}) == {
        3: fmpq(1),
        7: fmpq(3),
    }
    rows = {9: {5: fmpq(1), 1: fmpq(1)}, 4: {5: fmpq(1), 1: fmpq(-1)}}
    assert solve_square(rows, {9: fmpq(3)}) == {5: fmpq(3, 2), 1: fmpq(3, 2)}


def test_a_long_chain_is_solved_by_peeling_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """x0 = 1, x(i) = x(i-1)/2: two hundred equations without a dense solve."""
    from nodebudget.lp.numbers import exact_linear

    def refuse(*_: object) -> None:
        raise AssertionError("a dense system was built")

    monkeypatch.setattr(exact_linear, "fmpq_mat", refuse)
    rows = {0: {0: fmpq(1)}} | {i: {i: fmpq(2), i - 1: fmpq(-1)} for i in range(1, 200)}
    assert solve_square(rows, {0: fmpq(1)})[199] == fmpq(1, 2**199)


@pytest.mark.parametrize(
    "rows",
    [
        {0: {0: fmpq(1)}, 1: {0: fmpq(1)}},
        {0: {0: fmpq(1), 1: fmpq(1)}},
        {0: {0: fmpq(1), 1: fmpq(1)}, 1: {0: fmpq(2), 1: fmpq(2)}},
        {0: {}, 1: {0: fmpq(1), 1: fmpq(1)}},
        {0: {}},
    ],
)
def test_systems_without_one_solution(rows: SparseRows) -> None:
    with pytest.raises(SingularError):
        solve_square(rows, {0: fmpq(1)})


def test_the_empty_system_has_the_empty_solution() -> None:
    assert solve_square({}, {}) == {}


def test_transpose_turns_rows_into_columns() -> None:
    rows = {0: {2: fmpq(1), 1: fmpq(3)}, 5: {1: fmpq(4)}}
    assert transpose(rows) == {2: {0: fmpq(1)}, 1: {0: fmpq(3), 5: fmpq(4)}}
    assert transpose(transpose(rows)) == rows
