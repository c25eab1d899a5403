"""Square sparse linear systems, solved exactly over the rationals."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from flint import fmpq, fmpq_mat

SparseRows = dict[int, dict[int, fmpq]]


class SingularError(ArithmeticError):
    """The system has no unique solution."""


def solve_square(rows: SparseRows, right: dict[int, fmpq]) -> dict[int, fmpq]:
    """Solve ``sum of rows[r][c] * x[c] == right[r]`` for every r, as many rows as columns.

    Rows and columns with a single entry left are peeled off one after the other (bases of linear programs on
    trees are nearly triangular); what remains is solved densely by flint. Raises SingularError.
    """
    columns = transpose(rows)
    if len(columns) != len(rows):
        raise SingularError(f"{len(rows)} equations in {len(columns)} unknowns")
    first, last = _peel(rows, columns)
    peeled = {r for r, _ in first} | {r for r, _ in last}
    known: dict[int, fmpq] = {}

    def remainder(r: int) -> fmpq:
        return right.get(r, fmpq(0)) - sum((a * known[c] for c, a in rows[r].items() if c in known), fmpq(0))

    for r, c in first:
        known[c] = remainder(r) / rows[r][c]
    left = sorted(set(rows) - peeled)
    if left:
        solved = {c for _, c in first} | {c for _, c in last}
        unknown = sorted(set(columns) - solved)
        dense = fmpq_mat(len(left), len(left), [rows[r].get(c, fmpq(0)) for r in left for c in unknown])
        try:
            answer = dense.solve(fmpq_mat(len(left), 1, [remainder(r) for r in left]))
        except ZeroDivisionError:
            raise SingularError("the basis matrix is singular") from None
        known.update((c, answer[k, 0]) for k, c in enumerate(unknown))
    for r, c in reversed(last):
        known[c] = remainder(r) / rows[r][c]
    return known


def dependent(rows: SparseRows, columns: Collection[int]) -> tuple[list[int], list[int]]:
    """Rows and columns, as many of each, without which a square matrix is regular: none of a regular one.

    Args:
        rows: the matrix.
        columns: its columns, those without an entry included.
    """
    first, last = _peel(rows, transpose(rows))
    left = sorted(set(rows) - {r for r, _ in (*first, *last)})
    unknown = sorted(set(columns) - {c for _, c in (*first, *last)})
    dense = fmpq_mat(len(left), len(unknown), [rows[r].get(c, fmpq(0)) for r in left for c in unknown])
    kept_rows, kept_columns = _pivots(dense.transpose()), _pivots(dense)
    return (
        [r for k, r in enumerate(left) if k not in kept_rows],
        [c for k, c in enumerate(unknown) if k not in kept_columns],
    )


def _pivots(matrix: fmpq_mat) -> set[int]:
    """The columns that do not depend on those before them."""
    reduced, rank = matrix.rref()
    width = matrix.ncols()
    return {next(k for k in range(width) if reduced[i, k]) for i in range(rank)}


def transpose(rows: SparseRows) -> SparseRows:
    """The same matrix by columns."""
    out: SparseRows = {}
    for r, entries in rows.items():
        for c, a in entries.items():
            out.setdefault(c, {})[r] = a
    return out


def _peel(rows: SparseRows, columns: SparseRows) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Pivots (row, column) that can be solved first, in order, and those that can be solved last, reversed."""
    row_left = {r: len(entries) for r, entries in rows.items()}
    column_left = {c: len(entries) for c, entries in columns.items()}
    first: list[tuple[int, int]] = []
    last: list[tuple[int, int]] = []
    waiting = deque([("row", r) for r, k in row_left.items() if k == 1])
    waiting.extend(("column", c) for c, k in column_left.items() if k == 1)

    def remove(r: int, c: int) -> None:
        del row_left[r], column_left[c]
        for other in columns[c]:
            if other in row_left:
                row_left[other] -= 1
                if row_left[other] == 1:
                    waiting.append(("row", other))
        for other in rows[r]:
            if other in column_left:
                column_left[other] -= 1
                if column_left[other] == 1:
                    waiting.append(("column", other))

    while waiting:
        kind, name = waiting.popleft()
        if kind == "row" and row_left.get(name) == 1:
            c = next(c for c in rows[name] if c in column_left)
            first.append((name, c))
            remove(name, c)
        elif kind == "column" and column_left.get(name) == 1:
            r = next(r for r in columns[name] if r in row_left)
            last.append((r, name))
            remove(r, name)
    return first, last
