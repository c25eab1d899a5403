"""The two figures that show block efficiency of all verifiers along one axis."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN, Rows, curve, mean, values_of, verifiers_of, where


def block_efficiency(rows: Rows, column: str, label: str) -> Any:
    """One panel for each similarity: mean block efficiency, E|Z| + 1, of OPT_K and every verifier."""
    similarities = values_of(rows, "similarity")
    figure, axes = plt.subplots(len(similarities), 1, figsize=(COLUMN, 4.4), sharex=True)
    ticks = values_of(rows, column)
    for axis, similarity in zip(axes, similarities, strict=True):
        here = where(rows, similarity=similarity)
        best = where(here, verifier="bv")
        curve(axis, "optimum", ticks, [1 + mean(where(best, **{column: x}), "optimum") for x in ticks])
        for name in verifiers_of(here):
            own = where(here, verifier=name)
            means = [1 + mean(where(own, **{column: x}), "accepted_tokens") for x in ticks]
            curve(axis, name, ticks, means)
        axis.set_title(f"similarity {similarity:g}", loc="left")
        axis.set_ylabel("tokens per target pass")
        axis.set_xticks(ticks)
    axes[-1].set_xlabel(label)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure
