"""The law of the selected path's first token against draft and target, on a real context (SmolLM2, top-k 8, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN, look, values_of, where
from .needs import Needs

NEEDS = Needs(
    "pairs/context.parquet",
    ("paths", "place", "text", "target", "draft", "gbv", "mixed"),
    "python -m nodebudget.experiments.skewed_context {file}",
)


def draw(results: Path) -> Any:
    """A panel for each K: how often the selected path starts with each token, as a share of all paths."""
    rows = NEEDS.rows(results)
    every = values_of(rows, "paths")
    figure, panels = plt.subplots(
        len(every), 1, figsize=(COLUMN, 4.2), sharex=True, sharey=True, squeeze=False
    )
    axes = panels[:, 0]
    for axis, paths in zip(axes, every, strict=True):
        here = where(rows, paths=paths)
        place = [row["place"] for row in here]
        axis.bar(place, [row["target"] for row in here], width=0.8, color="#CCCCCC", label="target", zorder=2)
        axis.plot(
            place, [row["draft"] for row in here], "k_", markersize=11, markeredgewidth=1.4, label="draft"
        )
        for name, shift in (("gbv", -0.15), ("mixed", 0.15)):
            shown = look(name)
            axis.plot(
                [x + shift for x in place],
                [row[name] for row in here],
                **shown.marks() | {"label": f"selected by {shown.label}"},
            )
        axis.set_title(f"K = {paths}", loc="left")
        axis.set_ylabel("probability")
        axis.grid(axis="x", visible=False)
    shown_text = [repr(row["text"]) for row in where(rows, paths=every[0])]
    axes[-1].set_xticks(range(len(shown_text)), shown_text, rotation=35, ha="right", rotation_mode="anchor")
    axes[-1].set_xlabel("first token of a path, the target's likeliest first")
    handles = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    order = ["target", *(label for label in handles if label != "target")]
    figure.legend([handles[label] for label in order], order, loc="outside upper center", ncols=2)
    return figure
