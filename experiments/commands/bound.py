"""`nodebudget bound`: the optimum of an instance for what is drafted, with its certificate."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from .answers import check_writable, print_json
from .options import DraftingSpec, InstanceFile, Json, PathsOrDrafting, what_is_drafted

if TYPE_CHECKING:
    from nodebudget.lp import Instance, Optimum
    from nodebudget.lp.drafting import Drafting

EXAMPLE = "nodebudget bound instance.json --paths 2"


def bound(
    file: InstanceFile,
    paths: PathsOrDrafting = None,
    drafting: DraftingSpec = None,
    floats: Annotated[
        bool, typer.Option("--float", help="Solve in floats only; nothing is certified.")
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="M",
            help="cuts (separation oracle, any size) or enumerate (every antichain, up to a million).",
        ),
    ] = "cuts",
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Save the exact certificate as JSON.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute OPT_K, the bound on what any verifier accepts.

    OPT_K is the most drafted tokens that a lossless verifier can expect to accept with K drafted paths, or with another
    --drafting. It is certified in rationals unless --float is given. Exit code 2 for input that cannot be used.
    """
    from ..tables import drafted_report

    drafted = what_is_drafted(paths, drafting)
    if certificate is not None:
        if floats:
            raise ValueError("--certificate: there is no certificate with --float; leave one of them out")
        check_writable(certificate, "--certificate")
    optimum, instance = run_bound(file, drafted, method=method, certify=not floats)
    if certificate is not None:
        if optimum.certificate is None:
            raise ValueError(f"--certificate: there is no certificate to save; {optimum.verdict}")
        optimum.certificate.save(certificate)
    if as_json:
        print_json(
            bound_report(optimum, instance) | ({} if drafting is None else drafted_report(optimum.problem))
        )
    else:
        print_bound(optimum, instance)


def run_bound(file: Path, drafted: Drafting, *, method: str, certify: bool) -> tuple[Optimum, Instance]:
    """Read an instance and solve its linear program; ValueError for anything unusable."""
    from nodebudget.lp import load_instance, solve_multi_path
    from nodebudget.lp.numbers.rationals import shortened
    from nodebudget.lp.optimum import Method

    if method not in get_args(Method):
        raise ValueError(f"--method: got {shortened(method)}; expected {' or '.join(get_args(Method))}")
    instance = load_instance(file)
    return solve_multi_path(instance, drafted, method=method, certify=certify), instance  # type: ignore[arg-type]


def bound_report(optimum: Optimum, instance: Instance) -> dict[str, Any]:
    """The JSON object of a bound: rational strings where the instance is exact and the optimum certified."""
    from nodebudget.lp.instances.trees import format_context
    from nodebudget.lp.numbers.rationals import format_rational

    from ..tables import budgets_report, number

    tree = instance.tree
    tight = optimum.antichains
    return {
        "paths": optimum.paths,
        "optimum": number(optimum.value),
        "optimum_float": float(optimum.value),
        "block_efficiency": number(optimum.block_efficiency),
        "status": optimum.verdict,
        "certified": optimum.certified,
        "bracket": list(optimum.bracket),
        "antichains": [
            {
                "nodes": [format_context(tree.path(node)) for node in antichain.nodes],
                "multiplier": format_rational(antichain.multiplier),
            }
            for antichain in tight
        ],
        "budgets": budgets_report(tree, optimum.budgets),
    }


def print_bound(optimum: Optimum, instance: Instance) -> None:
    """The bound as text for people."""
    from nodebudget.lp import accepted_tokens, block_budgets

    from ..tables import NODES_SHOWN, console, node_name, plain, print_nodes, text_table

    out = console()
    single = accepted_tokens(block_budgets(instance))
    rounds = f"{optimum.rounds} round{'s' if optimum.rounds != 1 else ''}"
    drafted = f"K = {optimum.paths}" if optimum.paths else f"drafting {optimum.problem.drafting}"
    for line in (
        f"{instance!r}, {drafted}",
        f"{'OPT_K' if optimum.paths else 'OPT'} (accepted tokens)".ljust(25) + _both(optimum.value),
        f"block efficiency         {_both(optimum.block_efficiency)}",
        f"block verification, K=1  {_both(single)}",
        f"status                   {optimum.verdict}",
        f"program                  {optimum.rows} rows, {optimum.antichain_rows} of them antichains, {rounds}",
    ):
        out.print(line, markup=False)
    tree = instance.tree
    if optimum.certificate:
        tight = text_table("tight antichain", "multiplier")
        for antichain in optimum.antichains[:NODES_SHOWN]:
            names = " ".join(node_name(tree, node) for node in antichain.nodes)
            tight.add_row(plain(names), str(antichain.multiplier))
        out.print()
        out.print(tight)
    columns = (optimum.budgets, instance.joint_target, instance.joint_draft)
    print_nodes(
        out, tree, ("budget D(z)", "p(z)", "q(z)"), lambda node: [_short(column[node]) for column in columns]
    )


def _both(value: Any) -> str:
    return f"{value} = {float(value):.6f}" if isinstance(value, Fraction) else f"{value:.9f} (float)"


def _short(value: Any) -> str:
    return str(value) if isinstance(value, Fraction) else f"{value:.6g}"
