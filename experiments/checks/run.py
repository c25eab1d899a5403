"""Run every check, and gather the table and the findings."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from typing import Any

from joblib import Parallel, delayed
from nodebudget.verifiers import VERIFIERS
from tqdm import tqdm

from ..checks import mixed, verifiers
from .grid import PATHS, Case, Grid, block_value, build_grid, greedy_value
from .statement import Outcome, Statement

FILES = (
    "budgets",
    "programs",
    "selection",
    "verifiers",
    "mixed",
    "drafts",
    "tree_verifiers",
    "races",
)
"""The files of this folder with statements, each a tuple `STATEMENTS`: a new file is one line here."""

STATEMENTS: tuple[Statement, ...] = tuple(
    sorted(
        (statement for file in FILES for statement in import_module(f"{__package__}.{file}").STATEMENTS),
        key=lambda statement: tuple(map(int, statement.number.split("."))),
    )
)


FAILURES = (ValueError, ArithmeticError, RuntimeError)
"""What a check may raise where it cannot be made."""


@dataclass(frozen=True)
class FamilyRow:
    """Mean accepted tokens of a family of the grid.

    Attributes:
        family: its name.
        instances: how many instances it has.
        block: BV on one path, from its budgets.
        optimum: K -> OPT_K.
        greedy: K -> GBV, from its skewed draft.
        mixed: K -> mixed multi-path block verification, from its budgets in floats.
        shares: K -> verifier -> accepted tokens as a share of OPT_K, over the instances that were enumerated.
    """

    family: str
    instances: int
    block: float
    optimum: dict[int, float]
    greedy: dict[int, float]
    mixed: dict[int, float]
    shares: dict[int, dict[str, float]]


@dataclass(frozen=True)
class CheckResults:
    """Everything that `nodebudget check` reports."""

    outcomes: tuple[tuple[Statement, Outcome], ...]
    table: tuple[FamilyRow, ...]
    findings: tuple[str, ...]
    instances: int

    @property
    def passed(self) -> bool:
        """True when every statement holds."""
        return all(outcome.passed for _, outcome in self.outcomes)


def run_checks(
    grid: Grid | None = None, statements: Sequence[Statement] = STATEMENTS, *, workers: int = 1
) -> CheckResults:
    """Run the checks with a progress bar on stderr.

    Args:
        grid: the cases; the built-in grid when None.
        statements: what is checked.
        workers: processes. More than one first share the cases, then the statements; the answer is the same.
    """
    grid = build_grid() if grid is None else grid
    parallel = Parallel(n_jobs=workers, return_as="generator")
    if workers > 1:
        found = parallel(delayed(_worked_out)(case) for case in grid.cases)
        for part in _with_bar(found, len(grid.cases), "cases"):
            grid.learn(part)
        # Rationals are slow to unpickle: the grid is packed once, and unpacked once in each process.
        packed = pickle.dumps(grid)
        tasks = [delayed(_run_packed)(statement, packed) for statement in statements]
    else:
        tasks = [delayed(_run)(statement, grid) for statement in statements]
    outcomes = list(_with_bar(parallel(tasks), len(tasks), "statements"))
    return CheckResults(
        tuple(zip(statements, outcomes, strict=True)), _table(grid), _findings(grid), len(grid.cases)
    )


def _with_bar(steps: Iterable[Any], total: int, name: str) -> Iterable[Any]:
    return tqdm(steps, desc=name, total=total, unit="step", leave=False, disable=None)


def _worked_out(case: Case) -> Grid:
    """All that several statements ask about a case; what fails here is left for them to fail on."""
    grid = Grid((case,))
    for paths in PATHS:
        with suppress(*FAILURES):
            grid.optimum(case, paths)
            mixed.mixed_value(grid, case, paths)
    for _, paths in verifiers.audited(grid):
        for name in VERIFIERS:
            with suppress(*FAILURES):
                verifiers.audit(grid, case, paths, name)
    return grid


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Grid:
    grid = pickle.loads(packed)
    assert isinstance(grid, Grid)
    return grid


def _run_packed(statement: Statement, packed: bytes) -> Outcome:
    return _run(statement, _unpacked(packed))


def _run(statement: Statement, grid: Grid) -> Outcome:
    try:
        return statement.check(grid)
    except FAILURES as error:
        return Outcome(failures=[f"could not be checked: {error}"])


def _table(grid: Grid) -> tuple[FamilyRow, ...]:
    rows = []
    for family in dict.fromkeys(case.family for case in grid.cases):
        cases = [case for case in grid.cases if case.family == family]

        def mean(values: list[Fraction]) -> float:
            return float(sum(values, Fraction(0)) / len(values))

        rows.append(
            FamilyRow(
                family,
                len(cases),
                mean([block_value(case) for case in cases]),
                {
                    paths: mean([Fraction(grid.optimum(case, paths).value) for case in cases])
                    for paths in PATHS
                },
                {paths: mean([greedy_value(case, paths) for case in cases]) for paths in PATHS},
                {
                    paths: sum(mixed.mixed_value(grid, case, paths) for case in cases) / len(cases)
                    for paths in PATHS
                },
                _shares(grid, cases),
            )
        )
    return tuple(rows)


def _shares(grid: Grid, cases: list[Case]) -> dict[int, dict[str, float]]:
    shares: dict[int, dict[str, float]] = {}
    for paths in verifiers.PATHS[1:]:
        here = [
            case
            for case, k in verifiers.audited(grid)
            if k == paths
            and case in cases
            and grid.optimum(case, paths).certified  # audits need a proven value
        ]
        best = sum(float(grid.optimum(case, paths).value) for case in here)
        if best:
            for name in VERIFIERS:
                if name == "mixed":  # not all are enumerated
                    values = [mixed.mixed_value(grid, case, paths) for case in here]
                else:
                    values = [
                        float(verifiers.audit(grid, case, paths, name).accepted_tokens) for case in here
                    ]
                shares.setdefault(paths, {})[name] = sum(values) / best
    return shares


def _findings(grid: Grid) -> tuple[str, ...]:
    """Statement 6.5 as a measurement: where GBV is below BV, and where it falls as K grows."""
    several = [(case, paths) for case in grid.cases for paths in PATHS if paths > 1]
    below = [
        (block_value(c) - greedy_value(c, k), c, k) for c, k in several if greedy_value(c, k) < block_value(c)
    ]
    falling = [(c, k) for c, k in several if greedy_value(c, k) < greedy_value(c, k - 1)]
    attained = [(c, k) for c, k in several if greedy_value(c, k) == Fraction(grid.optimum(c, k).value)]
    findings = []
    if below:
        loss, case, paths = max(below, key=lambda entry: entry[0])
        identical = sum(case.family == "identical" for _, case, _ in below)
        findings.append(
            f"6.5: GBV is below single-path BV in {len(below)} of {len(several)} (instance, K >= 2), {identical} of "
            f"them with identical laws; worst {case.label}, K={paths}: {_both(greedy_value(case, paths))} against "
            f"{_both(block_value(case))}, a loss of {float(loss):.4f}"
        )
    if falling:
        case, paths = falling[0]
        findings.append(
            f"6.5: GBV loses by one more path in {len(falling)} of {len(several)}; first {case.label}, K={paths - 1} "
            f"to {paths}: {_both(greedy_value(case, paths - 1))} to {_both(greedy_value(case, paths))}"
        )
    findings.append(f"GBV attains OPT_K exactly in {len(attained)} of {len(several)} (instance, K >= 2)")
    return tuple(findings)


def _both(value: Fraction) -> str:
    text = str(value)
    return f"{text} = {float(value):.4f}" if len(text) < 30 else f"{float(value):.6f}"


__all__ = ["STATEMENTS", "Case", "CheckResults", "FamilyRow", "run_checks"]
