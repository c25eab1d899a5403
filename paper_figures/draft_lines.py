"""What the figures of draftings share: the optimum against the number of nodes, one curve a kind of draft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .common import Look, mean, where
from .needs import Needs, Rows

LOOKS = {
    "best-target": Look("best tree by target", "#000000", ".", ":"),
    "best-draft": Look("best tree by draft", "#000000", "*", "-", 5.5),
    "top": Look("likeliest children", "#CC79A7", "v"),
    "top-sample": Look("likeliest + sample", "#009E73", "^"),
    "without": Look("without replacement", "#D55E00", "s", "-", 3.2),
    "with": Look("with replacement", "#56B4E9", "D", "-", 3.2),
    "iid": Look("i.i.d. paths", "#0072B2", "o", "--"),
    "delayed": Look("trunk, then branches", "#7F7F7F", "x"),
}
"""By the kind of a drafting, the first word of its text form."""

Z95 = 1.96


def draw_kinds(axis: Any, rows: Rows, column: str, instance: Sequence[str]) -> None:
    """Every drafting at its mean number of nodes and its mean optimum, with a 95% interval.

    All drafts have the same instances, and are compared with each other: the interval is that of the optimum minus the
    instance's mean over all drafts. The line of a kind goes through those of its shapes that no smaller shape of the
    same kind beats.

    Args:
        axis: of matplotlib.
        rows: one for each drafting and instance.
        column: with the number of nodes.
        instance: columns that tell the instances apart.
    """
    of_instance: dict[Any, list[float]] = {}
    for row in rows:
        of_instance.setdefault(tuple(row[name] for name in instance), []).append(row["optimum"])
    levels = {key: float(np.mean(optima)) for key, optima in of_instance.items()}
    rows = [row | {"level": levels[tuple(row[name] for name in instance)]} for row in rows]
    kinds: dict[str, list[str]] = {}
    for text in dict.fromkeys(row["drafting"] for row in rows):
        kinds.setdefault(text.partition(":")[0], []).append(text)
    order = [*LOOKS, *sorted(kinds.keys() - LOOKS.keys())]
    for kind in order:
        shown = LOOKS.get(kind, Look(kind, "#444444", "."))
        points = sorted(_point(where(rows, drafting=text), column) for text in kinds.get(kind, ()))
        if not points:
            continue
        best, line = 0.0, []
        for nodes, optimum, _ in points:
            if optimum > best:
                best = optimum
                line.append((nodes, optimum))
        axis.plot(*zip(*line, strict=True), **shown.marks() | {"linestyle": shown.line, "linewidth": 1.0})
        x, y, widths = zip(*points, strict=True)
        marks = shown.marks() | {"label": None, "alpha": 0.8}
        axis.errorbar(x, y, yerr=widths, elinewidth=0.5, **marks)


def one_row_each(needs: Needs, rows: Rows, column: str) -> Rows:
    """The rows of the verifier that is defined for every draft, where there is an optimum and a number of nodes.

    Raises the error of the file where there is none.
    """
    found = [
        row for row in where(rows, verifier="nss") if row["optimum"] is not None and row[column] is not None
    ]
    if not found:
        raise ValueError(f"{needs.file}: no row has an optimum and {column}; expected a sweep over draftings")
    return found


def _point(rows: Rows, column: str) -> tuple[float, float, float]:
    """Mean number of nodes, mean optimum, and half the width of its interval."""
    gains = np.array([row["optimum"] - row["level"] for row in rows])
    spread = float(gains.std(ddof=1)) if len(gains) > 1 else 0.0
    return mean(rows, column), mean(rows, "optimum"), Z95 * spread / len(gains) ** 0.5
