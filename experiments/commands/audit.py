"""`nodebudget audit`: judge a verifier on an instance, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from joblib import cpu_count
from nodebudget.lp import Instance, load_instance
from nodebudget.lp.instances.trees import format_context
from nodebudget.verifiers import get_verifier
from nodebudget.verifiers.audit import ExactAudit, audit_exact

from .bound import BUDGETS_SHOWN, number, plain


def run_audit(name: str, file: Path, paths: int) -> tuple[ExactAudit, Instance]:
    """Read an instance and audit a verifier on it; ValueError for anything unusable."""
    verifier = get_verifier(name)
    instance = load_instance(file)
    return audit_exact(verifier, instance, paths, workers=cpu_count()), instance


def audit_report(audit: ExactAudit, instance: Instance) -> dict[str, Any]:
    """The JSON object of an audit: rational strings, exact for a float file on its rational reading."""
    tree = instance.tree
    return {
        "verifier": audit.verifier,
        "paths": audit.paths,
        "accepted_tokens": number(audit.accepted_tokens),
        "accepted_tokens_float": float(audit.accepted_tokens),
        "optimum": number(audit.optimum),
        "gap": number(audit.gap),
        "prefix_matching": audit.prefix_matching,
        "target_matching": audit.target_matching,
        "total_variation": number(audit.total_variation),
        "faults": list(audit.faults),
        "budgets": {
            format_context(tree.path(node)): number(audit.budgets[node]) for node in range(1, len(tree))
        },
    }


def print_audit(audit: ExactAudit, instance: Instance) -> None:
    """The audit as text for people."""
    from rich.console import Console
    from rich.table import Table

    console = Console(soft_wrap=True, highlight=False)
    share = f", {float(audit.accepted_tokens / audit.optimum):.2%} of the optimum" if audit.optimum else ""
    lines = [
        f"{audit.verifier} on {instance!r}, K = {audit.paths}",
        f"accepted tokens   {_short(audit.accepted_tokens)}{share}",
        f"optimum OPT_K     {_short(audit.optimum)}",
        f"prefix-matching   {_yes(audit.prefix_matching)}",
        f"target-matching   {_yes(audit.target_matching)}, total variation {_short(audit.total_variation)}",
        f"verdict           {'lossless on this instance' if audit.lossless else 'NOT lossless'}",
    ]
    for line in [*lines, *(f"fault: {fault}" for fault in audit.faults)]:
        console.print(line, markup=False)
    table = Table("node", "budget D(z)", "as a float", box=None, pad_edge=False)
    for node in range(1, min(len(instance.tree), BUDGETS_SHOWN + 1)):
        name = plain(f"[{format_context(instance.tree.path(node))}]")
        table.add_row(name, _short(audit.budgets[node]), f"{float(audit.budgets[node]):.6f}")
    console.print()
    console.print(table)
    if len(instance.tree) > BUDGETS_SHOWN + 1:
        console.print(f"... and {len(instance.tree) - 1 - BUDGETS_SHOWN} more nodes (all with --json)")


def _yes(value: bool) -> str:
    return "yes" if value else "NO"


def _short(value: Any) -> str:
    text = str(value)
    return (
        text
        if len(text) <= 40
        else f"{float(value):.9g} (a rational of {len(text)} digits, in full with --json)"
    )
