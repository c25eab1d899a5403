"""A finished sweep as JSON and as a table for people: means by family, size and verifier."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..tables import text_table
from .run import SweepResult

GROUPS_SHOWN = 40
KEYS = ("family", "vocab", "depth", "similarity", "concentration", "zeros", "paths", "drafting")
SHORT = {"vocab": "V", "depth": "L", "paths": "K"}


def means(table: pa.Table) -> list[dict[str, Any]]:
    """Mean accepted tokens, OPT_K and share of every group of instances, verifier by verifier.

    The share of a group is the sum of accepted tokens over the sum of OPT_K. Tables of earlier versions have no column
    `drafting`: all that is drafted there are i.i.d. paths.
    """
    if "drafting" not in table.column_names:
        table = table.append_column("drafting", pa.array([f"iid:{k}" for k in table["paths"].to_pylist()]))
        table = table.append_column("nodes_expected", pa.nulls(table.num_rows, pa.float64()))
    grouped = table.group_by([*KEYS, "verifier"], use_threads=False).aggregate(
        [("nodes_expected", "mean"), ("accepted_tokens", "mean"), ("optimum", "mean"), ("seed", "count")]
    )
    rows = []
    for row in grouped.to_pylist():
        accepted, best = row.pop("accepted_tokens_mean"), row.pop("optimum_mean")
        count, nodes = row.pop("seed_count"), row.pop("nodes_expected_mean")
        share = accepted / best if best else None
        rows.append(
            {
                **row,
                "nodes_expected": nodes,
                "instances": count,
                "accepted_tokens": accepted,
                "optimum": best,
                "share": share,
            }
        )
    return rows


def sweep_report(done: SweepResult) -> dict[str, Any]:
    """The JSON object of a sweep."""
    return {
        "file": str(done.file),
        "rows": done.table.num_rows,
        "computed": done.computed,
        "kept": done.kept,
        "not_optimal": _not_optimal(done.table),
        "groups": means(done.table),
    }


def print_sweep(done: SweepResult) -> None:
    """Where the table is, and the means."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=250)
    state = (
        "already finished" if not done.computed else f"{done.computed} instances computed, {done.kept} kept"
    )
    console.print(f"{done.file}: {done.table.num_rows} rows ({state})", markup=False)
    rows = means(done.table)
    names = list(dict.fromkeys(row["verifier"] for row in rows))
    other = "paths" if all(row["paths"] is not None for row in rows) else "drafting"
    used = [key for key in KEYS[:-2] if any(row[key] is not None for row in rows)] + [other]
    groups: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in used), {})[row["verifier"]] = row
    more = ["nodes"] if other == "drafting" else []
    table = text_table(*(SHORT.get(key, key) for key in used), *more, "instances", "OPT_K", *names)
    for group, found in list(groups.items())[:GROUPS_SHOWN]:
        first = next(iter(found.values()))
        optimum = "-" if first["optimum"] is None else f"{first['optimum']:.4f}"
        shares = [_share(found[name]["share"]) if name in found else "-" for name in names]
        cells = ["-" if value is None else str(value) for value in group]
        if more:
            cells.append(f"{first['nodes_expected']:.2f}")
        table.add_row(*cells, str(first["instances"]), optimum, *shares)
    console.print("\nmean OPT_K, and mean accepted tokens as a share of it")
    console.print(table)
    if len(groups) > GROUPS_SHOWN:
        console.print(f"... and {len(groups) - GROUPS_SHOWN} more groups (all with --json)")
    if missed := _not_optimal(done.table):
        console.print(f"{missed} rows have no converged optimum: see the columns status and optimum_low")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _not_optimal(table: pa.Table) -> int:
    converged = pc.starts_with(table["status"], "optimal")
    return int(table.num_rows - (pc.sum(converged).as_py() or 0))
