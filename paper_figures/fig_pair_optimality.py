"""Share of OPT_K that verifiers reach on HumanEval contexts of the small real pair (top-k 8, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from nodebudget.verifiers.arithmetic.bootstrap import ratio_interval

from .common import COLUMN, LOOKS, look, rows_of, share, values_of, where

COMMAND = "nodebudget optimality --pair smollm2/without-10-13 --prompts human-eval --top-k 8 --length 3 --paths 1,2,4"
MARKS = {1: ("o", "#7F7F7F"), 2: ("s", "#0072B2"), 4: ("^", "#D55E00")}


def draw(results: Path) -> Any:
    """A line for each verifier and a mark for each K, with the 95% interval over contexts."""
    rows = [row for row in rows_of(results / "pairs", "optimality", COMMAND) if row["depth"] == row["length"]]
    names = [name for name in LOOKS if where(rows, verifier=name)]
    figure, axis = plt.subplots(figsize=(COLUMN, 3.0))
    every = values_of(rows, "paths")
    for turn, paths in enumerate(every):
        marker, color = MARKS[paths]
        shift = 0.22 * (turn - (len(every) - 1) / 2)
        for line, name in enumerate(names):
            own = where(rows, paths=paths, verifier=name)
            middle = 100 * share(own)
            interval = ratio_interval(
                [row["accepted_tokens"] for row in own], [row["optimum"] for row in own]
            )
            assert interval is not None
            axis.plot([100 * end for end in interval], [line + shift] * 2, color=color, linewidth=1)
            label = f"K = {paths}" if line == 0 else None
            axis.plot(middle, line + shift, linestyle="", marker=marker, color=color, label=label)
    axis.axvline(100, color="black", linewidth=0.8, linestyle="--", zorder=1)
    axis.set_yticks(range(len(names)), [look(name).label for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel(r"% of OPT$_K$ accepted, 95% interval")
    figure.legend(loc="outside upper center", ncols=len(every))
    return figure
