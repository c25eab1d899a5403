"""Exact budgets inside an optimal face: a float point that keeps clear of the inequalities, moved onto the face."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq
from scipy import linalg, optimize

from ..drafting.antichains import violated_antichains
from ..numbers.exact_linear import SingularError, SparseRows, solve_square
from ..numbers.rationals import Array, fill, float_array, settled
from .optimal_faces import FaceRow, FaceRowKind, OptimalFace

CLOSE = 1e-12
"""Slack, as a share of f(q(A)) or p(y|z) D(z), below which an inequality is looked at."""

MARGIN = 1e-11
"""Slack left to an inequality that is looked at, as a share of its largest term."""

ROUNDING = 1e-11
"""Share of a row that may stick out of the span of the equations by rounding."""

RANK = 1e-13
"""Share of the largest singular value below which one counts as zero."""

FURTHEST = 100.0
"""Distance from the start, in units of the variables, beyond which no budgets lie."""

ROUNDS = 20
"""Points looked at before the search is given up."""

Nodes = tuple[int, ...]
Key = tuple[FaceRowKind, Nodes]


@dataclass(frozen=True, eq=False)
class FacePoint:
    """What `point_inside` found.

    Attributes:
        budgets: exact array (n,), on the face and feasible as far as floats can tell; None where none were found.
        antichains: where none were found, antichains that stand in the way.
    """

    budgets: Array | None
    antichains: tuple[Nodes, ...]


def point_inside(face: OptimalFace, antichains: Iterable[Nodes]) -> FacePoint:
    """Budgets on the face that keep clear of all antichains: those given, and those the oracle finds on the way.

    Round by round the point nearest to the face's start is taken that solves the equations and leaves `MARGIN` to
    the inequalities looked at so far; then those are added that it violates or barely meets. An inequality that
    the equations imply is left alone, some that leave each other no slack become equations, and some that
    contradict each other end the search.
    """
    plane = _Plane(face, face.equations)
    rows: dict[Key, FaceRow] = {}
    seen: set[Key] = {("antichain", nodes) for nodes in face.chain}
    fresh: list[Key] = [("antichain", nodes) for nodes in antichains]
    met: list[Key] = []
    for _ in range(ROUNDS):
        met += fresh
        added = {key: face.inequality(*key) for key in fresh if key not in seen}
        seen.update(added)
        contradicted = [key for key, row in added.items() if plane.contradicts(row)]
        if contradicted:
            return FacePoint(None, _antichains(met))
        rows.update(added)
        while True:
            point, tight = plane.nearest(list(rows.values()))
            if point is not None:
                break
            keys = [key for key, weight in zip(rows, tight, strict=True) if weight > 0]
            if not plane.no_slack([rows[key] for key in keys], tight[tight > 0]):
                return FacePoint(None, _antichains(met))
            plane = _Plane(face, [*plane.equations, *(rows.pop(key) for key in keys)])
        fresh = [key for key in _close(face, point * face.units) if key not in seen]
        if not fresh:
            return FacePoint(plane.exact_budgets(point), ())
    return FacePoint(None, _antichains(met))


def _antichains(keys: Iterable[Key]) -> tuple[Nodes, ...]:
    return tuple(nodes for kind, nodes in keys if kind == "antichain")


class _Plane:
    """The solutions of some equations, in floats and in units of the variables.

    Attributes:
        equations: the rows that are met with equality.
        start: float array, the solution nearest to the face's start.
    """

    def __init__(self, face: OptimalFace, equations: Sequence[FaceRow]) -> None:
        self._face, self.equations = face, equations
        scaled = [_scaled(face, row) for row in equations]
        self._matrix = np.array([row for row, _ in scaled]).reshape(len(scaled), len(face.units))
        left, sizes, right = np.linalg.svd(self._matrix)
        self._rank = rank = int((sizes > RANK * sizes.max(initial=0.0)).sum())
        self._along = right[rank:].T
        start = face.start / face.units
        missing = np.array([bound for _, bound in scaled]) - self._matrix @ start
        self.start = start + right[:rank].T @ ((left[:, :rank].T @ missing) / sizes[:rank])

    def _left(self, row: FaceRow) -> tuple[Array, float]:
        """A row in the directions along the plane, and its slack at the start."""
        scaled, bound = _scaled(self._face, row)
        along = scaled @ self._along
        return np.where(np.abs(along).max(initial=0.0) > ROUNDING, along, 0.0), bound - scaled @ self.start

    def contradicts(self, row: FaceRow) -> bool:
        """True when no point of the plane meets the row."""
        along, slack = self._left(row)
        return not along.any() and slack < -MARGIN

    def nearest(self, rows: Sequence[FaceRow]) -> tuple[Array | None, Array]:
        """The point nearest to the start with a margin in all rows that are not constant on the plane.

        Where there is none nearby, None and multipliers of the rows that show it: together they leave no margin.
        They are all zero where the search itself gave up.
        Least distance programming (Lawson and Hanson, chapter 23): a nonnegative least squares problem.
        """
        left = [self._left(row) for row in rows]
        matrix = np.array([along for along, _ in left]).reshape(len(left), self._along.shape[1])
        slack = np.array([slack for _, slack in left]) - MARGIN
        slack[~matrix.any(axis=1)] = 0.0
        if (slack >= 0).all():
            return self.start, np.zeros(len(left))
        system = np.vstack((-matrix.T, -slack))
        goal = np.append(np.zeros(matrix.shape[1]), 1.0)
        try:
            weights, _ = optimize.nnls(system, goal, maxiter=30 * system.shape[1])
        except RuntimeError:  # it reached its own limit
            return None, np.zeros(len(left))
        rest = goal - system @ weights
        if rest[-1] * FURTHEST > np.linalg.norm(rest[:-1]):
            return self.start - self._along @ (rest[:-1] / rest[-1]), weights
        return None, weights

    def no_slack(self, rows: Sequence[FaceRow], weights: Array) -> bool:
        """True when a sum of rows that leaves no margin is met with equality, up to rounding."""
        return float(weights @ [self._left(row)[1] for row in rows]) > -MARGIN * float(weights.sum())

    def exact_budgets(self, point: Array) -> Array | None:
        """exact array (n,): budgets near a float point that solve the equations exactly, or None.

        As many variables as there are independent equations are solved for; the others are taken as they are.
        """
        face, rank = self._face, self._rank
        pivots = _leading(self._matrix, rank)
        rows = _leading(self._matrix[:, pivots].T, rank)
        values = fill([fmpq(*float(v).as_integer_ratio()) for v in point * face.units])
        solved = set(pivots)
        system: SparseRows = {}
        right: dict[int, fmpq] = {}
        for r in rows:
            terms, bound = self.equations[r]
            system[r] = {k: a for k, a in terms.items() if k in solved}
            right[r] = bound - sum((a * values[k] for k, a in terms.items() if k not in solved), fmpq(0))
        try:
            found = solve_square(system, right)
        except SingularError:
            return None
        for k, value in found.items():
            values[k] = value
        return face.budgets(values)


def _leading(matrix: Array, rank: int) -> list[int]:
    """As many independent columns."""
    return linalg.qr(matrix, mode="r", pivoting=True)[1][:rank].tolist() if rank else []


def _scaled(face: OptimalFace, row: FaceRow) -> tuple[Array, float]:
    """A row in units of the variables, its largest entry one."""
    terms, bound = row
    out = np.zeros(len(face.units))
    out[list(terms)] = float_array(settled(fill(list(terms.values()))))
    out *= face.units
    size = float(np.abs(out).max(initial=0.0)) or 1.0
    return out / size, float_array(settled(fill([bound])))[0] / size


def _close(face: OptimalFace, values: Array) -> list[Key]:
    """The inequalities that a float point violates or barely meets."""
    instance = face.instance
    tree = instance.tree
    budgets, free = face.budgets(values), face.free
    ceilings = float_array(instance.target[free]) * budgets[tree.parent[free]]
    found: list[Key] = [
        *(("ceiling", (z,)) for z in free[budgets[free] > ceilings * (1 - CLOSE)].tolist()),
        *(("sign", (z,)) for z in free[budgets[free] <= 0].tolist()),
    ]
    joint_draft = float_array(instance.joint_draft)
    close = violated_antichains(tree, budgets, joint_draft, face.paths, relative=-CLOSE)
    return [*found, *(("antichain", antichain.nodes) for antichain in close)]
