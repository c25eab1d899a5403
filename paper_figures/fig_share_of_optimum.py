"""Accepted tokens of every verifier as a share of OPT_K, family by family (two paths, V = 3, L = 2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN, look, rows_of, share, verifiers_of, where

NAMES = {
    "flat": "flat",
    "iid": "iid",
    "markov": "Markov",
    "logits": "logits,\nsimilarity .9",
    "identical": "identical\nmodels",
}


def draw(results: Path) -> Any:
    """One row for each family, one mark for each verifier."""
    rows = rows_of(results, "families")
    names = verifiers_of(rows)
    families = [family for family in NAMES if where(rows, family=family)]
    figure, axis = plt.subplots(figsize=(COLUMN, 2.9))
    for place, name in enumerate(names):
        shown = look(name)
        shift = 0.62 * (place / max(1, len(names) - 1) - 0.5)
        shares = [100 * share(where(rows, family=family, verifier=name)) for family in families]
        axis.plot(
            shares,
            [line + shift for line in range(len(families))],
            linestyle="",
            marker=shown.marker,
            color=shown.color,
            label=shown.label,
        )
    axis.axvline(100, color="black", linewidth=0.8, linestyle="--")
    for line in range(len(families) - 1):
        axis.axhline(line + 0.5, color="#BBBBBB", linewidth=0.5)
    axis.set_yticks(range(len(families)), [NAMES[family] for family in families])
    axis.set_ylim(len(families) - 0.5, -0.5)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel(r"mean accepted tokens, % of OPT$_2$")
    figure.legend(loc="outside upper center", ncols=3)
    return figure
