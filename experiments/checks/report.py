"""The checks as JSON and as tables for people."""

from __future__ import annotations

from typing import Any

from nodebudget.verifiers import VERIFIERS

from .grid import PATHS
from .run import CheckResults
from .statement import Outcome

FAILURES_SHOWN = 5


def check_report(results: CheckResults) -> dict[str, Any]:
    """The JSON object of `nodebudget check`."""
    return {
        "passed": results.passed,
        "instances": results.instances,
        "statements": [
            {
                "number": statement.number,
                "statement": statement.words,
                "instances": outcome.instances,
                "worst_deviation": str(outcome.deviation),
                "passed": outcome.passed,
                "failures": outcome.failures or [],
                "note": outcome.note,
            }
            for statement, outcome in results.outcomes
        ],
        "families": [
            {
                "family": row.family,
                "instances": row.instances,
                "bv": row.block,
                "optimum": {str(k): v for k, v in row.optimum.items()},
                "gbv": {str(k): v for k, v in row.greedy.items()},
                "mixed": {str(k): v for k, v in row.mixed.items()},
                "share_of_optimum": {str(k): v for k, v in row.shares.items()},
            }
            for row in results.table
        ],
        "findings": list(results.findings),
    }


def print_check(results: CheckResults) -> None:
    """One line per statement, the table of families, the findings."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    table = Table("", "statement", "tried", "worst", "", box=None, pad_edge=False)
    for statement, outcome in results.outcomes:
        said = statement.words + (f" ({outcome.note})" if outcome.note else "")
        table.add_row(
            statement.number,
            said,
            str(outcome.instances),
            _deviation(outcome),
            "pass" if outcome.passed else "FAIL",
        )
    console.print(table)
    for statement, outcome in results.outcomes:
        for failure in (outcome.failures or [])[:FAILURES_SHOWN]:
            console.print(f"FAIL {statement.number}: {failure}", markup=False, soft_wrap=True)
    console.print(f"\nMean accepted tokens over {results.instances} exact instances")
    columns = [f"{name} {paths}" for paths in PATHS if paths > 1 for name in ("OPT", "GBV", "mixed")]
    table = Table("family", "instances", "OPT_1", "BV", *columns, box=None, pad_edge=False)
    for row in results.table:
        cells = [
            f"{v[paths]:.4f}" for paths in PATHS if paths > 1 for v in (row.optimum, row.greedy, row.mixed)
        ]
        table.add_row(row.family, str(row.instances), f"{row.optimum[1]:.4f}", f"{row.block:.4f}", *cells)
    console.print(table)
    console.print("\nAccepted tokens as a share of OPT_K, over the instances that were enumerated")
    table = Table("family", "K", *VERIFIERS, box=None, pad_edge=False)
    for row in results.table:
        for paths, shares in row.shares.items():
            table.add_row(row.family, str(paths), *(f"{shares[name]:.1%}" for name in VERIFIERS))
    console.print(table)
    console.print("\nFindings")
    for finding in results.findings:
        console.print(f"- {finding}", markup=False, soft_wrap=True)
    held = sum(outcome.passed for _, outcome in results.outcomes)
    console.print(f"\n{held} of {len(results.outcomes)} statements hold")


def _deviation(outcome: Outcome) -> str:
    return str(outcome.deviation) if len(str(outcome.deviation)) < 12 else f"{float(outcome.deviation):.2g}"
