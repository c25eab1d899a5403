"""What a block costs and brings: tokens per second from times by phase and block efficiency.

A block takes draft + target + verify + cache seconds and gives 1 + E|Z| tokens, so

    tokens per second = (1 + E|Z|) / (draft + target + verify + cache).

Each phase is taken as a line in K between the smallest and the largest K that were measured: the draft reads K rows at
once, the target the distinct nodes of K paths, the verifier their rows. E|Z| is the mean of the verifier's own law. So
the model says nothing about K outside the measured ones, about tokens cut off at the end of an output (it is too high
for short ones), and about anything between the phases. `check` holds it against the measured speed of the same runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PHASES = ("draft", "target", "verify", "cache")


@dataclass(frozen=True)
class Prediction:
    """One verifier at one K.

    Attributes:
        verifier, paths: which.
        block_seconds: predicted seconds of a block.
        tokens_per_second: predicted.
        measured: tokens per second of the run, prompts not counted.
        interpolated: False for the two K that the lines were laid through.
    """

    verifier: str
    paths: int
    block_seconds: float
    tokens_per_second: float
    measured: float
    interpolated: bool

    @property
    def error(self) -> float:
        """Predicted over measured speed, minus one."""
        return self.tokens_per_second / self.measured - 1


def phase_milliseconds(row: dict[str, Any]) -> dict[str, float]:
    """Milliseconds per block by phase, of a row of a decode study."""
    return {phase: 1000 * row[f"{phase}_seconds"] / row["blocks"] for phase in PHASES}


def check(rows: Sequence[dict[str, Any]]) -> list[Prediction]:
    """Predictions for every verifier and K of a decode study with one L and one temperature.

    Raises ValueError for rows of several lengths or temperatures.
    """
    rows = [row for row in rows if row["verifier"] != "autoregressive"]
    if len({(row["length"], row["temperature"]) for row in rows}) != 1:
        raise ValueError("rows: got several lengths or temperatures, or none; expected one of each")
    found = []
    for verifier in dict.fromkeys(row["verifier"] for row in rows):
        own = sorted((row for row in rows if row["verifier"] == verifier), key=lambda row: row["paths"])
        first, last = own[0], own[-1]
        ends = [sum(phase_milliseconds(row).values()) / 1000 for row in (first, last)]
        for row in own:
            along = (row["paths"] - first["paths"]) / max(1, last["paths"] - first["paths"])
            seconds = ends[0] + along * (ends[1] - ends[0])
            speed = row["expected_block_efficiency"] / seconds
            inside = row is not first and row is not last
            found.append(Prediction(verifier, row["paths"], seconds, speed, row["tokens_per_second"], inside))
    return found


def best_paths(predictions: Sequence[Prediction], verifier: str) -> int:
    """The K of the largest predicted speed: from there on a wider block costs more than it brings."""
    own = [each for each in predictions if each.verifier == verifier]
    return max(own, key=lambda each: each.tokens_per_second).paths
