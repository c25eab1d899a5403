"""What the figures share: the look of each verifier, and reading result files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from nodebudget.experiments.storage.results import read_table

Rows = list[dict[str, Any]]

COLUMN = 3.3
"""Inches: one column of a two-column paper."""


@dataclass(frozen=True)
class Look:
    """How a verifier is drawn: never told apart by colour alone."""

    label: str
    color: str
    marker: str
    line: str = "-"
    size: float = 3.8

    def marks(self) -> dict[str, Any]:
        """Keywords of `Axes.plot` for marks without a line."""
        return {
            "color": self.color, "marker": self.marker, "markersize": self.size,
            "linestyle": "", "label": self.label,
        }  # fmt: skip


LOOKS = {
    "optimum": Look(r"OPT$_K$ (bound)", "#000000", "", "--"),
    "autoregressive": Look("target alone", "#000000", "", ":"),
    "mixed": Look("mixed", "#D55E00", "*", size=6.5),
    "gbv": Look("GBV", "#0072B2", "o"),
    "spectr": Look("SpecTr", "#E69F00", "s"),
    "traversal": Look("traversal", "#009E73", "^"),
    "specinfer": Look("SpecInfer", "#CC79A7", "v"),
    "bv": Look("BV, one path", "#56B4E9", "D"),
    "token": Look("token, one path", "#7F7F7F", "x", size=4.5),
    "nss": Look("NSS", "#8C7B00", "+", size=5.5),
}


def look(name: str) -> Look:
    """The look of a verifier; a plain one for a verifier that the figures do not know."""
    return LOOKS.get(name, Look(name, "#444444", "."))


def rows_of(results: Path, study: str, command: str | None = None) -> Rows:
    """The rows of a stored study; ValueError where its file is missing, with the command that makes it."""
    file = results / f"{study}.parquet"
    if not file.exists():
        made_by = command or f"nodebudget sweep {results / study}.toml --out {file}"
        raise ValueError(f"{str(file)!r} is missing; make it with: {made_by}")
    return list(read_table(file).to_pylist())


def pair_rows(results: Path, study: str) -> Rows:
    """The rows of a stored study of a real pair; ValueError as in `rows_of`."""
    folder = results / "pairs"
    return rows_of(folder, study, f"python -m nodebudget.experiments.decode_study {folder / study}.toml")


def verifiers_of(rows: Rows) -> list[str]:
    """The verifiers in the rows, in the order of `LOOKS`, unknown ones last."""
    order = [*LOOKS, *sorted({row["verifier"] for row in rows} - LOOKS.keys())]
    present = {row["verifier"] for row in rows}
    return [name for name in order if name in present]


def where(rows: Rows, **values: Any) -> Rows:
    """The rows in which columns have these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def values_of(rows: Rows, column: str) -> list[Any]:
    """The different values of a column, sorted."""
    return sorted({row[column] for row in rows})


def mean(rows: Rows, column: str) -> float:
    """The mean of a column."""
    return float(np.mean([row[column] for row in rows]))


def share(rows: Rows) -> float:
    """Accepted tokens as a share of OPT_K: the sum of one over the sum of the other."""
    return sum(row["accepted_tokens"] for row in rows) / sum(row["optimum"] for row in rows)


def curve(axis: Any, name: str, x: Iterable[float], y: Iterable[float], **more: Any) -> None:
    """One verifier's curve."""
    shown = look(name)
    axis.plot(x, y, **shown.marks() | {"linestyle": shown.line}, **more)
