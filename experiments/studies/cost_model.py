"""What a block costs and brings: tokens per second from times by phase and block efficiency.

    python -m nodebudget.experiments.cost_model paper_figures/results/pairs/costs.parquet

prints predicted and measured speed of every verifier and K of a decode study, and the K after which a wider block
costs more than it brings. A block takes draft + target + verify + cache seconds and gives 1 + E|Z| tokens, so

    tokens per second = (1 + E|Z|) / (draft + target + verify + cache).

Each phase is taken as a line in K between the smallest and the largest K that were measured: the draft reads K rows at
once, the target the distinct nodes of K paths, the verifier their rows. E|Z| is the mean of the verifier's own law. So
the model says nothing about K outside the measured ones, about tokens cut off at the end of an output (it is too high
for short ones), and about anything between the phases. `check` holds it against the measured speed of the same runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodebudget.experiments.storage.results import read_table

PHASES = ("draft", "target", "verify", "cache")
COLUMNS = (
    *(
        "verifier",
        "paths",
        "length",
        "temperature",
        "blocks",
        "expected_block_efficiency",
        "tokens_per_second",
    ),
    *(f"{phase}_seconds" for phase in PHASES),
)
"""What a row of a decode study must have."""


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


def load(file: Path) -> list[dict[str, Any]]:
    """The rows of a decode study; ValueError for a file that has not its columns."""
    table = read_table(file)
    absent = [name for name in COLUMNS if name not in table.column_names]
    if absent:
        raise ValueError(f"{str(file)!r}: got no column {', '.join(absent)}; expected {', '.join(COLUMNS)}")
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def main() -> None:
    """Print the table of a file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="what decode_study has written")
    options = parser.parse_args()
    try:
        predictions = check(load(options.file))
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print("verifier        K  ms per block  tokens/s: predicted  measured   error")
    for each in predictions:
        print(
            f"{each.verifier:14}{each.paths:3d}{1000 * each.block_seconds:14.1f}{each.tokens_per_second:21.2f}"
            f"{each.measured:10.2f}{each.error:+8.0%}{'' if each.interpolated else '  (the line goes through it)'}"
        )
    for verifier in dict.fromkeys(each.verifier for each in predictions):
        print(f"{verifier}: by prediction the best K is {best_paths(predictions, verifier)}")


if __name__ == "__main__":
    main()
