"""Time by phase and tokens per second against K on the small real pair, with what the cost model predicts (L = 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from nodebudget.experiments.cost_model import check, phase_milliseconds

from .common import COLUMN, look, pair_rows, values_of, where

COLORS = {"draft": "#56B4E9", "target": "#0072B2", "verify": "#E69F00", "cache": "#999999"}
HATCHES = {"draft": "", "target": "////", "verify": "....", "cache": ""}


def draw(results: Path) -> Any:
    """Above, milliseconds of a block by phase; below, measured speed and the model's line."""
    rows = pair_rows(results, "decoding")
    names = [name for name in ("gbv", "traversal", "mixed") if where(rows, verifier=name)]
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(COLUMN, 4.0), height_ratios=(1, 1))
    ticks: list[float] = []
    labels: list[str] = []
    place = 0.0
    for name in names:
        for row in sorted(where(rows, verifier=name), key=lambda row: row["paths"]):
            base = 0.0
            for phase, value in phase_milliseconds(row).items():
                top.bar(
                    place,
                    value,
                    bottom=base,
                    color=COLORS[phase],
                    hatch=HATCHES[phase],
                    edgecolor="white",
                    linewidth=0.3,
                    label=phase if not ticks else None,
                )
                base += value
            ticks.append(place)
            labels.append(str(row["paths"]))
            place += 1
        middle = place - (len(where(rows, verifier=name)) + 1) / 2
        top.annotate(
            look(name).label,
            (middle, -0.24),
            xycoords=("data", "axes fraction"),
            ha="center",
            annotation_clip=False,
        )
        place += 0.7
    top.set_xticks(ticks, labels)
    top.grid(axis="x", visible=False)
    top.set_ylabel("ms per block, K below")
    top.legend(loc="upper left", ncols=2)
    predictions = check(rows)
    for name in names:
        shown, own = look(name), [each for each in predictions if each.verifier == name]
        x = [each.paths for each in own]
        bottom.plot(
            x,
            [each.measured for each in own],
            linestyle="",
            marker=shown.marker,
            color=shown.color,
            label=shown.label,
        )
        bottom.plot(x, [each.tokens_per_second for each in own], color=shown.color, linestyle=":")
    alone = [row["tokens_per_second"] for row in where(rows, verifier="autoregressive")]
    bottom.set_title(f"target alone: {min(alone):.0f} to {max(alone):.0f} tokens per second", loc="left")
    bottom.set_xticks(values_of(rows, "paths"))
    bottom.set_ylim(0, 3.6)
    bottom.set_xlabel("drafted paths K")
    bottom.set_ylabel("tokens per second\n(dotted: cost model)")
    bottom.legend(loc="upper right", ncols=3)
    return figure
