"""docs/reference/verifiers.md lists every verifier, with the sources that the registry has."""

from __future__ import annotations

import re
from pathlib import Path

from nodebudget.verifiers import TREE_VERIFIERS, VERIFIERS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "verifiers.md").read_text(encoding="utf-8")
ROWS = {
    row[1].strip().strip("`"): row for row in (line.split("|") for line in PAGE.splitlines()) if len(row) == 6
}


def test_every_verifier_has_a_row() -> None:
    assert ROWS.keys() - {"name", "---"} == {**VERIFIERS, **TREE_VERIFIERS}.keys()


def test_sources_are_those_of_the_registry() -> None:
    for name, verifier in {**VERIFIERS, **TREE_VERIFIERS}.items():
        listed, known = (
            set(re.findall(r"arXiv:[\d.]+\d", text)) for text in (ROWS[name][4], verifier.reference)
        )
        assert listed == known or name == "mixed", name


def test_what_can_be_lifted_is_named() -> None:
    lifted = {name for name, each in {**VERIFIERS, **TREE_VERIFIERS}.items() if each.one_step}
    sentence = PAGE[PAGE.index("`lift:NAME`") : PAGE.index("- `recycle:NAME`")]
    assert set(re.findall(r"`([a-z-]+)`", sentence)) == lifted


def test_what_can_be_recycled_is_named() -> None:
    recycled = {name for name, each in {**VERIFIERS, **TREE_VERIFIERS}.items() if each.blind_below}
    sentence = PAGE[PAGE.index("- `recycle:NAME`") : PAGE.index("- `module:function`")]
    assert set(re.findall(r"`([a-z-]+)`", sentence)) == recycled
