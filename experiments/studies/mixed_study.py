"""How much of OPT_K - BV mixed multi-path block verification closes, against similarity and concentration.

    python -m nodebudget.experiments.mixed_study paper_figures/results/mixed_study.csv --seeds 20 --sweep 2

adds the rows that the file lacks, one instance of the logits family each, and prints the tables of the whole
file: V = 8, L = 3 against similarity and concentration, and a sweep over V and L. Mixed selection makes one pass over
its families, the default; the sweep, and the first seeds of the other study, have it with two and with four as well.
Everything is in floats; OPT_K is the upper end of the bracket of the slope programs, some 1e-6 wide, and an instance
where these fail keeps the reason in place of its optimum. Rows are saved one by one.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from nodebudget.experiments.arguments import integer
from nodebudget.lp import (
    accepted_tokens,
    block_budgets,
    random_instance,
    skewed_draft,
    stable_greedy_skewed_draft,
)
from nodebudget.lp.numbers.rationals import shortened
from nodebudget.lp.selection.mixed_rule import MixedRule
from nodebudget.lp.selection.selections import MIXED
from nodebudget.lp.solving.sessions import SolverFailure
from nodebudget.lp.solving.slopes import slope_phase
from tqdm import tqdm

SHAPE = (8, 3)
"""(V, L) of the study over similarity and concentration."""

SWEEP = ((4, 2), (8, 2), (16, 2), (4, 3), (4, 4))
"""Other (V, L), at one similarity and concentration."""

SWEEP_AT = (0.5, 1.0)
PATHS = (2, 4)
SIMILARITIES = (0.0, 0.5, 0.8, 0.95)
CONCENTRATIONS = (0.5, 1.0, 2.0)
VERIFIERS = ("gbv", "mixed", "mixed_2", "mixed_4")


SELECTIONS = (MIXED, replace(MIXED, rule=MixedRule(passes=2)), replace(MIXED, rule=MixedRule(passes=4)))

Key = tuple[int, int, float, float, int, int]
"""V, L, similarity, concentration, seed, K."""


@dataclass(frozen=True)
class Row:
    """One instance with one number of paths; accepted tokens in floats.

    Attributes:
        vocab, depth, similarity, concentration, seed: of the logits family.
        paths: number K of drafted paths.
        bv, gbv, mixed: expected accepted tokens.
        mixed_2, mixed_4: with two and with four passes in place of one; NaN where they were not tried.
        optimum: OPT_K, NaN where there is none.
        status: what the solver said.
    """

    vocab: int
    depth: int
    similarity: float
    concentration: float
    seed: int
    paths: int
    bv: float
    gbv: float
    mixed: float
    mixed_2: float
    mixed_4: float
    optimum: float
    status: str

    @property
    def key(self) -> Key:
        """What tells rows apart."""
        return self.vocab, self.depth, self.similarity, self.concentration, self.seed, self.paths

    @property
    def group(self) -> tuple[int, int, float, float, int]:
        """The key without the seed."""
        return self.vocab, self.depth, self.similarity, self.concentration, self.paths

    def closed(self, name: str) -> float:
        """The share of OPT_K - BV that a verifier closes."""
        return float((getattr(self, name) - self.bv) / (self.optimum - self.bv))


COLUMNS = tuple(field.name for field in fields(Row))
"""Columns of a result file."""


def compute(key: Key, optimum: tuple[float, str] | None = None) -> Row:
    """The row of one instance; `optimum` is OPT_K with the solver's status where it is known already."""
    vocab, depth, similarity, concentration, seed, paths = key
    instance = random_instance(
        "logits", vocab, depth, seed, similarity=similarity, concentration=concentration
    )
    if optimum is None:
        try:
            found = slope_phase(instance.to_float(), paths)
            optimum = found.upper, f"in floats, between {found.lower} and {found.upper}"
        except SolverFailure as error:
            optimum = float("nan"), str(error)
    selections = SELECTIONS[:1] if (vocab, depth) == SHAPE else SELECTIONS
    values = [
        block_budgets(instance),
        block_budgets(instance, stable_greedy_skewed_draft(instance, paths)),
        *(skewed_draft(instance, paths, selection)[1] for selection in selections),
    ]
    accepted = [float(accepted_tokens(budgets)) for budgets in values]
    accepted += [float("nan")] * (len(SELECTIONS) - len(selections))
    entries: list[Any] = [*key, *accepted, *optimum]
    return Row(*entries)


