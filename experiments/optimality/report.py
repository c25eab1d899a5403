"""Optimality as JSON and as a table for people: shares of OPT_K with intervals over contexts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from nodebudget.verifiers.arithmetic.bootstrap import ratio_interval

from ..tables import console, plain, sampling, text_table
from .run import OptimalityResult

NOISE = 1e-9
"""Accepted tokens below which a difference is that of float sums; an estimate is compared at two standard errors."""


WIDTH = 110
"""What the table needs."""

COLUMNS = ("accepted", "+-", "block efficiency", "share of OPT_K", "95%", "of OPT_K - BV", "below BV")


def means(table: pa.Table) -> list[dict[str, Any]]:
    """For each depth, K or drafting, and verifier: mean accepted tokens and OPT_K, and their ratio with an interval.

    The share of several contexts is the sum of accepted tokens over the sum of OPT_K; its interval is a bootstrap
    over contexts. `closed` is the share of OPT_K - BV that is reached, `below_bv` on how many contexts a verifier
    accepts less than block verification of one path; both are missing where `bv` was not asked for. Contexts
    without OPT_K, or whose solver stopped early, are counted apart, as `unsolved`.
    """
    rows = [{"drafting": f"iid:{row['paths']}"} | row for row in table.to_pylist() if row["depth"]]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = (row["depth"], row["paths"], row["drafting"], row["verifier"])
        groups.setdefault(key, []).append(row)
    single = {
        (row["context"], row["paths"]): row["accepted_tokens"] for row in rows if row["verifier"] == "bv"
    }
    found = []
    for (depth, paths, drafting, verifier), members in groups.items():
        solved = [row for row in members if str(row["status"]).startswith("optimal")]
        summary = {"depth": depth, "paths": paths, "verifier": verifier, "contexts": len(solved)}
        if paths is None:
            summary |= {"drafting": drafting}
        known = single if paths else {}
        found.append(summary | {"unsolved": len(members) - len(solved)} | _summary(solved, known))
    return found


def _summary(rows: list[dict[str, Any]], single: dict[Any, float]) -> dict[str, Any]:
    accepted = [row["accepted_tokens"] for row in rows]
    best = [row["optimum"] for row in rows]
    nothing = dict.fromkeys(
        ("accepted_tokens", "standard_error", "optimum", "share", "interval", "closed", "below_bv")
    )
    if not sum(best):
        return nothing
    errors = [row["standard_error"] or 0.0 for row in rows]
    summary: dict[str, Any] = {
        "accepted_tokens": sum(accepted) / len(rows),
        "standard_error": sum(error**2 for error in errors) ** 0.5 / len(rows) if any(errors) else None,
        "optimum": sum(best) / len(rows),
        "share": sum(accepted) / sum(best),
        "interval": ratio_interval(accepted, best),
    }
    if not single:
        return nothing | summary
    by_one = [single[row["context"], row["paths"]] for row in rows]
    room = sum(best) - sum(by_one)
    less = [
        own < one - max(NOISE, 2 * error) for own, one, error in zip(accepted, by_one, errors, strict=True)
    ]
    closed = (sum(accepted) - sum(by_one)) / room if room > NOISE * len(rows) else None
    return nothing | summary | {"closed": closed, "below_bv": sum(less)}


def shortened_contexts(table: pa.Table) -> tuple[int, int]:
    """How many contexts have a shorter tree than asked for, and how many have none."""
    depths = {row["context"]: (row["depth"], row["length"]) for row in table.to_pylist()}
    shorter = sum(0 < depth < length for depth, length in depths.values())
    return shorter, sum(depth == 0 for depth, _ in depths.values())


def optimality_report(result: OptimalityResult) -> dict[str, Any]:
    """The JSON object."""
    shorter, left_out = shortened_contexts(result.table)
    return {
        **result.config.document(),
        "pair": result.pair,
        "notes": list(result.notes),
        "shortened": shorter,
        "left_out": left_out,
        "results": means(result.table),
    }


def print_optimality(result: OptimalityResult) -> None:
    """What came out, for people."""
    config = result.config
    out = console(WIDTH)
    contexts = result.table["context"].to_pylist()[-1] + 1
    out.print(
        f"{result.pair}, {contexts} contexts after {config.prompts} prompts, L = {config.length}, "
        f"{sampling(config.temperature, config.top_k, config.top_p)}",
        markup=False,
    )
    for note in result.notes:
        out.print(f"note: {note}", markup=False)
    shorter, left_out = shortened_contexts(result.table)
    if shorter:
        out.print(
            f"cut: {shorter} contexts have shorter trees, so that they fit into {config.nodes} nodes; they stand apart"
        )
    if left_out:
        out.print(
            f"cut: {left_out} contexts are left out: more than {config.nodes} nodes at the first level already"
        )
    summaries = means(result.table)
    for depth, drafted in dict.fromkeys((row["depth"], _drafted(row)) for row in summaries):
        group = [row for row in summaries if (row["depth"], _drafted(row)) == (depth, drafted)]
        first = group[0]
        best = "none" if first["optimum"] is None else f"{first['optimum']:.4f}"
        unsolved = f", {first['unsolved']} more without a converged OPT_K" if first["unsolved"] else ""
        out.print(
            f"\nL = {depth}, {drafted}: mean OPT_K {best} over {first['contexts']} contexts{unsolved}",
            markup=False,
        )
        made = text_table("verifier", right=COLUMNS)
        for row in group:
            if row["accepted_tokens"] is None:
                made.add_row(plain(row["verifier"]), *["-"] * len(COLUMNS))
                continue
            made.add_row(
                plain(row["verifier"]),
                f"{row['accepted_tokens']:.4f}",
                "" if row["standard_error"] is None else f"{row['standard_error']:.4f}",
                f"{1 + row['accepted_tokens']:.4f}",
                f"{row['share']:.1%}",
                "" if row["interval"] is None else "{:.1%} .. {:.1%}".format(*row["interval"]),
                "" if row["closed"] is None else f"{row['closed']:.0%}",
                "" if row["below_bv"] is None else str(row["below_bv"]),
            )
        out.print(made)


def _drafted(summary: dict[str, Any]) -> str:
    """What is drafted, for a heading."""
    return f"K = {summary['paths']}" if summary["paths"] is not None else str(summary["drafting"])
