"""LP_K on large trees in floats: prices of whole subtrees, slope by slope (statement 8.3)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..budgets.node_budgets import block_budgets
from ..budgets.repair import feasible_budgets
from ..drafting.antichains import best_antichains, violated_antichains
from ..drafting.iid_paths import hit_probability
from ..drafting.problem import Problem
from ..drafting.replacement import IidPaths
from ..drafting.top_sets import TopSets
from ..instances.instance import Instance
from ..instances.progress import progress
from ..instances.trees import PrefixTree
from ..numbers.rationals import Array
from .sessions import MatrixSession, SolverFailure, Status

TOLERANCE = 1e-9
"""Violation, in probability, from which a constraint counts as violated."""

WIDTH = 1e-6
"""Relative width of the bracket at which the rounds stop, where it is looked at."""

REPAIR_EVERY = 5
"""Rounds between two looks at the bracket."""

MEMORY = 0.7
"""Weight of the past in the average of the solutions.

Antichains that the average violates are deeper cuts than those of the last solution alone, an extreme point that
jumps about, and the average often needs less repair.
"""

SMALLEST_UNIT = 1e-6
"""Between models that hardly ever agree the optimum is small: the solver is shown multiples of block verification's."""

FIRST_SLOPES = 6
SLOPES_PER_ROUND = 8
HULL_LIMIT = 200
"""Most violated antichains looked at for new slopes."""

ROUND_LIMIT = 60
"""Rounds after which the float phase stops and says so: a count, so that the same instance gives the same answer."""

WORK_LIMIT = 12_000_000_000
"""Simplex iterations times rows, summed over the rounds after the first, after which it stops as well."""


@dataclass(frozen=True, eq=False)
class FloatBracket:
    """What the float phase found.

    Attributes:
        lower, upper: floats; OPT_K lies between them up to the solver's tolerance.
        feasible: float array (n,): budgets that attain `lower`.
        weights: float array (n,): the dual solution, the multiplier of all antichains that contain a node.
        ratios: float array (n,): the multipliers of monotone siblings, 0 above the last level.
        converged: True when no antichain is violated by more than the tolerance.
        rounds, rows, cuts, iterations: programs solved; rows of the last one; those that were separated;
            simplex iterations of all.
        seconds: processor seconds by phase: "build", "solve", "separate", "repair".
    """

    lower: float
    upper: float
    feasible: Array
    weights: Array
    ratios: Array
    converged: bool
    rounds: int
    rows: int
    cuts: int
    iterations: int
    seconds: dict[str, float]


def conjugate(slope: float, paths: int) -> float:
    """f*(mu) = max over t in [0, 1] of f(t) - mu t, for 0 <= mu <= K."""
    if paths == 1:
        return 1.0 - slope
    left = (slope / paths) ** (1 / (paths - 1))
    return hit_probability(1.0 - left, paths) - slope * (1.0 - left)


def slope_at(draft_mass: float, paths: int) -> float:
    """f'(t) = K (1 - t)^(K - 1)."""
    return float(paths * max(0.0, 1.0 - draft_mass) ** (paths - 1))


