"""What the figures share: the look of each verifier and K, and choosing among rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .needs import Rows

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


PATHS_LOOKS = (("#0072B2", "o", "-"), ("#D55E00", "s", "--"), ("#009E73", "^", "-."), ("#7F7F7F", "D", ":"))
"""Colour, marker and line of numbers of paths, in their order; from the fifth on they come again."""


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


def groups_of(rows: Rows) -> list[tuple[str, float | None]]:
    """The families of a sweep with their similarities (None where a family has none): the order of `FAMILIES_SHOWN`."""
    present = {(row["family"], row["similarity"]) for row in rows}
    order = {family: place for place, family in enumerate(FAMILIES_SHOWN)}
    return sorted(present, key=lambda group: (order.get(group[0], len(order)), group[0], group[1] or 0))


def solved(rows: Rows) -> Rows:
    """The rows whose instance has an OPT_K: the solver found one."""
    return [row for row in rows if row["optimum"] is not None]


FAMILIES_SHOWN = ("flat", "iid", "markov", "logits", "identical")
"""The order in which figures show families of random instances."""


def mean(rows: Rows, column: str) -> float:
    """The mean of a column."""
    return float(np.mean([row[column] for row in rows]))


def share(rows: Rows) -> float:
    """Accepted tokens as a share of OPT_K: the sum of one over the sum of the other; NaN where OPT_K is 0."""
    best = sum(row["optimum"] for row in rows)
    return sum(row["accepted_tokens"] for row in rows) / best if best else float("nan")


def curve(axis: Any, name: str, x: Iterable[float], y: Iterable[float], **more: Any) -> None:
    """One verifier's curve."""
    shown = look(name)
    axis.plot(x, y, **shown.marks() | {"linestyle": shown.line}, **more)
