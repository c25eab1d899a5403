"""Tables for notebooks: HTML of a few rows, and data frames where pandas is installed."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np

from .trees import PrefixTree, format_context

ROWS_SHOWN = 30
"""Rows of a table in a notebook; nobody reads more."""

LONGEST_RATIONAL = 15
"""Characters up to which a rational is shown as it is; a longer one is shown as a float."""

LARGEST_DENOMINATOR = 1000
"""Bits up to which a rational is written out at all: Python refuses to write ints of more than 4300 digits."""


def html_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Any]],
    caption: str = "",
    *,
    count: int | None = None,
    limit: int = ROWS_SHOWN,
) -> str:
    """An HTML table, for `_repr_html_`. All text is escaped, numbers are shown as by `short_number`.

    Args:
        headers: one text per column.
        rows: the cells, row by row; not read beyond the first `limit`, so that they may come from a generator.
        caption: what the table is, above it.
        count: how many rows there are in all; the length of `rows` when None.
        limit: most rows that are shown; a line below the table says how many are not.

    >>> html_table(["node", "p"], [["0,1", Fraction(1, 3)]])
    '<table><thead><tr><th>node</th><th>p</th></tr></thead><tbody><tr><td>0,1</td><td>1/3</td></tr></tbody></table>'
    """
    if count is None:
        rows = list(rows)
        count = len(rows)

    def line(cells: Iterable[Any], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(_text(cell))}</{tag}>' for cell in cells)}</tr>"

    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "".join(line(cells, "td") for cells in itertools.islice(rows, limit))
    table = f"<table>{above}<thead>{line(headers, 'th')}</thead><tbody>{body}</tbody></table>"
    return table if count <= limit else f"{table}<p>... and {count - limit} more rows</p>"


def short_number(value: Any) -> str:
    """A number as a person reads it: a short rational as it is, everything else to six digits.

    >>> short_number(Fraction(2, 3)), short_number(Fraction(10**20, 3 * 10**20 + 1)), short_number(0.25)
    ('2/3', '0.333333', '0.25')
    """
    if isinstance(value, Fraction | int) and value.denominator.bit_length() <= LARGEST_DENOMINATOR:
        text = str(value)
        if len(text) <= LONGEST_RATIONAL:
            return text
    return f"{float(value):.6g}"


def node_name(tree: PrefixTree, node: int) -> str:
    """A node in a table: its tokens, comma-joined; "root" for the root.

    >>> node_name(PrefixTree.full(2, 2), 0), node_name(PrefixTree.full(2, 2), 3)
    ('root', '0,0')
    """
    return format_context(tree.path(node)) or "root"


def _text(cell: Any) -> str:
    number = isinstance(cell, int | Fraction | float | np.floating) and not isinstance(cell, bool)
    return short_number(cell) if number else str(cell)


def to_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A pandas DataFrame with these columns, all of one length.

    Raises ImportError where pandas is not installed: nothing else in this project needs it.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"a data frame needs pandas ({error}): pip install 'nodebudget[frames]'") from None
    return pd.DataFrame(dict(columns))


class Described(Protocol):
    """An entry of a catalogue."""

    @property
    def about(self) -> str:
        """What it is, in a line."""


Entry = TypeVar("Entry", bound=Described)


class Catalogue(dict[str, Entry]):
    """A dict from names to entries that is shown as a line per entry: its name, and what it is."""

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:{width}}  {entry.about}" for name, entry in self.items())
