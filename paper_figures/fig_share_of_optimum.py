"""Accepted tokens of every verifier as a share of OPT_K, family by family (two paths, V = 3, L = 2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN, groups_of, look, share, solved, values_of, verifiers_of, where
from .needs import SWEEP, Needs

NEEDS = Needs(
    "families.parquet",
    ("family", "similarity", "paths", "verifier", "accepted_tokens", "optimum"),
    SWEEP,
    single=("paths",),
)


def draw(results: Path) -> Any:
    """One row for each family, one mark for each verifier."""
    rows = solved(NEEDS.rows(results))
    if not rows:
        raise NEEDS.column_error(results, "optimum", (), "a number in some row")
    names = verifiers_of(rows)
    groups = groups_of(rows)
    figure, axis = plt.subplots(figsize=(COLUMN, 2.9))
    for place, name in enumerate(names):
        shift = 0.62 * (place / max(1, len(names) - 1) - 0.5)
        shares = [
            100 * share(where(rows, family=family, similarity=similarity, verifier=name))
            for family, similarity in groups
        ]
        axis.plot(
            shares,
            [line + shift for line in range(len(groups))],
            **look(name).marks(),
        )
    axis.axvline(100, color="black", linewidth=0.8, linestyle="--", zorder=1)
    for line in range(len(groups) - 1):
        axis.axhline(line + 0.5, color="#BBBBBB", linewidth=0.5)
    axis.set_yticks(range(len(groups)), [_label(*group) for group in groups])
    axis.set_ylim(len(groups) - 0.5, -0.5)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
    (paths,) = values_of(rows, "paths")
    axis.set_xlabel(rf"mean accepted tokens, % of OPT$_{{{paths}}}$")
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def _label(family: str, similarity: float | None) -> str:
    if similarity is not None:
        return f"{family},\nsimilarity {f'{similarity:g}'.removeprefix('0') or '0'}"
    return "identical\nmodels" if family == "identical" else family
