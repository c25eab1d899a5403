"""The figures of decoding a real pair along one axis: block efficiency, and speed against plain decoding."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN, Rows, curve, look, values_of, verifiers_of, where

PLAIN = "autoregressive"
DODGE = 0.035
"""Verifiers stand side by side, this share of the axis apart, so that intervals do not cover each other."""


def pair_lines(rows: Rows, column: str, label: str) -> Any:
    """Above, mean block efficiency by the verifiers' laws with 95% intervals over prompts; below, the speed-up."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(COLUMN, 4.2), sharex=True)
    ticks = values_of(rows, column)
    names = [name for name in verifiers_of(rows) if name != PLAIN]
    for turn, name in enumerate(names):
        own = [where(rows, verifier=name, **{column: x})[0] for x in ticks]
        shift = DODGE * (ticks[-1] - ticks[0]) * (turn - (len(names) - 1) / 2)
        x = [tick + shift for tick in ticks]
        curve(top, name, x, [row["expected_block_efficiency"] for row in own])
        ends = [[row[f"expected_interval_{end}"] for row in own] for end in ("low", "high")]
        top.vlines(x, *ends, color=look(name).color, linewidth=0.9)
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
