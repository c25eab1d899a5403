"""Every verifier on every draft that it is defined for: its share of that draft's optimum (V = 3, L = 2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN
from .needs import SWEEP, Needs
from .tree_shares import Shares, shares_by_drafting

NEEDS = Needs(
    "tree_verifiers.parquet",
    ("family", "similarity", "drafting", "verifier", "accepted_tokens", "optimum"),
    SWEEP,
)

LINE = 0.108
"""Inches: the height of a line."""


def draw(results: Path) -> Any:
    """A block of lines for each drafting, best first: a dot at the mean over the families, a bar down to the worst."""
    rows = NEEDS.rows(results)
    if all(row["optimum"] is None for row in rows):
        raise NEEDS.column_error(results, "optimum", (), "a number in some row")
    blocks = shares_by_drafting(rows)
    lines = sum(len(block) + 1.4 for block in blocks.values())
    figure, axis = plt.subplots(figsize=(COLUMN, 0.45 + LINE * lines))
    place, ticks = 0.0, []
    for drafting, block in blocks.items():
        axis.annotate(
            drafting, (0, place), xycoords=("axes fraction", "data"), xytext=(2, 0),
            textcoords="offset points", va="center", fontsize=6.5, fontweight="bold",
        )  # fmt: skip
        axis.axhline(place - 0.6, color="#BBBBBB", linewidth=0.5)
        for name, found in sorted(block.items(), key=lambda item: -item[1].mean):
            place += 1
            ticks.append((place, name))
            _draw_line(axis, place, name, found)
        place += 1.4
    axis.axvline(100, color="black", linewidth=0.8, linestyle="--", zorder=1)
    axis.set_yticks(*zip(*ticks, strict=True), fontsize=6)
    axis.set_ylim(place - 0.8, -0.6)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0, pad=1)
    axis.set_xlabel("% of optimum: mean, worst family")
    return figure


def _draw_line(axis: Any, place: float, name: str, found: Shares) -> None:
    """The mark and the bar of one verifier on one drafting."""
    lifted = name == "univer" or name.startswith("lift:")
    color, marker = ("#D55E00", "*") if name == "mixed" else ("#0072B2", "D") if lifted else ("#444444", "o")
    axis.plot([100 * found.worst, 100 * found.mean], [place, place], color=color, linewidth=0.9)
    axis.plot([100 * found.worst], [place], color=color, marker="|", markersize=4)
    size = 5.0 if marker == "*" else 2.8
    axis.plot([100 * found.mean], [place], color=color, marker=marker, markersize=size)
