"""Share of OPT_K - BV that GBV and mixed selection close, against draft-target similarity.

    python paper_figures/fig_mixed_study.py [OUT]

reads paper_figures/data/mixed_study.csv and writes OUT, by default mixed_study.pdf in the current directory.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from nodebudget.experiments.mixed_study import PATHS, SIMILARITIES, load

HERE = Path(__file__).parent
LOWEST = -0.5


def draw(out: Path) -> None:
    """Draw the figure: a panel for each K, means over concentrations and seeds; GBV's line leaves the panel below."""
    rows = [row for row in load(HERE / "data" / "mixed_study.csv") if np.isfinite(row.optimum)]
    with plt.style.context(HERE / "nodebudget.mplstyle"):
        figure, panels = plt.subplots(1, len(PATHS), sharey=True)
        for panel, paths in zip(panels, PATHS, strict=True):
            for name, label, marker in (("mixed", "mixed", "o"), ("gbv", "GBV", "s")):
                shares = [
                    np.mean([r.closed(name) for r in rows if r.similarity == s and r.paths == paths])
                    for s in SIMILARITIES
                ]
                panel.plot(SIMILARITIES, shares, marker=marker, label=label)
            panel.axhline(0, color="0.6", linewidth=0.6)
            panel.set_title(f"K = {paths}", fontsize=8)
            panel.set_xlabel("similarity")
            panel.set_ylim(LOWEST, 1.05)
        panels[0].set_ylabel("share of OPT$_K$ - BV closed")
        panels[0].legend(loc="lower left")
        figure.savefig(out)


if __name__ == "__main__":
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else "mixed_study.pdf"))
