"""Tables for notebooks: escaped, limited, and as data frames where pandas is there."""

from __future__ import annotations

import sys
from fractions import Fraction
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest
from nodebudget.lp.instances.tables import Catalogue, html_table, short_number, to_frame


class Read(HTMLParser):
    """The texts of a table's cells, and the tags that were seen."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def test_text_is_escaped_and_comes_back() -> None:
    nasty = '<script>alert("&amp;")</script>'
    found = html_table([nasty], [[nasty]], caption=nasty)
    assert "<script" not in found
    read = Read(found)
    assert read.cells == [nasty, nasty]
    assert read.open == []


@pytest.mark.parametrize("lazily", [False, True])
def test_rows_are_limited_and_the_rest_is_counted(lazily: bool) -> None:
    seen = []

    def rows() -> Any:
        for i in range(7):
            seen.append(i)
            yield [i]

    given = {"rows": rows(), "count": 7} if lazily else {"rows": list(rows())}
    found = html_table(["i"], **given, limit=3)
    assert Read(found).cells == ["i", "0", "1", "2"]
    assert "4 more" in found
    assert not lazily or len(seen) == 3
    assert "more" not in html_table(["i"], [[0], [1], [2]], limit=3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 3), "1/3"),
        (Fraction(4), "4"),
        (Fraction(123456789, 987654322), "0.125"),
        (Fraction(10**5000 + 1, 10**5000), "1"),
        (1 / 3, "0.333333"),
        (2, "2"),
    ],
)
def test_numbers_are_short(value: Any, text: str) -> None:
    assert short_number(value) == text
    assert Read(html_table(["x"], [[value]])).cells == ["x", text]


def test_what_is_no_number_is_shown_as_it_is() -> None:
    assert Read(html_table(["x"], [[True], [None], ["1/2"]])).cells == ["x", "True", "None", "1/2"]


def test_a_catalogue_is_a_dict_with_a_line_per_entry() -> None:
    entries = Catalogue(bv=SimpleNamespace(about="block"), gbv=SimpleNamespace(about="greedy"))
    assert repr(entries) == "bv   block\ngbv  greedy"
    assert list(entries) == ["bv", "gbv"]
    assert isinstance(entries, dict)
    assert repr(Catalogue()) == ""


def test_without_pandas_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'nodebudget\[frames\]'"):
        to_frame({"a": [1]})


def test_the_columns_are_handed_to_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: ("frame", columns)))
    assert to_frame({"a": [1], "b": ["x"]}) == ("frame", {"a": [1], "b": ["x"]})


def test_a_data_frame() -> None:
    pd = pytest.importorskip("pandas", reason="the extra nodebudget[frames] is not installed")
    found = to_frame({"node": ["", "0"], "p": [Fraction(1), Fraction(1, 3)]})
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == ["node", "p"]
    assert found["p"].tolist() == [Fraction(1), Fraction(1, 3)]
