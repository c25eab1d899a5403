"""`nodebudget audit`: judge a verifier on an instance, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .answers import print_json, quiet_stdout
from .options import DraftingSpec, InstanceFile, Json, PathsOrDrafting, what_is_drafted

if TYPE_CHECKING:
    from nodebudget.lp import Instance
    from nodebudget.lp.drafting import Drafting
    from nodebudget.verifiers.audit import ExactAudit

EXAMPLE = "nodebudget audit gbv instance.json --paths 2"


def audit(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=(
                "token, bv, gbv, nss, specinfer, spectr, traversal, mixed, gumbel-list, recycle:NAME; of drafted trees "
                "recursive-rejection, greedy, univer, spechub, race, and lift:NAME; or your own as module:function."
            ),
            show_default=False,
        ),
    ],
    file: InstanceFile,
    paths: PathsOrDrafting = None,
    drafting: DraftingSpec = None,
    as_json: Json = False,
) -> None:
    """Judge a verifier exactly: lossless, and how far from OPT_K?

    Goes through everything that can be drafted: K i.i.d. paths, or any other drafting for which the verifier is
    defined. Exit code 0 only if the verifier is lossless on this instance, 1 if it is not, 2 for input that cannot be
    used.
    """
    from ..tables import drafted_report

    drafted = what_is_drafted(paths, drafting)
    with quiet_stdout():
        found, instance = run_audit(name, file, drafted)
    if as_json:
        print_json(audit_report(found, instance) | (drafted_report(found.problem) if drafting else {}))
    else:
        print_audit(found, instance)
    if not found.lossless:
        raise typer.Exit(1)


def run_audit(name: str, file: Path, drafting: Drafting) -> tuple[ExactAudit, Instance]:
    """Read an instance and audit a verifier on it; ValueError for anything unusable."""
    from joblib import cpu_count
    from nodebudget.lp import load_instance
    from nodebudget.verifiers import get_verifier
    from nodebudget.verifiers.audit import audit_exact

    verifier = get_verifier(name)
    instance = load_instance(file)
    return audit_exact(verifier, instance, drafting, workers=cpu_count()), instance


def audit_report(audit: ExactAudit, instance: Instance) -> dict[str, Any]:
    """The JSON object of an audit: rational strings, exact for a float file on its rational reading."""
    from ..tables import budgets_report, number

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
        "budgets": budgets_report(instance.tree, audit.budgets),
    }


def print_audit(audit: ExactAudit, instance: Instance) -> None:
    """The audit as text for people."""
    from ..tables import console, print_nodes

    out = console()
    share = f", {float(audit.accepted_tokens / audit.optimum):.2%} of the optimum" if audit.optimum else ""
    lines = [
        f"{audit.verifier} on {instance!r}, {audit.what}",
        f"accepted tokens   {_short(audit.accepted_tokens)}{share}",
        f"optimum {'OPT_K' if audit.paths else '     '}     {_short(audit.optimum)}",
        f"prefix-matching   {_yes(audit.prefix_matching)}",
        f"target-matching   {_yes(audit.target_matching)}, total variation {_short(audit.total_variation)}",
        f"verdict           {'lossless on this instance' if audit.lossless else 'NOT lossless'}",
    ]
    for line in [*lines, *(f"fault: {fault}" for fault in audit.faults)]:
        out.print(line, markup=False)
    budgets = audit.budgets
    print_nodes(
        out,
        instance.tree,
        ("budget D(z)", "as a float"),
        lambda node: (_short(budgets[node]), f"{float(budgets[node]):.6f}"),
    )


def _yes(value: bool) -> str:
    return "yes" if value else "NO"


def _short(value: Any) -> str:
    text = str(value)
    return (
        text
        if len(text) <= 40
        else f"{float(value):.9g} (a rational of {len(text)} digits, in full with --json)"
    )
