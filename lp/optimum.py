"""Solve LP_1 and LP_K and prove the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from .budgets.node_budgets import accepted_tokens, block_budgets
from .drafting.antichains import check_paths, violated_antichains
from .instances.instance import Instance
from .numbers.rationals import Array, float_array
from .programs.linear_program import BudgetVariables, LinearProgram, Row
from .programs.multi_path import enumerated_program, starting_program
from .programs.single_path import single_path_program
from .proofs.certificates import Certificate, TightAntichain
from .proofs.exact_simplex import NotCertified, exact_optimum
from .proofs.proven import proven_lower_bound, proven_upper_bound
from .proofs.slope_certificates import FINENESS, certificate_from_slopes
from .solving.cutting_planes import SMALL_TREE, CuttingPlanes, cutting_planes, float_budgets, optimal
from .solving.slopes import FloatBracket, slope_phase
from .solving.solvers import Basis, HighsSession, Solution, SolverFailure

Method = Literal["cuts", "enumerate"]

Builder = Callable[[Instance], LinearProgram]
CERTIFIED = "optimal, certified"
NOT_CERTIFIED = "optimal in floats, not certified"
PROVEN = "bracketed, both ends proven, not certified"
NOT_CONVERGED = "bounded in floats, not certified"


FIRST_WORK = 50_000_000
"""Work after which plain cutting planes wait for the slope programs: a few seconds."""

CERTIFIED_TREE = 5000
"""Nodes up to which the slope programs are asked for a certificate."""


class Unfinished(RuntimeError):
    """The float phase stopped before it was done; the message says where."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The optimum of LP_1 or LP_K.

    Attributes:
        paths: number K of drafted paths.
        value: OPT_K: a Fraction when it is certified for an exact instance, a float otherwise.
        budgets: array (n,), optimal node budgets, exact or float like `value`.
        certificate: the verified proof, or None. For a float instance it is about the rational reading of
            the instance (`Instance.to_exact`) without the target's laws at the leaves, on which no linear
            program depends.
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
        return _solve_by_cuts(instance, paths, certify=certify)
    if method == "enumerate":
        return _solve(
            instance, paths, lambda inst: enumerated_program(inst, paths), cuts=False, certify=certify
        )
    raise ValueError(f"method: got {method!r}; expected 'cuts' or 'enumerate'")


def _solve_by_cuts(instance: Instance, paths: int, *, certify: bool) -> Optimum:
    """LP_K with the separation oracle.

    Plain cutting planes, for a while; then a certificate from the slope programs; then plain cutting planes up to their
    own limit; and where all this ends without an optimum, the bracket of the slope programs.
    """
    nodes = int(np.count_nonzero(instance.live))
    limit = CERTIFIED_TREE if paths > 1 else SMALL_TREE
    attempt = certify and paths > 1 and nodes <= CERTIFIED_TREE
    plain, found, why = None, None, f"the tree has {nodes} nodes; certificates are tried up to {limit}"

    def by_plain_cuts(work_limit: int | None) -> Optimum:
        build = lambda inst: starting_program(inst, paths)  # noqa: E731
        return _solve(instance, paths, build, cuts=True, certify=certify, work_limit=work_limit)

    if nodes <= SMALL_TREE:
        try:
            plain = by_plain_cuts(FIRST_WORK if attempt else None)
        except Unfinished as error:
            why = str(error)
        except SolverFailure:
            if not attempt:
                raise
    if attempt and (plain is None or not plain.certified):
        try:
            found = _slopes(instance, paths, FINENESS)
            certificate, rounds, antichains = certificate_from_slopes(
                _reading(instance), paths, found.weights, found.feasible
            )
        except (NotCertified, SolverFailure) as error:
            why = str(error)
        else:
            rows = nodes - 1 + antichains
            return _certified(instance, certificate, rows=rows, antichains=antichains, rounds=rounds)
        if plain is None and nodes <= SMALL_TREE:
            with suppress(Unfinished, SolverFailure):
                plain = by_plain_cuts(None)
    if plain is not None and (plain.certified or not certify):
        return plain
    try:
        bracketed = _bracketed(instance, paths, found or _slopes(instance, paths), certify=certify, why=why)
    except SolverFailure:
        if plain is None:
            raise
        return plain
    # Duals of plain rows may be far off where laws are very peaked, although they converged in floats.
    return bracketed if plain is None or _width(bracketed) < _width(plain) else plain


def _width(optimum: Optimum) -> Fraction:
    assert optimum.proven is not None
    return optimum.proven[1] - optimum.proven[0]


def _reading(instance: Instance) -> Instance:
    """The rational reading, of a float instance without the laws at the leaves: most of its numbers, and not needed."""
    return instance if instance.exact else instance.without_leaf_laws().to_exact()


def _solve(
    instance: Instance,
    paths: int,
    build: Builder,
    *,
    cuts: bool,
    certify: bool,
    work_limit: int | None = None,
) -> Optimum:
    """The optimum by plain rows. Raises Unfinished when the float phase stopped at its limit."""
    reading = _reading(instance) if certify else instance
    variables = BudgetVariables(reading, paths)
    program = build(reading)
    found = cutting_planes(variables, program, work_limit) if cuts else _solve_once(variables, program)
    size = {
        "rows": len(found.rows),
        "antichains": sum(row.kind != "target-matching" for row in found.rows),
        "rounds": found.rounds,
    }
    if not found.converged:
        raise Unfinished(f"the cutting planes stopped after {found.rounds} rounds")
    bracket = (min(found.lower, found.upper), found.upper)  # a converged solution may sum up to an ulp more
    reason = "certification was not asked for"
    if certify:
        try:
            certificate = _certify(variables, found.rows, found.solution)
        except NotCertified as error:
            reason = str(error)
        else:
            return _certified(instance, certificate, **size)
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


def _certified(
    instance: Instance, certificate: Certificate, *, rows: int, antichains: int, rounds: int
) -> Optimum:
    """The optimum of a verified certificate: in floats where the instance is in floats."""
    value = certificate.optimum
    return Optimum(
        certificate.paths,
        value if instance.exact else float(value),
        certificate.budgets if instance.exact else float_array(certificate.budgets),
        certificate,
        CERTIFIED,
        (float(value), float(value)),
        rows,
        antichains,
        rounds,
        proven=(value, value),
    )


def _slopes(instance: Instance, paths: int, fineness: float = 1.0) -> FloatBracket:
    """What the slope programs find on the live nodes, for all nodes."""
    floats = instance.without_leaf_laws().to_float()
    live = np.flatnonzero(instance.live)
    if len(live) == len(instance.tree):
        return slope_phase(floats, paths, fineness)
    tree, _ = floats.tree.restrict(instance.live)
    found = slope_phase(Instance(tree, floats.target[live], floats.draft[live]), paths, fineness)
    whole = np.zeros((3, len(instance.tree)))
    whole[:, live] = found.feasible, found.weights, found.ratios
    return replace(found, feasible=whole[0], weights=whole[1], ratios=whole[2])


def _bracketed(instance: Instance, paths: int, found: FloatBracket, *, certify: bool, why: str) -> Optimum:
    """LP_K by the slope programs, with the bracket proven in rationals; `why` there is no certificate."""
    budgets = found.feasible
    size = (found.rows, found.cuts, found.rounds)
    if certify:
        reading = _reading(instance)
        proven = _proven(reading, paths, budgets, found.weights, found.ratios)
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
