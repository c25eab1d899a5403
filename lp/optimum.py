"""The front door to the bound: solve LP_1 and LP_K, and prove the answer."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from .answer import Optimum, OptimumStatus
from .attempts import (
    EVERY_ANTICHAIN,
    SINGLE_PATH,
    Attempt,
    Unfinished,
    Work,
    attempts_at,
    tree_too_large,
)
from .drafting.problem import Problem
from .drafting.replacement import IidPaths
from .drafting.specs import Drafted, as_drafting
from .instances.arguments import check_kind
from .instances.instance import Instance
from .proofs.exact_simplex import NotCertified
from .solving.sessions import SolverFailure

__all__ = ["Optimum", "OptimumStatus", "solve_multi_path", "solve_problem", "solve_single_path"]

Method = Literal["cuts", "enumerate"]


def solve_single_path(instance: Instance, *, certify: bool = True) -> Optimum:
    """The optimum of LP_1 (section 4). See `solve_multi_path` for the arguments and errors."""
    check_kind("instance", instance, Instance, "an Instance, such as load_instance(FILE)")
    return solve_problem(Problem(instance, IidPaths(1)), [SINGLE_PATH], certify=certify)


def solve_multi_path(
    instance: Instance, paths: Drafted, *, method: Method = "cuts", certify: bool = True
) -> Optimum:
    """The optimum of LP_K (section 4), or for another draft: no valid verifier that is given it accepts more.

    Args:
        instance: exact or float. A float instance is certified on its rational reading.
        paths: number K of drafted paths, or any drafting, such as `WithoutReplacement(2, 1)` (statement 13.1).
        method: "cuts" (separation oracle, any size) or "enumerate" (every antichain, small trees).
        certify: prove the optimum in rationals; without it the answer is a float.

    Raises:
        ValueError: something else than an instance, paths < 1, a drafting that is not for it, an unknown method, or too
            many antichains to enumerate.
        SolverFailure: the float solver reported no optimum.
    """
    check_kind("instance", instance, Instance, "an Instance, such as load_instance(FILE)")
    problem = Problem(instance, as_drafting(paths))
    if method == "cuts":
        return solve_problem(problem, certify=certify)
    if method == "enumerate":
        return solve_problem(problem, [EVERY_ANTICHAIN], certify=certify)
    raise ValueError(f"method: got {method!r}; expected 'cuts' or 'enumerate'")


def solve_problem(
    problem: Problem, attempts: Sequence[Attempt] | None = None, *, certify: bool = True
) -> Optimum:
    """Make attempts one after the other until one is certified, or does not need to be; else the best answer.

    Args:
        problem: the instance, and what is drafted.
        attempts: by default those of `attempts_at`.
        certify: prove the optimum in rationals.

    Raises SolverFailure where none has an answer and the float solver is to blame.
    """
    check_kind("problem", problem, Problem, "a Problem, such as Problem(instance, IidPaths(2))")
    work = Work(problem, certify, tree_too_large(problem))
    best: Optimum | None = None
    failure: Exception = SolverFailure("no attempt was made")
    for attempt in attempts_at(problem, certify=certify) if attempts is None else attempts:
        if attempt.again and best is not None:
            continue
        try:
            found = attempt.run(work)
        except (Unfinished, NotCertified, SolverFailure) as error:
            if attempt.alone and isinstance(error, SolverFailure):
                raise
            failure = error
            if not attempt.again:
                work.reason = str(error)
            continue
        best = found if best is None or _width(found) < _width(best) else best
        if best.certified or not certify:
            return best
    if best is None:
        raise failure
    return best


def _width(optimum: Optimum) -> Fraction:
    """How far apart the proven ends are. Duals may be far off where laws are very peaked, although they converged."""
    low, high = optimum.proven or (Fraction(0), Fraction(optimum.problem.instance.depth))
    return high - low