class SlopeProgram:
    """LP_K relaxed to finitely many slopes, and within a slope to the subtree antichains separated so far.

    For a slope mu and a node z above the last level the variable M(z) is at least D(A) - mu q(A) for every
    antichain A in the subtree of z: M(z) >= D(z) - mu q(z), M(z) >= sum of M(zy), and on the level before the last
    M(z) >= T_j - mu Q_j for the top sets of the children. At the root the sum of M(y) is at most f*(mu). Only the
    rows M(z) >= sum of M(zy) are there from the start.
    """

    def __init__(
        self,
        tree: PrefixTree,
        laws: tuple[Array, Array, Array],
        paths: int,
        unit: float,
        tolerance: float = TOLERANCE,
    ) -> None:
        """`laws` are target, draft and joint draft, each (n,); the solver is shown multiples of `unit`."""
        self.tree, self.paths, self.tolerance = tree, paths, tolerance
        self.top = TopSets(tree, *laws)
        ceiling = np.array([hit_probability(float(t), paths) for t in self.top.mass[1:]])
        self.session = MatrixSession(self.top.costs, ceiling, unit)
        self.session.add_rows(*self.top.fixed_rows())
        self.slopes: list[float] = []
        self._first: list[int] = []  # M(z) of a slope is variable first + z - 1
        self._known: list[set[int]] = []
        self._cut_rows: list[tuple[Array, Array]] = []  # numbers of rows, and their place
        self.cuts = 0

    def add_slope(self, slope: float) -> None:
        tree, inner = self.tree, self.top.inner
        first, count = self.session.width, inner - 1
        self.session.add_free_variables(count)
        self.slopes.append(slope)
        self._first.append(first)
        self._known.append(set())
        node = np.arange(1, inner)
        parent = tree.parent[node]
        owners = np.flatnonzero(np.bincount(parent, minlength=1))
        number = np.searchsorted(owners, parent)
        below = np.arange(1, len(owners))  # the root itself has no variable: f*(mu) stands for it
        entries = (
            np.concatenate((np.ones(count), -np.ones(len(below)))),
            (np.concatenate((number, below)), np.concatenate((node, owners[1:])) + first - 1),
        )
        bounds = np.zeros(len(owners))
        bounds[:1] = conjugate(slope, self.paths)
        self.session.add_rows(sparse.csr_array(entries, shape=(len(owners), self.session.width)), bounds)

    def separate(self, values: Array, budgets: Array, joint_draft: Array) -> int:
        """Add the rows of every slope's best antichain that the values violate; their number."""
        place, variable, slope_of = [], [], []
        best = best_antichains(self.tree, budgets, joint_draft, self.slopes)
        for slope, first, known, antichain in zip(self.slopes, self._first, self._known, best, strict=True):
            nodes = np.array(antichain.nodes, dtype=np.int64)
            if not len(nodes):
                continue
            at = self.top.places(nodes)
            node = np.where(at >= self.top.inner, self.tree.parent[at], at)
            at, node = at[node > 0], node[node > 0]
            excess = values[at - 1] - slope * self.top.mass[at] - values[first + node - 1]
            for k in np.flatnonzero(excess > self.tolerance).tolist():
                if int(at[k]) not in known:
                    known.add(int(at[k]))
                    place.append(at[k])
                    variable.append(first + node[k] - 1)
                    slope_of.append(slope)
        count = len(place)
        if count:
            rows, at = np.arange(count), np.array(place)
            entries = (
                np.concatenate((np.ones(count), -np.ones(count))),
                (np.concatenate((rows, rows)), np.concatenate((at - 1, variable))),
            )
            self._cut_rows.append((self.session.height + rows, at))
            self.session.add_rows(
                sparse.csr_array(entries, shape=(count, self.session.width)),
                np.array(slope_of) * self.top.mass[at],
            )
            self.cuts += count
        return count

    def new_slopes(self, budgets: Array, joint_draft: Array) -> tuple[list[float], float]:
        """Slopes of f where the hull of all antichains stands out most, and by how much it does."""
        found = violated_antichains(
            self.tree, budgets, joint_draft, self.paths, tolerance=self.tolerance, limit=HULL_LIMIT
        )
        excess = np.array([a.budget - hit_probability(a.draft_mass, self.paths) for a in found])
        around = np.concatenate(([-np.inf], excess, [-np.inf]))
        peaks = np.flatnonzero((excess >= around[:-2]) & (excess > around[2:]))
        peaks = peaks[np.argsort(-excess[peaks], kind="stable")]
        slopes = [slope_at(found[k].draft_mass, self.paths) for k in peaks[:SLOPES_PER_ROUND].tolist()]
        return [s for s in slopes if s not in self.slopes], float(excess.max(initial=0.0))

    def dual(self, row_duals: Array, bound_duals: Array) -> tuple[Array, Array]:
        """float arrays (n,): `weights` and `ratios` of `FloatBracket`."""
        count = len(self.tree)
        multipliers = np.zeros(count)
        multipliers[1:] = np.maximum(bound_duals[: count - 1], 0.0)
        for rows, at in self._cut_rows:
            np.add.at(multipliers, at, np.maximum(row_duals[rows], 0.0))
        ratios = self.top.ratio_multipliers(np.maximum(row_duals[self.top.monotone], 0.0))
        return self.top.weights(multipliers), ratios


