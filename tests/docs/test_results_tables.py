"""The tables of docs/results.md are those of the stored results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nodebudget.experiments.studies.mixed_study import SHAPE, load, table
from nodebudget.paper_figures import RESULTS
from nodebudget.paper_figures.common import groups_of, look, mean, share, verifiers_of, where
from nodebudget.paper_figures.needs import Rows
from stored import rows_of

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
PATHS = (1, 2, 4, 8)


def shares() -> Iterator[list[str]]:
    """Percent of OPT_2 by verifier and family."""
    rows = rows_of("families")
    groups = [where(rows, family=family, similarity=similarity) for family, similarity in groups_of(rows)]
    for name in verifiers_of(rows):
        yield [look(name).label, *(f"{share(where(group, verifier=name)):.1%}" for group in groups)]


def more_paths() -> Iterator[list[str]]:
    """Block efficiency by verifier, similarity and K."""
    rows = rows_of("paths")

    def line(label: str, name: str, column: str) -> list[str]:
        own = where(rows, verifier=name)
        groups = (where(own, similarity=similarity, paths=k) for similarity in (0.5, 0.95) for k in PATHS)
        return [label, *(f"{1 + mean(group, column):.2f}" for group in groups)]

    yield line("OPT_K", "bv", "optimum")
    for name in verifiers_of(rows):
        yield line(look(name).label, name, "accepted_tokens")


def decoding() -> Iterator[list[str]]:
    """Block efficiency on the real pair with its interval, by verifier and K."""
    rows = rows_of("pairs/decoding")
    paths = sorted({row["paths"] for row in rows})
    for name in verifiers_of(rows):
        if name != "autoregressive":
            cells = [efficiency(where(rows, verifier=name, paths=k)) for k in paths]
            yield [look(name).label, *cells]


def efficiency(rows: Rows) -> str:
    """Of no run or one."""
    if not rows:
        return ""
    (row,) = rows
    low, high = row["expected_interval_low"], row["expected_interval_high"]
    return f"{row['expected_block_efficiency']:.2f} ({low:.2f} to {high:.2f})"


def mixed_study() -> Iterator[list[str]]:
    """Accepted tokens by similarity, concentration and K, and what GBV and `mixed` close of OPT_K - BV."""
    for (vocab, depth, *settings), count, values in table(load(RESULTS / "mixed_study.csv")):
        if (vocab, depth) == SHAPE:
            accepted = (f"{values[name]:.4f}" for name in ("bv", "gbv", "mixed", "optimum"))
            closed = (f"{100 * values[f'{name} closes']:.0f}%" for name in ("gbv", "mixed"))
            yield [*map(str, settings), str(count), *accepted, *closed]


def written(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("  ", " ")


@pytest.mark.parametrize("lines", [shares, more_paths, decoding, mixed_study])
def test_every_row_is_on_the_page(lines: Callable[[], Iterator[list[str]]]) -> None:
    rows = [written(cells) for cells in lines()]
    assert len(rows) >= 4
    for row in rows:
        assert row in PAGE, row


def test_a_wrong_number_would_be_noticed() -> None:
    row = next(iter(shares()))
    assert written([*row[:-1], "99.9%"]) not in PAGE


def test_the_worth_of_drafts_is_that_of_the_stored_results() -> None:
    rows = where(rows_of("drafts"), similarity=0.5)
    tree, paths = (where(rows, drafting=drafting) for drafting in ("best-draft:15", "iid:6"))
    page = " ".join(PAGE.split())
    assert f"it is worth {mean(tree, 'optimum'):.2f} tokens with 15 nodes" in page
    nodes, worth = mean(paths, "nodes_expected"), mean(paths, "optimum")
    assert f"reads {nodes:.1f} nodes on average, are worth {worth:.2f}." in page
