"""Share of OPT_K - BV that GBV and mixed selection close, against draft-target similarity (V = 8, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from nodebudget.experiments.studies.mixed_study import COLUMNS, SHAPE, load

from .common import COLUMN, curve, look
from .needs import Needs

NEEDS = Needs(
    "mixed_study.csv", COLUMNS, "python -m nodebudget.experiments.mixed_study {file} --seeds 20 --sweep 2"
)
LOWEST = -50
"""Percent: where the panels end."""


def draw(results: Path) -> Any:
    """A panel for each K, means over concentrations and seeds; GBV's line leaves the panel below."""
    every = load(NEEDS.path(results))
    rows = [row for row in every if (row.vocab, row.depth) == SHAPE and np.isfinite(row.optimum)]
    if not rows:
        shapes = {f"{row.vocab}, {row.depth}" for row in every}
        wanted = f"{SHAPE[0]}, {SHAPE[1]} in rows with an optimum"
        raise NEEDS.column_error(results, "vocab, depth", shapes, wanted)
    paths_drawn = sorted({row.paths for row in rows})
    figure, (panels,) = plt.subplots(1, len(paths_drawn), figsize=(COLUMN, 2.2), sharey=True, squeeze=False)
    for panel, paths in zip(panels, paths_drawn, strict=True):
        here = [row for row in rows if row.paths == paths]
        similarities = sorted({row.similarity for row in here})
        for name in ("mixed", "gbv"):
            shares = [
                100 * float(np.mean([row.closed(name) for row in here if row.similarity == s]))
                for s in similarities
            ]
            curve(panel, name, similarities, shares)
            if shares[-1] < LOWEST:
                beyond = f"at {similarities[-1]:g}: {shares[-1]:.0f}%".replace("-", "\N{MINUS SIGN}")
                panel.text(0.04, 0.06, beyond, transform=panel.transAxes, color=look(name).color)
        panel.axhline(0, color="0.4", linewidth=0.8)
        panel.set_title(f"K = {paths}")
        panel.set_xlabel("similarity of the models")
        panel.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
        panel.set_ylim(LOWEST, 105)
    panels[0].set_ylabel("% of OPT$_K$ $-$ BV closed")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
