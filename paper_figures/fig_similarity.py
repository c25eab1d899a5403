"""GBV against BV as the draft comes closer to the target: where more paths cost tokens (V = 4, L = 3)."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from .common import COLUMN, PATHS_LOOKS, values_of, where
from .needs import INSTANCE, SWEEP, Needs, Rows

NEEDS = Needs(
    "similarity.parquet", (*INSTANCE, "paths", "verifier", "accepted_tokens"), SWEEP, verifiers=("bv", "gbv")
)
HIGHEST = 1.25
"""Tokens: where the upper panel ends at least."""


def draw(results: Path) -> Any:
    """Above: accepted tokens of GBV minus those of BV. Below: on how many instances GBV is below BV."""
    rows = [row for row in NEEDS.rows(results) if row["similarity"] is not None]
    if not rows:
        raise NEEDS.column_error(results, "similarity", (), "numbers, as the family logits has them")
    similarities = values_of(rows, "similarity")
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(COLUMN, 3.3), sharex=True, height_ratios=(2, 1))
    end = HIGHEST
    for paths, (color, marker, line) in zip(values_of(rows, "paths"), cycle(PATHS_LOOKS), strict=False):
        gaps = [_gaps(where(rows, paths=paths, similarity=s)) for s in similarities]
        low, high = (np.array([np.quantile(gap, level) for gap in gaps]) for level in (0.1, 0.9))
        end = max(end, 1.1 * float(high.max()))
        top.fill_between(similarities, low, high, color=color, alpha=0.18, linewidth=0)
        means = [float(gap.mean()) for gap in gaps]
        top.plot(similarities, means, color=color, marker=marker, linestyle=line, label=f"K = {paths}")
        below = [100 * float((gap < -1e-12).mean()) for gap in gaps]
        bottom.plot(similarities, below, color=color, marker=marker, linestyle=line)
    top.axhline(0, color="black", linewidth=0.8)
    top.set_ylim(top=end)
    top.annotate("GBV accepts more", (0.02, end - 0.07), xycoords=("axes fraction", "data"), va="top")
    top.annotate("BV accepts more", (0.02, -0.13), xycoords=("axes fraction", "data"), va="top")
    top.set_ylabel("accepted tokens,\nGBV minus BV")
    top.legend(loc="lower left", title="mean, and 10% to 90%\nof the instances", alignment="left")
    bottom.set_ylabel("instances with\nGBV < BV (%)")
    bottom.set_ylim(-4, 104)
    bottom.set_yticks([0, 50, 100])
    bottom.set_xlabel("similarity of draft and target (correlation of logits)")
    return figure


def _gaps(rows: Rows) -> Any:
    """Accepted tokens of GBV minus those of BV, instance by instance."""
    values = {
        name: {tuple(row[c] for c in INSTANCE): row["accepted_tokens"] for row in where(rows, verifier=name)}
        for name in ("gbv", "bv")
    }
    return np.array([values["gbv"][instance] - single for instance, single in values["bv"].items()])
