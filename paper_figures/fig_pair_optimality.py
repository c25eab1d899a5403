"""Share of OPT_K that verifiers reach on HumanEval contexts of the small real pair (top-k 8, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from nodebudget.verifiers.arithmetic.bootstrap import ratio_interval

from .common import COLUMN, PATHS_LOOKS, look, share, solved, values_of, verifiers_of, where
from .needs import Needs

NEEDS = Needs(
    "pairs/optimality.parquet",
    ("depth", "length", "paths", "verifier", "accepted_tokens", "optimum"),
    "nodebudget optimality --pair smollm2/without-10-13 --prompts human-eval --top-k 8 --length 3 --paths 1,2,4 "
    "--out {file}",
    single=("length",),
)
MARKS = {1: ("o", "#7F7F7F"), 2: ("s", "#0072B2"), 4: ("^", "#D55E00")}
"""Of the numbers of paths in the stored results; others look as elsewhere."""


def draw(results: Path) -> Any:
    """A line for each verifier and a mark for each K, with the 95% interval over contexts."""
    every_depth = NEEDS.rows(results)
    rows = solved([row for row in every_depth if row["depth"] == row["length"]])
    if not rows:
        wanted = f"{every_depth[0]['length']}, the length, in rows with an optimum"
        raise NEEDS.column_error(results, "depth", values_of(every_depth, "depth"), wanted)
    names = verifiers_of(rows)
    figure, axis = plt.subplots(figsize=(COLUMN, 3.0))
    every = values_of(rows, "paths")
    for turn, paths in enumerate(every):
        color, marker, _ = PATHS_LOOKS[turn % len(PATHS_LOOKS)]
        marker, color = MARKS.get(paths, (marker, color))
        shift = 0.22 * (turn - (len(every) - 1) / 2)
        for line, name in enumerate(names):
            own = where(rows, paths=paths, verifier=name)
            middle = 100 * share(own)
            interval = ratio_interval(
                [row["accepted_tokens"] for row in own], [row["optimum"] for row in own]
            )
            if interval is not None:  # None: a single context
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
