"""Solve LP_1 and LP_K and prove the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from .antichains import check_paths, violated_antichains
from .budgets import accepted_tokens, block_budgets
from .certificates import Certificate, TightAntichain
from .cutting_planes import SMALL_TREE, CuttingPlanes, cutting_planes, float_budgets, optimal
from .exact_simplex import NotCertified, exact_optimum
from .instances import Instance
from .multi_path import enumerated_program, starting_program
from .programs import BudgetVariables, LinearProgram, Row
from .proven import proven_lower_bound, proven_upper_bound
from .rationals import Array, float_array
from .single_path import single_path_program
from .slopes import slope_phase
from .solvers import Basis, HighsSession, Solution

Method = Literal["cuts", "enumerate"]

Builder = Callable[[Instance], LinearProgram]
CERTIFIED = "optimal, certified"
NOT_CERTIFIED = "optimal in floats, not certified"
PROVEN = "bracketed, both ends proven, not certified"
NOT_CONVERGED = "bounded in floats, not certified"


@dataclass(frozen=True, eq=False)
class Optimum:
    """The optimum of LP_1 or LP_K.

    Attributes:
        paths: number K of drafted paths.
        value: OPT_K: a Fraction when it is certified for an exact instance, a float otherwise.
        budgets: array (n,), optimal node budgets, exact or float like `value`.
        certificate: the verified proof, or None. For a float instance it is about the rational reading of
            the instance (`Instance.to_exact`).
        status: "optimal, certified"; "optimal in floats, not certified" with the reason; "bracketed, both ends
            proven, not certified" for large trees and where the cutting planes stopped early; or "bounded in floats,
            not certified" where the slope programs stopped early and no proof was asked for. In the last two cases
            `value` is only an upper bound, and `budgets` attain the lower end.
        bracket: floats between which the optimum lies; equal when it is certified or the solver converged on a
            small tree.
        rows: number of constraints in the last program.
        antichains: number of antichain constraints in it.
        rounds: cutting-plane rounds; 1 without cutting planes.
        proven: rationals between which the optimum lies, by `proven_lower_bound` and `proven_upper_bound`
            (statements 9.1 and 9.2); equal when it is certified; None when no proof was asked for.
    """

    paths: int
    value: Any
    budgets: Array
    certificate: Certificate | None
    status: str
    bracket: tuple[float, float]
    rows: int
    antichains: int
    rounds: int
    proven: tuple[Fraction, Fraction] | None = None

    @property
    def certified(self) -> bool:
        """True when an exact certificate was verified."""
        return self.certificate is not None

    @property
    def block_efficiency(self) -> Any:
        """Expected tokens per target pass, E|Z| + 1."""
        return self.value + 1


def solve_single_path(instance: Instance, *, certify: bool = True) -> Optimum:
    """The optimum of LP_1 (section 4). See `solve_multi_path` for the arguments and errors."""
    return _solve(instance, 1, single_path_program, cuts=False, certify=certify)


def solve_multi_path(
    instance: Instance, paths: int, *, method: Method = "cuts", certify: bool = True
) -> Optimum:
    """The optimum of LP_K, which no valid verifier with K i.i.d. drafted paths exceeds (section 4).

    Args:
        instance: exact or float. A float instance is certified on its rational reading.
        paths: number K of drafted paths.
        method: "cuts" (separation oracle, any size) or "enumerate" (every antichain, small trees).
        certify: prove the optimum in rationals; without it the answer is a float.

    Raises:
        ValueError: paths < 1, an unknown method, or too many antichains to enumerate.
        SolverFailure: the float solver reported no optimum.
    """
    if method == "cuts":
        check_paths(paths)
        nodes = np.count_nonzero(instance.live)
        if nodes > SMALL_TREE:
            large = f"the tree has {nodes} nodes; certificates are tried up to {SMALL_TREE}"
            return _solve_large(instance, paths, certify=certify, why=large)
        return _solve(instance, paths, lambda inst: starting_program(inst, paths), cuts=True, certify=certify)
    if method == "enumerate":
        return _solve(
            instance, paths, lambda inst: enumerated_program(inst, paths), cuts=False, certify=certify
        )
    raise ValueError(f"method: got {method!r}; expected 'cuts' or 'enumerate'")


def _solve(instance: Instance, paths: int, build: Builder, *, cuts: bool, certify: bool) -> Optimum:
    reading = instance.to_exact() if certify else instance
    variables = BudgetVariables(reading, paths)
    found = (cutting_planes if cuts else _solve_once)(variables, build(reading))
    size = {
        "rows": len(found.rows),
        "antichains": sum(row.kind != "target-matching" for row in found.rows),
        "rounds": found.rounds,
    }
    if not found.converged:
        stopped = f"the cutting planes stopped after {found.rounds} rounds"
        return _solve_large(instance, paths, certify=certify, why=stopped)
    bracket = (min(found.lower, found.upper), found.upper)  # a converged solution may sum up to an ulp more
    reason = "certification was not asked for"
    if certify:
        try:
            certificate = _certify(variables, found.rows, found.solution)
        except NotCertified as error:
            reason = str(error)
        else:
            value, budgets = certificate.optimum, certificate.budgets
            exactly = (float(value), float(value))
            if not instance.exact:
                return Optimum(
                    paths, float(value), float_array(budgets), certificate, CERTIFIED, exactly, **size,
                    proven=(value, value),
                )  # fmt: skip
            return Optimum(
                paths, value, budgets, certificate, CERTIFIED, exactly, **size, proven=(value, value)
            )
    proven = _proven(reading, paths, found.feasible, _weights(variables, found)) if certify else None
    return Optimum(
        paths,
        found.upper,
        found.feasible,
        None,
        f"{NOT_CERTIFIED} ({reason})",
        bracket,
        **size,
        proven=proven,
    )


def _solve_large(instance: Instance, paths: int, *, certify: bool, why: str) -> Optimum:
    """LP_K by the slope programs, with the bracket proven in rationals; `why` there is no certificate."""
    floats = instance.without_leaf_laws().to_float()
    live = np.flatnonzero(instance.live)
    if len(live) < len(instance.tree):
        tree, _ = floats.tree.restrict(instance.live)
        floats = Instance(tree, floats.target[live], floats.draft[live])
    found = slope_phase(floats, paths)
    budgets, weights, ratios = (np.zeros(len(instance.tree)) for _ in range(3))
    for whole, part in ((budgets, found.feasible), (weights, found.weights), (ratios, found.ratios)):
        whole[live] = part
    size = (found.rows, found.cuts, found.rounds)
    if certify:
        reading = instance.without_leaf_laws().to_exact()
        proven = _proven(reading, paths, budgets, weights, ratios)
        low, high = _outwards(proven[0], -np.inf), _outwards(proven[1], np.inf)
        said = f"{PROVEN}: between {low} and {high}"
        return Optimum(paths, high, budgets, None, f"{said} ({why})", (low, high), *size, proven)
    low, high = min(found.lower, found.upper), found.upper
    said, reason = NOT_CERTIFIED, "certification was not asked for"
    if not found.converged:
        said = NOT_CONVERGED
        reason = f"stopped after {found.rounds} rounds; the optimum lies between {low} and {high}"
    return Optimum(paths, high, budgets, None, f"{said} ({reason})", (low, high), *size)


def _proven(
    reading: Instance, paths: int, budgets: Array, weights: Array, ratios: Array | None = None
) -> tuple[Fraction, Fraction]:
    lower = max(proven_lower_bound(reading, paths, budgets), accepted_tokens(block_budgets(reading)))
    uppers = [proven_upper_bound(reading, paths, weights)]
    if ratios is not None:  # where draft probabilities are tiny, rounding in these multipliers can cost more
        uppers.append(proven_upper_bound(reading, paths, weights, ratios))
    return lower, min(uppers)


def _outwards(bound: Fraction, towards: float) -> float:
    """The nearest float on this side of a rational."""
    near = float(bound)
    beyond = near < bound if towards > 0 else near > bound
    return float(np.nextafter(near, towards)) if beyond else near


def _weights(variables: BudgetVariables, found: CuttingPlanes) -> Array:
    """float array (n,): the multipliers of all antichains that contain a node."""
    out = np.zeros(len(variables.instance.tree))
    for row, dual in zip(found.rows, found.solution.duals, strict=True):
        if row.kind != "target-matching":
            out[list(row.nodes)] += max(0.0, dual)
    return out


def _solve_once(variables: BudgetVariables, program: LinearProgram) -> CuttingPlanes:
    """The program as it stands, as a float phase of one round."""
    solution = optimal(HighsSession(program).solve(), program)
    budgets = float_budgets(variables, solution.values)
    return CuttingPlanes(program.rows, solution, 1, True, solution.objective, solution.objective, budgets)


def _certify(variables: BudgetVariables, rows: Sequence[Row], solution: Solution) -> Certificate:
    """Exact optimum from the float basis, with its certificate verified. Raises NotCertified."""
    instance, paths, basis = variables.instance, variables.paths, solution.basis
    if basis is None:
        raise NotCertified("the float solver gave no basis")

    def separate(values: Sequence[Fraction]) -> list[Row]:
        budgets = variables.budgets(values)
        found = violated_antichains(instance.tree, budgets, instance.joint_draft, paths)
        return [variables.antichain_row(antichain.nodes) for antichain in found]

    # Antichains that are not tight in the basis are left to the exact separation oracle.
    kept = [i for i, row in enumerate(rows) if row.kind == "target-matching" or not basis.rows[i]]
    program = variables.program(f"LP_{paths}, exact", [rows[i] for i in kept])
    found = exact_optimum(program, Basis(basis.columns, basis.rows[kept]), separate)
    antichains = [
        TightAntichain(row.nodes, dual)
        for row, dual in zip(found.rows, found.duals, strict=True)
        if row.kind != "target-matching" and dual > 0
    ]
    certificate = Certificate.build(instance, paths, variables.budgets(found.values), antichains)
    verdict = certificate.verify()
    if not verdict:
        raise NotCertified("; ".join(verdict.failures))
    return certificate
