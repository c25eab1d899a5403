"""Which draft is worth most: the optimum against the nodes that the target reads, by kind of draft (V = 3, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN, groups_of, where
from .draft_lines import draw_kinds, one_row_each
from .needs import INSTANCE, SWEEP, Needs

NEEDS = Needs(
    "drafts.parquet",
    (*INSTANCE, "drafting", "verifier", "nodes_expected", "optimum"),
    SWEEP,
    verifiers=("nss",),
)


def draw(results: Path) -> Any:
    """A panel for each family and similarity: no verifier is looked at, the optimum bounds all of them."""
    rows = one_row_each(NEEDS, NEEDS.rows(results), "nodes_expected")
    groups = groups_of(rows)
    figure, axes = plt.subplots(
        len(groups), 1, figsize=(COLUMN, 0.9 + 1.75 * len(groups)), sharex=True, squeeze=False
    )
    for axis, (family, similarity) in zip(axes[:, 0], groups, strict=True):
        draw_kinds(axis, where(rows, family=family, similarity=similarity), "nodes_expected", INSTANCE)
        axis.set_title(family if similarity is None else f"similarity {similarity:g}", loc="left")
        axis.set_ylabel("optimum,\naccepted tokens")
    axes[-1, 0].set_xlabel("mean number of nodes that the target reads")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
