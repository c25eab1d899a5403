"""The two figures that show block efficiency of all verifiers along one axis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN, curve, groups_of, mean, solved, values_of, verifiers_of, where
from .needs import Needs

COLUMNS = ("family", "similarity", "depth", "paths", "verifier", "accepted_tokens", "optimum")
HEIGHT = 1.6
"""Inches of a panel where there are many."""


def block_efficiency(needs: Needs, results: Path, column: str, label: str) -> Any:
    """One panel for each family and similarity: mean block efficiency, E|Z| + 1, of OPT_K and every verifier."""
    rows = solved(needs.rows(results))
    if not rows:
        raise needs.column_error(results, "optimum", (), "a number in some row")
    groups = groups_of(rows)
    size = (COLUMN, max(4.4, HEIGHT * len(groups)))
    figure, axes = plt.subplots(len(groups), 1, figsize=size, sharex=True, squeeze=False)
    for axis, (family, similarity) in zip(axes[:, 0], groups, strict=True):
        here = where(rows, family=family, similarity=similarity)
        ticks = values_of(here, column)
        names = verifiers_of(here)
        any_one = where(here, verifier=names[0])  # OPT_K of an instance stands in the rows of every verifier
        curve(axis, "optimum", ticks, [1 + mean(where(any_one, **{column: x}), "optimum") for x in ticks])
        for name in names:
            own = where(here, verifier=name)
            means = [1 + mean(where(own, **{column: x}), "accepted_tokens") for x in ticks]
            curve(axis, name, ticks, means)
        axis.set_title(family if similarity is None else f"similarity {similarity:g}", loc="left")
        axis.set_ylabel("tokens per target pass")
        axis.set_xticks(ticks)
    axes[-1, 0].set_xlabel(label)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure
