"""All figures by name, and writing them with reproducible bytes."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
STYLE = HERE / "nodebudget.mplstyle"

RESULTS = HERE / "results"
"""The folder of the stored result files, with the configurations that made them."""

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
        drawn = importlib.import_module(f"{__package__}.fig_{name}").draw(results)
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


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if name not in FIGURES:
            raise ValueError(f"figure: got {name!r}; expected some of {', '.join(FIGURES)}")


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
