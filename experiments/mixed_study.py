"""How much of OPT_K - BV mixed multi-path block verification closes, against similarity and concentration.

    python -m nodebudget.experiments.mixed_study paper_figures/results/mixed_study.csv --seeds 20

adds the rows that the file lacks, one instance of the logits family each, and prints the table of the whole
file. Everything is in floats; OPT_K is by cutting planes, and an instance where these fail keeps the reason in
place of its optimum.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from nodebudget.lp import (
    accepted_tokens,
    block_budgets,
    random_instance,
    skewed_draft,
    solve_multi_path,
    stable_greedy_skewed_draft,
)
from nodebudget.lp.solvers import SolverFailure
from tqdm import tqdm

VOCAB, DEPTH = 8, 3
PATHS = (2, 4)
SIMILARITIES = (0.0, 0.5, 0.8, 0.95)
CONCENTRATIONS = (0.5, 1.0, 2.0)
VERIFIERS = ("gbv", "mixed")


@dataclass(frozen=True)
class Row:
    """One instance with one number of paths; accepted tokens in floats.

    Attributes:
        similarity, concentration, seed: of the logits family.
        paths: number K of drafted paths.
        bv, gbv, mixed: expected accepted tokens.
        optimum: OPT_K, NaN where there is none.
        status: what the solver said.
    """

    similarity: float
    concentration: float
    seed: int
    paths: int
    bv: float
    gbv: float
    mixed: float
    optimum: float
    status: str

    @property
    def key(self) -> tuple[float, float, int, int]:
        """What tells rows apart."""
        return self.similarity, self.concentration, self.seed, self.paths

    def closed(self, name: str) -> float:
        """The share of OPT_K - BV that a verifier closes."""
        return float((getattr(self, name) - self.bv) / (self.optimum - self.bv))


def compute(
    similarity: float, concentration: float, seed: int, paths: int, optimum: tuple[float, str] | None = None
) -> Row:
    """The row of one instance; `optimum` is OPT_K with the solver's status where it is known already."""
    instance = random_instance(
        "logits", VOCAB, DEPTH, seed, similarity=similarity, concentration=concentration
    )
    if optimum is None:
        try:
            found = solve_multi_path(instance, paths, certify=False)
            optimum = float(found.value), found.status
        except SolverFailure as error:
            optimum = float("nan"), str(error)
    greedy = block_budgets(instance, stable_greedy_skewed_draft(instance, paths))
    bv, gbv, mixed = (
        float(accepted_tokens(budgets))
        for budgets in (block_budgets(instance), greedy, skewed_draft(instance, paths)[1])
    )
    value, status = optimum
    return Row(similarity, concentration, seed, paths, bv, gbv, mixed, value, status)


def grid(seeds: int) -> Iterator[tuple[float, float, int, int]]:
    """The keys of the study, seed after seed."""
    for seed in range(seeds):
        yield from ((s, c, seed, k) for s, c, k in itertools.product(SIMILARITIES, CONCENTRATIONS, PATHS))


def load(file: Path) -> list[Row]:
    """The rows of a result file; ValueError for a file with other columns."""
    with file.open(newline="") as stream:
        reader = csv.DictReader(stream)
        names = [field.name for field in fields(Row)]
        if reader.fieldnames != names:
            raise ValueError(f"{file}: got the columns {reader.fieldnames}; expected {names}")
        return [
            Row(
                float(row["similarity"]),
                float(row["concentration"]),
                int(row["seed"]),
                int(row["paths"]),
                float(row["bv"]),
                float(row["gbv"]),
                float(row["mixed"]),
                float(row["optimum"]),
                row["status"],
            )
            for row in reader
        ]


def save(rows: Sequence[Row], file: Path) -> None:
    """Write a result file, whole or not at all."""
    beside = file.with_suffix(".part")
    with beside.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: row.key))
    os.replace(beside, file)


def table(
    rows: Sequence[Row],
) -> list[tuple[float, float, int, int, float, float, float, float, float, float]]:
    """Per similarity, concentration and K: instances, mean BV, GBV, mixed, OPT_K, mean shares closed."""
    lines = []
    for s, c, k in itertools.product(SIMILARITIES, CONCENTRATIONS, PATHS):
        here = [r for r in rows if r.key[:2] == (s, c) and r.paths == k and np.isfinite(r.optimum)]
        if here:
            means = (float(np.mean([getattr(r, n) for r in here])) for n in ("bv", "gbv", "mixed", "optimum"))
            shares = (float(np.mean([r.closed(name) for r in here])) for name in VERIFIERS)
            lines.append((s, c, k, len(here), *means, *shares))
    return lines  # type: ignore[return-value]


def main() -> None:
    """Add what is missing to the result file and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="result file (CSV), made or added to")
    parser.add_argument("--seeds", type=int, default=0, help="instances per cell; 0 prints the table only")
    options = parser.parse_args()
    rows = load(options.file) if options.file.exists() else []
    known = {row.key for row in rows}
    for key in tqdm([key for key in grid(options.seeds) if key not in known], disable=None):
        rows.append(compute(*key))
        save(rows, options.file)
    print("similarity  concentration  K   n    BV     GBV    mixed   OPT_K   GBV closes  mixed closes")
    for s, c, k, n, bv, gbv, mixed, best, greedy, ours in table(rows):
        print(
            f"{s:10.2f}{c:15.1f}{k:3d}{n:4d}{bv:8.4f}{gbv:8.4f}{mixed:8.4f}{best:8.4f}{greedy:12.1%}{ours:14.1%}"
        )


if __name__ == "__main__":
    main()
