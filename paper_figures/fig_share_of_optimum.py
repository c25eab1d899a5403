"""Accepted tokens of every verifier as a share of OPT_K, family by family (two paths, V = 3, L = 2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN, look, rows_of, share, verifiers_of, where

GROUPS = (
    ("flat", None, "flat"),
    ("iid", None, "iid"),
    ("logits", 0.5, "logits,\nsimilarity .5"),
    ("logits", 0.9, "logits,\nsimilarity .9"),
    ("identical", None, "identical\nmodels"),
)
"""Family, similarity, and how they are called."""


def draw(results: Path) -> Any:
    """One row for each family, one mark for each verifier."""
    rows = rows_of(results, "families")
    names = verifiers_of(rows)
    groups = [where(rows, family=family, similarity=similarity) for family, similarity, _ in GROUPS]
    figure, axis = plt.subplots(figsize=(COLUMN, 2.9))
    for place, name in enumerate(names):
        shift = 0.62 * (place / max(1, len(names) - 1) - 0.5)
        shares = [100 * share(where(group, verifier=name)) for group in groups]
        axis.plot(
            shares,
            [line + shift for line in range(len(groups))],
            **look(name).marks(),
        )
    axis.axvline(100, color="black", linewidth=0.8, linestyle="--", zorder=1)
    for line in range(len(groups) - 1):
        axis.axhline(line + 0.5, color="#BBBBBB", linewidth=0.5)
    axis.set_yticks(range(len(groups)), [label for _, _, label in GROUPS])
    axis.set_ylim(len(groups) - 0.5, -0.5)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel(r"mean accepted tokens, % of OPT$_2$")
    figure.legend(loc="outside upper center", ncols=3)
    return figure
