"""The figures of decoding a real pair along one axis: block efficiency, and speed against plain decoding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN, curve, look, values_of, verifiers_of, where
from .needs import Needs, Rows

PLAIN = "autoregressive"
COLUMNS = (
    *("verifier", "paths", "length", "temperature", "tokens_per_second"),
    *("expected_block_efficiency", "expected_interval_low", "expected_interval_high"),
)
DODGE = 0.035
"""Verifiers stand side by side, this share of the axis apart, so that intervals do not cover each other."""


def pair_lines(needs: Needs, results: Path, column: str, label: str) -> Any:
    """Above, mean block efficiency by the verifiers' laws with 95% intervals over prompts; below, the speed-up."""
    rows = needs.rows(results)
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(COLUMN, 4.2), sharex=True)
    ticks = values_of(rows, column)
    names = [name for name in verifiers_of(rows) if name != PLAIN]
    for turn, name in enumerate(names):
        own = sorted(where(rows, verifier=name), key=lambda row: row[column])
        shift = DODGE * (ticks[-1] - ticks[0]) * (turn - (len(names) - 1) / 2)
        x = [row[column] + shift for row in own]
        curve(top, name, x, [row["expected_block_efficiency"] for row in own])
        ends = [(row["expected_interval_low"], row["expected_interval_high"]) for row in own]
        known = [
            (at, *pair) for at, pair in zip(x, ends, strict=True) if None not in pair
        ]  # None: a single prompt
        if known:
            top.vlines(*zip(*known, strict=True), color=look(name).color, linewidth=0.9)
        curve(bottom, name, x, [speed_up(rows, row, column) for row in own])
    top.set_ylabel("tokens per target pass,\n95% interval")
    bottom.axhline(1, **_plain_line())
    bottom.set_ylim(bottom=0)
    bottom.set_ylabel("tokens per second,\ntarget alone = 1")
    bottom.set_xticks(ticks)
    bottom.set_xlabel(label)
    figure.legend(*bottom.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def speed_up(rows: Rows, row: dict[str, Any], column: str) -> float:
    """Tokens per second over those of plain decoding in the same run."""
    (alone,) = where(rows, verifier=PLAIN, **{column: row[column]})
    return float(row["tokens_per_second"] / alone["tokens_per_second"])


def _plain_line() -> dict[str, Any]:
    shown = look(PLAIN)
    return {"color": shown.color, "linestyle": shown.line, "label": shown.label, "linewidth": 1.0}
