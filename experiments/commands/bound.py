"""`nodebudget bound`: OPT_K of an instance, with its certificate."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from nodebudget.lp import Instance, Optimum, accepted_tokens, block_budgets, load_instance, solve_multi_path
from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.instances.trees import format_context
from nodebudget.lp.numbers.rationals import format_rational, shortened
from nodebudget.lp.optimum import Method

BUDGETS_SHOWN = 20
"""Most node budgets in the table for people; the JSON has all."""


def parse_paths(text: str) -> int:
    """The number K of drafted paths from the command line; ValueError for anything but a positive integer."""
    try:
        paths = int(text)
    except ValueError:
        raise ValueError(f"--paths: got {shortened(text)}; expected an integer of at least 1") from None
    check_paths(paths)
    return paths


def check_writable(path: Path, option: str) -> None:
    """Raise ValueError where a file cannot be put at `path`, before any work is done for it."""
    if not path.name or path.is_dir() or (path.exists() and not path.is_file()):
        raise ValueError(f"{option}: {str(path)!r} is not a file; expected the name of a file to write")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{option}: {str(path)!r} is not in a folder that can be written to")


def run_bound(file: Path, paths: int, *, method: str, certify: bool) -> tuple[Optimum, Instance]:
    """Read an instance and solve LP_K; ValueError for anything unusable."""
    if method not in get_args(Method):
        raise ValueError(f"--method: got {method!r}; expected {' or '.join(get_args(Method))}")
    instance = load_instance(file)
    return solve_multi_path(instance, paths, method=method, certify=certify), instance  # type: ignore[arg-type]


def number(value: Any) -> str | float:
    """A Fraction as its exact text, a float as it is."""
    return format_rational(value) if isinstance(value, Fraction) else float(value)


def bound_report(optimum: Optimum, instance: Instance) -> dict[str, Any]:
    """The JSON object of a bound: rational strings where the instance is exact and the optimum certified."""
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
        "budgets": {
            format_context(tree.path(node)): number(optimum.budgets[node]) for node in range(1, len(tree))
        },
    }


def print_bound(optimum: Optimum, instance: Instance) -> None:
    """The bound as text for people."""
    from rich.console import Console
    from rich.table import Table

    console = Console(soft_wrap=True, highlight=False)
    single = accepted_tokens(block_budgets(instance))
    console.print(f"{instance!r}, K = {optimum.paths}", markup=False)
    console.print(f"OPT_K (accepted tokens)  {_both(optimum.value)}", markup=False)
    console.print(f"block efficiency         {_both(optimum.block_efficiency)}", markup=False)
    console.print(f"block verification, K=1  {_both(single)}", markup=False)
    console.print(f"status                   {optimum.verdict}", markup=False)
    console.print(
        f"program                  {optimum.rows} rows, {optimum.antichain_rows} of them antichains, "
        f"{optimum.rounds} round{'s' if optimum.rounds != 1 else ''}"
    )
    tree = instance.tree
    if optimum.certificate:
        table = Table("tight antichain", "multiplier", box=None, pad_edge=False)
        for antichain in optimum.antichains[:BUDGETS_SHOWN]:
            names = " ".join(f"[{format_context(tree.path(node))}]" for node in antichain.nodes)
            table.add_row(plain(names), str(antichain.multiplier))
        console.print()
        console.print(table)
    table = Table("node", "budget D(z)", "p(z)", "q(z)", box=None, pad_edge=False)
    for node in range(1, min(len(tree), BUDGETS_SHOWN + 1)):
        values = (optimum.budgets[node], instance.joint_target[node], instance.joint_draft[node])
        table.add_row(plain(f"[{format_context(tree.path(node))}]"), *(_short(v) for v in values))
    console.print()
    console.print(table)
    if len(tree) > BUDGETS_SHOWN + 1:
        console.print(f"... and {len(tree) - 1 - BUDGETS_SHOWN} more nodes (all with --json)")


def plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)


def _both(value: Any) -> str:
    return f"{value} = {float(value):.6f}" if isinstance(value, Fraction) else f"{value:.9f} (float)"


def _short(value: Any) -> str:
    return str(value) if isinstance(value, Fraction) else f"{value:.6g}"
