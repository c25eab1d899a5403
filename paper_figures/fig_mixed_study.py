"""Share of OPT_K - BV that GBV and mixed selection close, against draft-target similarity (V = 8, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from nodebudget.experiments.mixed_study import PATHS, SHAPE, SIMILARITIES, load

from .common import COLUMN, look

LOWEST = -0.5


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
            drawn = look(name)
            shares = [
                np.mean([r.closed(name) for r in rows if r.similarity == s and r.paths == paths])
                for s in SIMILARITIES
            ]
            panel.plot(
                SIMILARITIES,
                shares,
                marker=drawn.marker,
                color=drawn.color,
                linestyle=drawn.line,
                label=drawn.label,
            )
        panel.axhline(0, color="0.4", linewidth=0.8)
        panel.set_title(f"K = {paths}")
        panel.set_xlabel("similarity")
        panel.set_ylim(LOWEST, 1.05)
    panels[0].set_ylabel("share of OPT$_K$ $-$ BV closed")
    panels[0].legend(loc="lower left")
    return figure
