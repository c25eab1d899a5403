"""The best probabilities for given orderings of one node, in rationals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numbers.rationals import Array, exact_array, fmpq_array
from ..programs.linear_program import LinearProgram, Row
from ..proofs.exact_simplex import exact_optimum
from ..solving.solvers import solve
from .scores import OnPath, classes, lift


def exact_mixture(data: OnPath, ranks: Array) -> Array:
    """(R,) rational probabilities of orderings that make the sum of min(P, nu) largest, by a small exact LP.

    At depth one this is OPT_K itself as soon as some mixture of the orderings attains it (statement 12.3);
    rounded probabilities would miss it by the rounding where OPT_K asks for nu = P.

    Args:
        data: exact numbers of one node with one family.
        ranks: (1, R, C) orderings.

    Raises NotCertified where the exact simplex method gives up.
    """
    found = np.unique(ranks[0], axis=0, return_index=True)[1]
    below, mass = classes(data.draft, ranks[:, found])
    supplies = [exact_array(row) for row in (data.draft[:, None] * lift(data.state[:, 0], below, mass))[0]]
    demand = exact_array(data.weight[:, None][0] * data.target[0])
    cells, count = len(demand), len(found)
    one = demand[0] * 0 + 1
    rows = [Row("simplex", (), tuple(range(count)), (one,) * count, one, equality=True)]
    for y in range(cells):
        rows.append(Row("target-matching", (), (count + y,), (one,), demand[y]))
        columns = [r for r in range(count) if supplies[r][y]]
        rows.append(
            Row(
                "prefix-matching",
                (),
                (*columns, count + y),
                (*(-supplies[r][y] for r in columns), one),
                one * 0,
            )
        )
    costs = exact_array([one * 0] * count + [one] * cells)
    labels: tuple[Any, ...] = tuple(range(count + cells))
    program = LinearProgram("mixture of orderings", labels, costs, tuple(rows), np.ones(count + cells))
    basis = solve(program).basis
    if basis is None:
        raise ValueError("the mixture of orderings: the float solver found no basis to start from")
    weights = [one * 0] * ranks.shape[1]
    for r, value in zip(found, exact_optimum(program, basis).values[:count], strict=True):
        weights[r] = value
    return fmpq_array(weights)
