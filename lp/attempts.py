"""The attempts at an optimum, as data: each is a function from what is known of a problem to an answer.

`attempts_at` lists those that are worth making, in order. The front door (`optimum.py`) makes them one after the other
and keeps the best answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from .answer import Optimum, OptimumStatus
from .drafting.grown import GrownTree
from .drafting.problem import Problem
from .drafting.replacement import DrawnWithReplacement
from .drafting.tables import TABLE_LIMIT, antichains_listed
from .instances.trees import approximately
from .numbers.rationals import float_array
from .programs.linear_program import BudgetVariables, LinearProgram
from .programs.multi_path import enumerated_program, starting_program
from .programs.single_path import single_path_program
from .proofs.basis_certificates import certificate_from_basis
from .proofs.brackets import node_weights, outwards, proven_by_antichains, proven_by_weights
from .proofs.certificates import Certificate
from .proofs.exact_simplex import NotCertified
from .proofs.mixture_bounds import chain_of_weights, proven_by_orders
from .proofs.slope_certificates import FINENESS, certificate_from_slopes
from .solving.cutting_planes import SMALL_TREE, CuttingPlanes, cutting_planes, float_budgets, optimal
from .solving.order_mixtures import MixtureBracket, best_mixture
from .solving.prices import PriceBracket, price_phase
from .solving.sessions import HighsSession
from .solving.slopes import FloatBracket, slope_phase

FIRST_WORK = 50_000_000
"""Work after which plain cutting planes wait for the slope programs: a few seconds."""

CERTIFIED_TREE = 5000
"""Nodes up to which the slope programs are asked for a certificate."""

BRACKET_WORK = 150_000_000
"""Work of cutting planes where a bracket is all that is wanted: half a minute."""

BRACKET_WIDTH = 8e-6
"""Relative width at which such a bracket is good enough."""

NOT_ASKED = "certification was not asked for"


class Unfinished(RuntimeError):
    """The float phase stopped before it was done; the message says where."""


@dataclass
class Work:
    """A problem with what attempts found on the way, for those that come after.

    Attributes:
        problem: as it was given.
        certify: whether a proof in rationals is wanted.
        reason: why there is no certificate yet.
        fine: what the slope programs found when they were asked for a certificate, or None.
    """

    problem: Problem
    certify: bool
    reason: str = ""
    fine: FloatBracket | None = None

    @cached_property
    def solved(self) -> Problem:
        """The problem that programs are built for: its rational reading where a proof is wanted."""
        return self.problem.reading if self.certify else self.problem


@dataclass(frozen=True)
class Attempt:
    """One way to the optimum.

    Attributes:
        name: in a few words.
        run: from what is known to an answer. Raises Unfinished, NotCertified or SolverFailure where it has none.
        again: made only if there is no answer yet, and not to be quoted as the reason for that.
        alone: nothing else finds the optimum where it fails: a failure of the solver is not passed over.
    """

    name: str
    run: Callable[[Work], Optimum]
    again: bool = False
    alone: bool = False


def attempts_at(problem: Problem, *, certify: bool) -> list[Attempt]:
    """The attempts at LP_K by cutting planes.

    Plain ones on small trees, for a while; then a certificate from the slope programs; then plain ones up to their own
    limit; and where all this ends without a certificate, the bracket of the slope programs. For other draftings plain
    ones on small trees, and where these are not finished, or the tree is large, a bracket.
    """
    small = problem.nodes <= SMALL_TREE
    drafting = problem.drafting
    if isinstance(drafting, GrownTree) and not drafting.separable(problem.instance, exact=certify):
        return [Attempt("bracket of mixtures of orders", mixture_bracket, alone=True)]
    if problem.paths is None:
        bracket = Attempt("bracket for any draft", cuts_bracket, again=small, alone=not small)
        return [Attempt("cutting planes", by_cuts, alone=True), bracket] if small else [bracket]
    by_slopes = certify and problem.paths > 1 and problem.nodes <= CERTIFIED_TREE
    attempts = []
    if small:
        limit = FIRST_WORK if by_slopes else None
        attempts.append(Attempt("cutting planes", lambda work: by_cuts(work, limit), alone=not by_slopes))
    if by_slopes:
        attempts.append(Attempt("certificate from the slope programs", slope_certificate))
        if small:
            attempts.append(Attempt("cutting planes, to their own limit", by_cuts, again=True))
    return [*attempts, Attempt("bracket of the slope programs", slope_bracket)]


def tree_too_large(problem: Problem) -> str:
    """Why there is no certificate where none is tried."""
    limit = CERTIFIED_TREE if problem.paths and problem.paths > 1 else SMALL_TREE
    return f"the tree has {problem.nodes} nodes; certificates are tried up to {limit}"


EVERY_ANTICHAIN = Attempt(
    "every antichain",
    lambda work: _once(work, enumerated_program(work.solved.instance, work.problem.drafting)),
)

SINGLE_PATH = Attempt("single path", lambda work: _once(work, single_path_program(work.solved.instance)))


def by_cuts(work: Work, work_limit: int | None = None) -> Optimum:
    """LP_K by plain cutting planes. Raises Unfinished where they stopped at their limit."""
    variables = BudgetVariables(work.solved)
    program = starting_program(work.solved.instance, work.problem.drafting)
    return _from_rows(work, variables, cutting_planes(variables, program, work_limit))


def _once(work: Work, program: LinearProgram) -> Optimum:
    """A program that has all its rows, solved as it stands: cutting planes of one round."""
    variables = BudgetVariables(work.solved)
    solution = optimal(HighsSession(program).solve(), program)
    budgets, value = float_budgets(variables, solution.values), solution.objective
    return _from_rows(work, variables, CuttingPlanes(program.rows, solution, 1, True, value, value, budgets))


def _from_rows(work: Work, variables: BudgetVariables, found: CuttingPlanes) -> Optimum:
    if not found.converged:
        raise Unfinished(f"the cutting planes stopped after {found.rounds} rounds")
    rows, rounds = len(found.rows), found.rounds
    antichains = found.cuts
    bracket = (min(found.lower, found.upper), found.upper)  # a converged solution may sum up to an ulp more
    reason, proven = NOT_ASKED, None
    if work.certify:
        try:
            certificate = certificate_from_basis(variables, found.rows, found.solution.basis)
        except NotCertified as error:
            reason = str(error)
            if work.problem.paths:
                proven = proven_by_weights(work.solved, found.feasible, node_weights(variables, found))
            else:
                proven = proven_by_antichains(work.solved, found)
        else:
            return _certified(work.problem, certificate, rows, antichains, rounds)
    return Optimum(
        work.problem,
        found.upper,
        found.feasible,
        OptimumStatus.NOT_CERTIFIED,
        reason,
        None,
        bracket,
        rows,
        antichains,
        rounds,
        proven,
    )


def cuts_bracket(work: Work) -> Optimum:
    """A bracket for any draft, proven in rationals where a proof is wanted (statement 13.1).

    By prices of subtrees for draws with replacement (13.7), by plain cutting planes for others.
    """
    problem = work.problem.floats
    found: PriceBracket | CuttingPlanes
    if isinstance(problem.drafting, DrawnWithReplacement):
        found = price_phase(problem, BRACKET_WIDTH)
        rows = found.rows
    else:
        variables = BudgetVariables(problem)
        program = starting_program(problem.instance, problem.drafting)
        found = cutting_planes(variables, program, BRACKET_WORK, BRACKET_WIDTH)
        rows = len(found.rows)
    proven = proven_by_antichains(work.problem.reading, found) if work.certify else None
    return _bracketed(work, found, rows, found.cuts, proven)


def mixture_bracket(work: Work) -> Optimum:
    """A bracket for a tree grown node by node without listing its antichains (statements 9.1 and 13.5)."""
    drafting = work.problem.drafting
    assert isinstance(drafting, GrownTree)
    found = best_mixture(work.problem.floats, drafting)
    chain = chain_of_weights(work.problem.instance.tree, found.weights)
    proven = None
    if work.certify:
        proven = proven_by_orders(work.problem.reading, drafting, found.orders, found.shares, chain)
    count = approximately(antichains_listed(work.problem.instance))
    work.reason = f"the tree has {count} antichains; certificates are tried up to {TABLE_LIMIT[True]}"
    return _bracketed(work, found, found.rows, len(chain), proven)


def slope_certificate(work: Work) -> Optimum:
    """A certificate from the duals of the slope programs (statements 8.2 and 9.1)."""
    work.fine = live_slopes(work.problem, FINENESS)
    certificate, rounds, antichains = certificate_from_slopes(
        work.problem.reading, work.fine.weights, work.fine.feasible
    )
    rows = work.problem.nodes - 1 + antichains
    return _certified(work.problem, certificate, rows, antichains, rounds)


def slope_bracket(work: Work) -> Optimum:
    """The bracket of the slope programs (statement 8.3), proven in rationals where a proof is wanted (9.1, 9.2)."""
    found = work.fine or live_slopes(work.problem)
    proven = None
    if work.certify:
        proven = proven_by_weights(work.problem.reading, found.feasible, found.weights, found.ratios)
    return _bracketed(work, found, found.rows, found.cuts, proven)


def _bracketed(
    work: Work,
    found: PriceBracket | CuttingPlanes | FloatBracket | MixtureBracket,
    rows: int,
    antichains: int,
    proven: tuple[Fraction, Fraction] | None,
) -> Optimum:
    """The answer of a bracket: its proven ends, or what floats found and whether they converged."""
    low, high = min(found.lower, found.upper), found.upper
    status, reason = OptimumStatus.NOT_CERTIFIED, NOT_ASKED
    if proven is not None:
        low, high = outwards(proven[0], -np.inf), outwards(proven[1], np.inf)
        status, reason = OptimumStatus.BRACKETED, work.reason
    elif not found.converged:
        status = OptimumStatus.BOUNDED
        reason = f"stopped after {found.rounds} rounds; the optimum lies between {low} and {high}"
    known = (None, (low, high), rows, antichains, found.rounds, proven)
    return Optimum(work.problem, high, found.feasible, status, reason, *known)


def _certified(
    problem: Problem, certificate: Certificate, rows: int, antichains: int, rounds: int
) -> Optimum:
    """The optimum of a verified certificate: in floats where the instance is in floats."""
    value, exact = certificate.optimum, problem.instance.exact
    return Optimum(
        problem,
        value if exact else float(value),
        certificate.budgets if exact else float_array(certificate.budgets),
        OptimumStatus.CERTIFIED,
        "",
        certificate,
        (float(value), float(value)),
        rows,
        antichains,
        rounds,
        proven=(value, value),
    )


def live_slopes(problem: Problem, fineness: float = 1.0) -> FloatBracket:
    """What the slope programs find on the live nodes, for all nodes."""
    instance, paths = problem.instance.without_leaf_laws(), problem.iid_paths()
    live = np.flatnonzero(instance.live)
    if len(live) == len(instance.tree):
        return slope_phase(instance.to_float(), paths, fineness)
    found = slope_phase(instance.prune().to_float(), paths, fineness)
    whole = np.zeros((3, len(instance.tree)))
    whole[:, live] = found.feasible, found.weights, found.ratios
    return replace(found, feasible=whole[0], weights=whole[1], ratios=whole[2])
