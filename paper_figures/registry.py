"""All figures by name, and writing them with reproducible bytes."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodebudget.lp.numbers.rationals import shortened

from .needs import RESULTS, Needs

HERE = Path(__file__).parent
STYLE = HERE / "nodebudget.mplstyle"

FIGURES = tuple(
    sorted(
        module.name.removeprefix("fig_")
        for module in pkgutil.iter_modules([str(HERE)])
        if module.name.startswith("fig_")
    )
)
"""Names of the figures."""

WITHOUT_TIME = {"pdf": {"CreationDate": None, "ModDate": None}, "png": {}}
"""Metadata of the files: no time, so that the same figure has the same bytes."""


def figure(name: str, results: Path = RESULTS) -> Any:
    """One figure as a matplotlib figure, to show in a notebook; `draw_figures` writes files.

    Raises ValueError as `draw_figures` does.
    """
    import matplotlib.pyplot as plt

    _check_names([name])
    with plt.style.context(["default", STYLE]):
        drawn = _module(name).draw(results)
    plt.close(drawn)  # it is shown by who asked for it, once
    return drawn


def draw_figures(names: Iterable[str], out: Path, results: Path = RESULTS) -> Iterator[Path]:
    """Draw figures by name and write each as PDF and PNG; gives the files as they are written.

    Args:
        names: some of `FIGURES`; all of them when empty.
        out: the folder for the files; made where it is missing.
        results: the folder of the result files.

    Raises ValueError for an unknown name and for a result file that is missing or none; nothing half-written is
    left behind.
    """
    chosen = list(dict.fromkeys(names)) or list(FIGURES)
    _check_names(chosen)
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: {str(out)!r} is a file; expected a folder")
    out.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        yield from _write(name, out, results)


@dataclass(frozen=True)
class Described:
    """What a figure shows and needs.

    Attributes:
        name: of the figure.
        shows: one line.
        needs: its result file; None for one that is drawn from an instance of a few nodes.
        command: what makes that file.
    """

    name: str
    shows: str
    needs: Needs | None
    command: str | None

    def text(self) -> str:
        """Some lines for people."""
        head = f"{self.name}\n  {self.shows}\n"
        if self.needs is None:
            return f"{head}  needs no file"
        return (
            f"{head}  file     {self.needs.file}\n  columns  {self.needs.words()}\n  made by  {self.command}"
        )

    def to_json(self) -> dict[str, Any]:
        """The JSON object."""
        needs = self.needs
        return {
            "name": self.name,
            "shows": self.shows,
            "file": needs and needs.file,
            "columns": list(needs.columns) if needs else [],
            "verifiers": list(needs.verifiers) if needs else [],
            "single": list(needs.single) if needs else [],
            "command": self.command,
        }


def describe_figures(names: Iterable[str] = (), results: Path = RESULTS) -> list[Described]:
    """What figures show and need, all of them when no names are given; ValueError for an unknown name.

    The commands are for files in the folder `results`.
    """
    chosen = list(dict.fromkeys(names)) or list(FIGURES)
    _check_names(chosen)
    described = []
    for name in chosen:
        module = _module(name)
        needs: Needs | None = module.NEEDS
        shows = str(module.__doc__).strip().splitlines()[0]
        described.append(Described(name, shows, needs, needs.made_by(results) if needs else None))
    return described


def _module(name: str) -> Any:
    return importlib.import_module(f"{__package__}.fig_{name}")


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if name not in FIGURES:
            raise ValueError(f"figure: got {shortened(name)}; expected some of {', '.join(FIGURES)}")


def _write(name: str, out: Path, results: Path) -> Iterator[Path]:
    import matplotlib.pyplot as plt

    drawn = figure(name, results)
    with plt.style.context(["default", STYLE]):
        for kind, metadata in WITHOUT_TIME.items():
            file = out / f"{name}.{kind}"
            unfinished = out / f".{name}.{os.getpid()}.{kind}"
            try:
                drawn.savefig(unfinished, metadata=metadata)
                os.replace(unfinished, file)
            finally:
                unfinished.unlink(missing_ok=True)
            yield file
