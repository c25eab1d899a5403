"""docs/mathematics.md has every statement that is checked, and says where."""

from __future__ import annotations

import re
from pathlib import Path

from nodebudget.experiments.checks.run import STATEMENTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
TABLE = [line.strip("|").split("|") for line in PAGE.splitlines() if re.match(r"\| \d", line)]


def numbers(text: str) -> list[str]:
    return re.findall(r"\b\d+\.\d\b", text)


def test_every_statement_is_there_once_and_in_the_table_once() -> None:
    stated = re.findall(r"^- \*\*(\d+\.\d)\*\*", PAGE, flags=re.MULTILINE)
    assert len(stated) == len(set(stated)) >= 30
    assert sorted(number for row in TABLE for number in numbers(row[0])) == sorted(stated)


def test_the_table_names_the_module_of_each_check() -> None:
    listed = {number: row[1].strip() for row in TABLE for number in numbers(row[0])}
    assert {statement.number for statement in STATEMENTS} <= {n for n, place in listed.items() if place}
    for statement in STATEMENTS:
        module = statement.check.__module__.rsplit(".", 1)[1]
        assert f"`experiments/checks/{module}.py`" == listed[statement.number], statement.number


def test_every_file_named_exists() -> None:
    named = re.findall(r"`((?:lp|verifiers|experiments|tests)/[\w/.]+)`", PAGE)
    assert len(named) > 40
    for name in named:
        assert (ROOT / name).exists(), name
