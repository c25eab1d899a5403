"""What a figure needs: the result file that it draws, with its columns and values, and the command that makes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodebudget.experiments.storage.results import read_table
from nodebudget.lp.numbers.rationals import shortened

Rows = list[dict[str, Any]]

RESULTS = Path(__file__).parent / "results"
"""The folder of the stored result files, with the configurations that made them."""

SWEEP = "nodebudget sweep {config} --out {file}"
DECODE_STUDY = "python -m nodebudget.experiments.decode_study {config} --out {file}"

INSTANCE = ("family", "vocab", "depth", "similarity", "concentration", "zeros", "seed")
"""Columns that tell the instances of a sweep apart."""


@dataclass(frozen=True)
class Needs:
    """What a figure draws.

    Attributes:
        file: the result file, inside the folder of results.
        columns: that it must have.
        command: what makes it; {config} stands for the TOML file of the same name, {file} for the file.
        verifiers: that must be among its rows.
        single: columns that must have one value in all rows.
    """

    file: str
    columns: tuple[str, ...]
    command: str
    verifiers: tuple[str, ...] = ()
    single: tuple[str, ...] = ()

    def path(self, results: Path) -> Path:
        """Where the file is; ValueError, with the command that makes it, where it is not."""
        path = results / self.file
        if not path.exists():
            raise ValueError(
                f"{str(path)!r} is missing; make it with: {self.made_by(results)} (nodebudget figures --list says "
                "what each figure needs)"
            )
        return path

    def made_by(self, results: Path) -> str:
        """The command that makes the file; the configuration is the stored one where the folder has none."""
        config = (results / self.file).with_suffix(".toml")
        if not config.exists():
            config = (RESULTS / self.file).with_suffix(".toml")
        return self.command.format(config=config, file=results / self.file)

    def rows(self, results: Path) -> Rows:
        """The rows of the file; ValueError for a file that is missing, or has not what the figure needs."""
        table = read_table(self.path(results))
        absent = [name for name in self.columns if name not in table.column_names]
        if absent:
            raise self.error(results, f"no column {', '.join(absent)}", ", ".join(self.columns))
        rows: Rows = table.to_pylist()
        if not rows:
            raise self.error(results, "no rows", "at least one")
        present = {row["verifier"] for row in rows} if self.verifiers else set()
        if not present.issuperset(self.verifiers):
            raise self.column_error(results, "verifier", present, f"at least {' and '.join(self.verifiers)}")
        for column in self.single:
            if len(values := {row[column] for row in rows}) != 1:
                raise self.column_error(results, column, values, "one value in all rows")
        return rows

    def column_error(self, results: Path, column: str, values: Any, expected: str) -> ValueError:
        """The error of a column without the values that a figure needs."""
        return self.error(results, f"{column} {_listed(values)}", f"{column} with {expected}")

    def error(self, results: Path, got: str, expected: str) -> ValueError:
        """The error of a file that has something else."""
        return ValueError(f"{str(results / self.file)!r}: got {got}; expected {expected}")

    def words(self) -> str:
        """The columns, and what their values must be."""
        more = [f"verifier with {' and '.join(self.verifiers)}"] if self.verifiers else []
        more += [f"{column} with one value" for column in self.single]
        return ", ".join(self.columns) + (f"; {', '.join(more)}" if more else "")


def _listed(values: Any) -> str:
    """Some different values, for a message."""
    words = sorted(map(str, values))
    return shortened(", ".join(words))[1:-1] if words else "without values"