class _Clock:
    """Processor seconds since the last count, added up by phase."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("build", "solve", "separate", "repair"), 0.0)
        self._last = time.process_time()

    def count(self, phase: str) -> None:
        now = time.process_time()
        self.seconds[phase] += now - self._last
        self._last = now


def slope_phase(instance: Instance, paths: int, fineness: float = 1.0) -> FloatBracket:
    """Solve LP_K on a float instance whose nodes all have target and draft mass.

    Args:
        instance: the float instance.
        paths: number K of drafted paths.
        fineness: below 1 for the start of a certificate, which needs to know about improbable nodes as well: the
            solver is shown numbers in units smaller by this factor, its tolerances being absolute, antichains
            count as violated from this share of `TOLERANCE`, and the rounds do not stop at `WIDTH`.

    Raises SolverFailure when the solver reports no optimum of the first program.
    """
    tree, joint, problem = instance.tree, instance.joint_draft, Problem(instance, IidPaths(paths))
    clock = _Clock()
    feasible = block_budgets(instance)
    unit = min(1.0, max(SMALLEST_UNIT, float(feasible[1:].sum())))
    tolerance = TOLERANCE * fineness
    laws = (instance.target, instance.draft, joint)
    program = SlopeProgram(tree, laws, paths, unit * fineness, tolerance)
    if paths > 1 and program.top.inner > 1:
        for mass in np.arange(1, FIRST_SLOPES + 1) / (FIRST_SLOPES + 1):
            program.add_slope(slope_at(float(mass), paths))
    average: Array | None = None
    clock.count("build")
    rounds = iterations = work = rows = 0
    converged = False
    bar = progress("round", what="slopes")
    while True:
        solution = program.session.solve()
        clock.count("solve")
        stalled = solution.status is not Status.OPTIMAL
        if not stalled:
            bar.update()
            rounds, iterations = rounds + 1, iterations + solution.iterations
            rows, upper = program.session.height, solution.objective
            work += solution.iterations * rows if rounds > 1 else 0
            budgets = program.top.budgets(solution.values[: len(tree) - 1])
            weights, ratios = program.dual(solution.row_duals, solution.bound_duals)
            average = budgets if average is None else MEMORY * average + (1 - MEMORY) * budgets
            slopes, worst = program.new_slopes(budgets, joint)
            added = sum(program.separate(solution.values, one, joint) for one in (budgets, average))
            converged = worst <= tolerance or not (added or slopes)
            clock.count("separate")
        elif average is None:
            raise SolverFailure(
                f"LP_{paths}, slopes: the float solver said {solution.status.value!r}, not optimal"
            )
        # Without a verdict on a later program the last one that had one stands.
        stop = stalled or converged or rounds >= ROUND_LIMIT or work > WORK_LIMIT
        if stop or rounds % REPAIR_EVERY == 0:
            repaired = [feasible_budgets(problem, one) for one in (budgets, average)]
            feasible = max((feasible, *repaired), key=lambda one: float(one[1:].sum()))
            lower = float(feasible[1:].sum())
            clock.count("repair")
            if stop or (fineness == 1 and upper - lower <= WIDTH * upper):
                break
        for slope in slopes:
            program.add_slope(slope)
    bar.close()
    return FloatBracket(
        lower,
        upper,
        feasible,
        weights,
        ratios,
        converged,
        rounds,
        rows,
        program.cuts,
        iterations,
        clock.seconds,
    )
