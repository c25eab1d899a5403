"""GBV against BV as the draft comes closer to the target: where more paths cost tokens (V = 4, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from .common import COLUMN, rows_of, values_of, where

STYLES = {2: ("#0072B2", "o", "-"), 4: ("#D55E00", "s", "--")}


def draw(results: Path) -> Any:
    """Above: accepted tokens of GBV minus those of BV. Below: on how many instances GBV is below BV."""
    rows = rows_of(results, "similarity")
    similarities = values_of(rows, "similarity")
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(COLUMN, 3.3), sharex=True, height_ratios=(2, 1))
    for paths in values_of(rows, "paths"):
        color, marker, line = STYLES[paths]
        gaps = [_gaps(where(rows, paths=paths, similarity=s)) for s in similarities]
        low, high = (np.array([np.quantile(gap, level) for gap in gaps]) for level in (0.1, 0.9))
        top.fill_between(similarities, low, high, color=color, alpha=0.18, linewidth=0)
        means = [float(gap.mean()) for gap in gaps]
        top.plot(similarities, means, color=color, marker=marker, linestyle=line, label=f"K = {paths}")
        below = [100 * float((gap < -1e-12).mean()) for gap in gaps]
        bottom.plot(similarities, below, color=color, marker=marker, linestyle=line)
    top.axhline(0, color="black", linewidth=0.8)
    top.set_ylim(top=1.25)
    top.annotate("GBV accepts more", (0.02, 1.18), xycoords=("axes fraction", "data"), va="top")
    top.annotate("BV accepts more", (0.02, -0.13), xycoords=("axes fraction", "data"), va="top")
    top.set_ylabel("accepted tokens,\nGBV minus BV")
    top.legend(loc="lower left", title="mean, and 10% to 90%\nof the instances", alignment="left")
    bottom.set_ylabel("instances with\nGBV < BV (%)")
    bottom.set_ylim(-4, 104)
    bottom.set_yticks([0, 50, 100])
    bottom.set_xlabel("similarity of draft and target (correlation of logits)")
    return figure


def _gaps(rows: list[dict[str, Any]]) -> Any:
    """Accepted tokens of GBV minus those of BV, instance by instance."""
    values = {
        name: {row["seed"]: row["accepted_tokens"] for row in where(rows, verifier=name)}
        for name in ("gbv", "bv")
    }
    return np.array([values["gbv"][seed] - values["bv"][seed] for seed in sorted(values["bv"])])
