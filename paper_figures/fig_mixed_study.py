"""Share of OPT_K - BV that GBV and mixed selection close, against draft-target similarity (V = 8, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from nodebudget.experiments.studies.mixed_study import PATHS, SHAPE, SIMILARITIES, load

from .common import COLUMN, curve, look

LOWEST = -50
"""Percent: where the panels end."""


def draw(results: Path) -> Any:
    """A panel for each K, means over concentrations and seeds; GBV's line leaves the panel below."""
    file = results / "mixed_study.csv"
    if not file.exists():
        raise ValueError(
            f"{str(file)!r} is missing; make it with: python -m nodebudget.experiments.mixed_study {file}"
        )
    rows = [r for r in load(file) if (r.vocab, r.depth) == SHAPE and np.isfinite(r.optimum)]
    figure, panels = plt.subplots(1, len(PATHS), figsize=(COLUMN, 2.2), sharey=True)
    for panel, paths in zip(panels, PATHS, strict=True):
        for name in ("mixed", "gbv"):
            shares = [
                100 * float(np.mean([r.closed(name) for r in rows if r.similarity == s and r.paths == paths]))
                for s in SIMILARITIES
            ]
            curve(panel, name, SIMILARITIES, shares)
            if shares[-1] < LOWEST:
                beyond = f"at {SIMILARITIES[-1]:g}: {shares[-1]:.0f}%".replace("-", "\N{MINUS SIGN}")
                panel.text(0.04, 0.06, beyond, transform=panel.transAxes, color=look(name).color)
        panel.axhline(0, color="0.4", linewidth=0.8)
        panel.set_title(f"K = {paths}")
        panel.set_xlabel("similarity of the models")
        panel.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
        panel.set_ylim(LOWEST, 105)
    panels[0].set_ylabel("% of OPT$_K$ $-$ BV closed")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
