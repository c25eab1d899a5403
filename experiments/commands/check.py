"""`nodebudget check`: every statement of the mathematics, on the built-in grid."""

from __future__ import annotations

import typer

from .answers import print_json
from .options import Json

EXAMPLE = "nodebudget check --json"


def check(as_json: Json = False) -> None:
    """Check every statement of the mathematics on exact instances.

    The instances are a built-in grid. Exit code 0 only if every statement holds, 1 otherwise.
    """
    from joblib import cpu_count

    from ..checks.report import check_report, print_check
    from ..checks.run import run_checks

    results = run_checks(workers=cpu_count())
    if as_json:
        print_json(check_report(results))
    else:
        print_check(results)
    if not results.passed:
        raise typer.Exit(1)
