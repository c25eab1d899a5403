"""Time by phase and tokens per second against K on the small real pair, with what the cost model predicts (L = 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from nodebudget.experiments.studies.cost_model import COLUMNS, check, phase_milliseconds

from .common import COLUMN, look, values_of, verifiers_of, where
from .needs import DECODE_STUDY, Needs, Rows

NEEDS = Needs(
    "pairs/costs.parquet",
    (*COLUMNS, "drafted_paths"),
    DECODE_STUDY,
    verifiers=("autoregressive",),
    single=("length", "temperature"),
)

COLORS = {"draft": "#56B4E9", "target": "#0072B2", "verify": "#E69F00", "cache": "#999999"}
HATCHES = {"draft": "", "target": "////", "verify": "....", "cache": ""}
GAP = 0.7
"""Between the bars of two verifiers, in widths of a bar."""


def draw(results: Path) -> Any:
    """Above, milliseconds of a block by phase; below, measured speed and the model's line."""
    rows = NEEDS.rows(results)
    names = [
        name for name in verifiers_of(rows) if len(values_of(where(rows, verifier=name), "drafted_paths")) > 1
    ]
    if not names:
        raise NEEDS.column_error(
            results, "drafted_paths", values_of(rows, "drafted_paths"), "two values for some verifier"
        )
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(COLUMN, 4.2))
    _phases(top, rows, names)
    _speeds(bottom, rows, names)
    return figure


def _phases(axis: Any, rows: Rows, names: list[str]) -> None:
    """A bar for each verifier and K."""
    place = 0.0
    ticks: list[float] = []
    labels: list[str] = []
    for name in names:
        start = place
        for row in sorted(where(rows, verifier=name), key=lambda row: row["paths"]):
            base = 0.0
            for phase, value in phase_milliseconds(row).items():
                axis.bar(
                    place, value, bottom=base, color=COLORS[phase], hatch=HATCHES[phase],
                    edgecolor="white", linewidth=0.3, label=None if ticks else phase,
                )  # fmt: skip
                base += value
            ticks.append(place)
            labels.append(str(row["paths"]))
            place += 1
        axis.annotate(
            look(name).label, ((start + place - 1) / 2, -0.24), xycoords=("data", "axes fraction"),
            ha="center", annotation_clip=False,
        )  # fmt: skip
        place += GAP
    axis.set_xticks(ticks, labels)
    axis.annotate("K =", (-0.02, -0.045), xycoords="axes fraction", ha="right", va="top")
    axis.grid(axis="x", visible=False)
    axis.set_ylabel("milliseconds per block")
    axis.set_ylim(top=1.25 * axis.get_ylim()[1])
    axis.legend(loc="upper center", ncols=4)


def _speeds(axis: Any, rows: Rows, names: list[str]) -> None:
    predictions = check(rows)
    for name in names:
        own = [each for each in predictions if each.verifier == name]
        paths = [each.paths for each in own]
        axis.plot(paths, [each.measured for each in own], **look(name).marks())
        axis.plot(paths, [each.tokens_per_second for each in own], color=look(name).color, linestyle=":")
    alone = [row["tokens_per_second"] for row in where(rows, verifier="autoregressive")]
    axis.set_title(f"target alone: {min(alone):.1f} to {max(alone):.1f} tokens per second", loc="left")
    axis.set_xticks(values_of(rows, "paths"))
    axis.set_ylim(0, 1.25 * axis.get_ylim()[1])
    axis.set_xlabel("drafted paths K")
    axis.set_ylabel("tokens per second\n(dotted: cost model)")
    axis.legend(loc="upper right", ncols=len(names))