def grid(seeds: int, sweep: int) -> Iterator[Key]:
    """The keys of the study, seed after seed, then those of the sweep."""
    for seed in range(seeds):
        yield from (
            (*SHAPE, s, c, seed, k) for s, c, k in itertools.product(SIMILARITIES, CONCENTRATIONS, PATHS)
        )
    for seed in range(sweep):
        yield from ((*shape, *SWEEP_AT, seed, k) for shape, k in itertools.product(SWEEP, PATHS))


def load(file: Path) -> list[Row]:
    """The rows of a result file; ValueError for a file with other columns, and for a cell that is no number."""
    with file.open(newline="", encoding="utf-8", errors="replace") as stream:
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            got = shortened(", ".join(reader.fieldnames or ()))
            raise ValueError(f"{str(file)!r}: got the columns {got}; expected {', '.join(COLUMNS)}")
        kinds: list[Any] = [*(int if field.type == "int" else float for field in fields(Row)[:-1]), str]
        try:
            return [
                Row(*(kind(row[name]) for kind, name in zip(kinds, COLUMNS, strict=True))) for row in reader
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{str(file)!r}, line {reader.line_num}: {error}") from None


def save(rows: Sequence[Row], file: Path) -> None:
    """Write a result file, whole or not at all."""
    beside = file.with_suffix(".part")
    with beside.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: row.key))
    os.replace(beside, file)


def table(rows: Sequence[Row]) -> list[tuple[tuple[int, int, float, float, int], int, dict[str, float]]]:
    """Per V, L, similarity, concentration and K: how many instances, means of accepted tokens, shares closed."""
    lines = []
    solved = sorted((row for row in rows if np.isfinite(row.optimum)), key=lambda row: row.group)
    for group, members in itertools.groupby(solved, key=lambda row: row.group):
        here = list(members)
        means = {
            name: float(np.mean([getattr(r, name) for r in here]))
            for name in ("bv", "gbv", "mixed", "optimum")
        }
        closed = {name: np.array([r.closed(name) for r in here]) for name in VERIFIERS}
        tried = {name: shares[np.isfinite(shares)] for name, shares in closed.items()}
        shares = {f"{name} closes": float(x.mean()) if len(x) else float("nan") for name, x in tried.items()}
        lines.append((group, len(here), means | shares))
    return lines


def main() -> None:
    """Read the command line, add rows, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="result file (CSV), made or added to")
    parser.add_argument("--seeds", type=integer, default=0, help="instances per cell; 0 adds none")
    parser.add_argument(
        "--sweep", type=integer, default=0, help="instances per shape of the sweep; 0 adds none"
    )
    options = parser.parse_args()
    rows = load(options.file) if options.file.exists() else []
    known = {row.key for row in rows}
    missing = [key for key in grid(options.seeds, options.sweep) if key not in known]
    for key in tqdm(missing, disable=None):
        rows.append(compute(key))
        save(rows, options.file)
    print(
        " V  L  similarity  concentration  K   n    BV     GBV    mixed   OPT_K  closed by GBV  mixed, passes 1, 2, 4"
    )
    for (vocab, depth, s, c, k), n, values in table(rows):
        means = "".join(f"{values[name]:8.4f}" for name in ("bv", "gbv", "mixed", "optimum"))
        shares = "".join(f"{values[f'{name} closes']:9.1%}" for name in VERIFIERS)
        print(f"{vocab:2d}{depth:3d}{s:12.2f}{c:15.1f}{k:3d}{n:4d}{means}      {shares}")


if __name__ == "__main__":
    main()
