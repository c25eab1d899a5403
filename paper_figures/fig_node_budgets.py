"""Node budgets of the linear program, of GBV and of BV on the motivating instance, with three drafted paths."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
from nodebudget.lp import Instance, accepted_tokens, solve_multi_path
from nodebudget.lp.numbers.rationals import Array
from nodebudget.verifiers import VERIFIERS

from .common import COLUMN
from .instances import motivating

NEEDS = None
PATHS = 3

SHORT = 5
"""Longer fractions are written smaller, to stay inside their node."""


def draw(results: Path) -> Any:
    """Three trees: the darker a node, the more often it is a prefix of what is accepted."""
    instance = motivating()
    budgets: dict[str, Array] = {"LP$_3$": solve_multi_path(instance, PATHS).budgets}
    for name, label in (("gbv", "GBV"), ("bv", "BV, one path")):
        budgets[label] = VERIFIERS[name].budgets(instance, PATHS)
    figure, axes = plt.subplots(len(budgets), 1, figsize=(COLUMN, 4.8))
    for axis, (label, values) in zip(axes, budgets.items(), strict=True):
        total = Fraction(accepted_tokens(values))
        axis.set_title(f"{label}: {total} = {float(total):.3f} accepted tokens", loc="left")
        _tree(axis, instance, values)
    figure.supxlabel(
        "in a node z: D(z), how often it is a prefix of what is kept; on an edge: the token", fontsize=6
    )
    return figure


def _tree(axis: Any, instance: Instance, budgets: Array) -> None:
    graph = instance.tree.to_networkx(budget=budgets)
    place = {path: _place(path, instance.vocab) for path in graph}
    shades = [0.08 + 0.62 * float(value) for value in budgets]
    nx.draw_networkx_edges(graph, place, ax=axis, arrows=False, width=0.8, edge_color="#666666")
    nx.draw_networkx_nodes(
        graph, place, ax=axis, node_size=620, node_color=shades, cmap="Blues", vmin=0, vmax=1,
        edgecolors="#333333", linewidths=0.6,
    )  # fmt: skip
    for (path, value), shade in zip(graph.nodes(data="budget"), shades, strict=True):
        color = "white" if shade > 0.55 else "black"
        size = 7 if len(str(value)) <= SHORT else 5.5
        axis.text(*place[path], str(value), ha="center", va="center", color=color, fontsize=size)
    tokens = nx.get_edge_attributes(graph, "token")
    nx.draw_networkx_edge_labels(
        graph, place, ax=axis, edge_labels=tokens, font_size=7, rotate=False,
        bbox={"boxstyle": "round,pad=0.12", "color": "white"},
    )  # fmt: skip
    axis.set_axis_off()
    axis.margins(0.1, 0.2)


def _place(path: tuple[int, ...], vocab: int) -> tuple[float, float]:
    """Where a node stands: leaves of the full tree at equal distances, the root on top."""
    left, width = 0.0, 1.0
    for y in path:
        width /= vocab
        left += y * width
    return left + width / 2, -float(len(path))
