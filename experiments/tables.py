"""What the commands print for people: consoles, tables, and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from nodebudget.lp import PrefixTree, Problem
from nodebudget.lp.instances.trees import format_context
from nodebudget.lp.numbers.rationals import format_rational
from rich.console import Console
from rich.table import Table
from rich.text import Text

NODES_SHOWN = 20
"""Most nodes in a table for people; the JSON has all."""


def console(least_width: int = 0) -> Console:
    """A console that leaves long lines whole: a narrow terminal breaks them, and cuts no numbers."""
    return Console(soft_wrap=True, highlight=False, width=max(least_width, Console().width))


def text_table(*first: str, right: Iterable[str] = ()) -> Table:
    """A table without lines: columns on the left, then columns of numbers on the right."""
    made = Table(*first, box=None, pad_edge=False)
    for name in right:
        made.add_column(name, justify="right", no_wrap=True)
    return made


def plain(text: str) -> Text:
    """A text in which brackets are brackets, not markup."""
    return Text(text)


def number(value: Any) -> str | float:
    """A Fraction as its exact text, a float as it is: how JSON has it."""
    return format_rational(value) if isinstance(value, Fraction) else float(value)


def node_name(tree: PrefixTree, node: int) -> str:
    """A node as its tokens in brackets."""
    return f"[{format_context(tree.path(node))}]"


def budgets_report(tree: PrefixTree, budgets: Any) -> dict[str, str | float]:
    """The budgets of all nodes but the root, for JSON."""
    return {format_context(tree.path(node)): number(budgets[node]) for node in range(1, len(tree))}


def drafted_report(problem: Problem) -> dict[str, Any]:
    """What is drafted, and how many nodes the target's pass reads; None where a sparse instance does not tell."""
    expected, most = None, None
    try:
        expected = number(problem.drafting.expected_nodes(problem.instance))
        most = problem.drafting.most_nodes(problem.instance)
    except ValueError:
        pass
    return {
        "drafting": str(problem.drafting),
        "nodes_expected": expected,
        "nodes_most": most,
    }


def print_nodes(
    out: Console, tree: PrefixTree, columns: Iterable[str], cells: Callable[[int], Iterable[str]]
) -> None:
    """A row for each of the first nodes but the root: its tokens, and `cells` of it."""
    made = text_table("node", *columns)
    for node in range(1, min(len(tree), NODES_SHOWN + 1)):
        made.add_row(plain(node_name(tree, node)), *cells(node))
    out.print()
    out.print(made)
    if len(tree) > NODES_SHOWN + 1:
        out.print(f"... and {len(tree) - 1 - NODES_SHOWN} more nodes (all with --json)")


def sampling(temperature: float, top_k: int | None, top_p: float | None) -> str:
    """How both models are sampled from."""
    words = [f"temperature {temperature:g}"]
    words += [
        f"{name} {value:g}" for name, value in (("top-k", top_k), ("top-p", top_p)) if value is not None
    ]
    return ", ".join(words)
