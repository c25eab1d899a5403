"""What the pages say of every verifier on every draft, and of which one is closest, is in the stored results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nodebudget.experiments.studies.transport_study import FAMILIES, LEAST_GAP, VERIFIERS
from nodebudget.paper_figures.common import groups_of, share, where
from nodebudget.paper_figures.needs import Rows
from nodebudget.paper_figures.tree_shares import Shares, lines, shares_by_drafting
from stored import rows_of

ROOT = Path(__file__).parents[2]
SHORT = ("iid:2", "without:2,2", "top-sample:2,2")
"""The draftings of the short table."""


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def says(name: str, *words: str) -> None:
    """The page has these words next to each other, wherever its lines break."""
    assert " ".join(words) in " ".join(page(name).split())


def closed(rows: Rows, name: str) -> float:
    """What a verifier closes of OPT_2 - BV, of the sums, where BV is below the optimum."""
    base = {row["seed"]: row for row in where(rows, verifier="bv")}
    gaps = {seed: row["optimum"] - row["accepted_tokens"] for seed, row in base.items()}
    counted = [row for row in where(rows, verifier=name) if gaps[row["seed"]] > LEAST_GAP]
    gained = sum(row["accepted_tokens"] - base[row["seed"]]["accepted_tokens"] for row in counted)
    return float(gained / sum(gaps[row["seed"]] for row in counted))


def closed_by_group() -> Iterator[tuple[int, str, dict[str, float]]]:
    """By V and family."""
    rows = rows_of("closest")
    for vocab in (3, 5):
        own = where(rows, vocab=vocab)
        for family, similarity in groups_of(own):
            group = where(own, family=family, similarity=similarity)
            label = family if similarity is None else f"{family} {similarity:g}"
            yield vocab, label, {name: closed(group, name) for name in {row["verifier"] for row in group}}


def test_every_row_of_the_large_table_is_on_the_page() -> None:
    found = list(lines(rows_of("tree_verifiers")))
    assert len(found) == 3 + 17
    for line in found:
        assert line in page("docs/results.md"), line


def test_the_mean_and_the_worst_by_hand() -> None:
    """From a table of two families, one of two instances: its share is that of the sums."""
    values = [("flat", 2.0, 1.0), ("flat", 1.0, 1.0), ("iid", 4.0, 1.0)]
    about = {"similarity": None, "drafting": "iid:2", "verifier": "bv"}
    rows = [about | {"family": f, "optimum": o, "accepted_tokens": a} for f, o, a in values]
    lost = rows[0] | {"optimum": None}
    assert shares_by_drafting([*rows, lost]) == {"iid:2": {"bv": Shares((2 / 3 + 1 / 4) / 2, 1 / 4, 1.0)}}


@pytest.mark.parametrize("name", ["README.md", "docs/findings.md"])
def test_the_short_table(name: str) -> None:
    found = shares_by_drafting(rows_of("tree_verifiers"))
    for verifier in ("mixed", "lift:transport", "transport", "recycle:gbv", "gbv", "recursive-rejection", "nss"):
        cells = (
            f"{own.mean:.1%} ({own.worst:.1%})" if (own := found[drafting].get(verifier)) else ""
            for drafting in SHORT
        )
        line = f"| `{verifier}` | {' | '.join(cells)} |".replace("  ", " ").replace("  ", " ")
        assert line in page(name), line


def test_which_verifier_closes_most() -> None:
    groups = list(closed_by_group())
    assert len(groups) == 2 * len(FAMILIES)
    for vocab, label, found in groups:
        cells = " | ".join(f"{found[name]:.1%}" for name in VERIFIERS)
        says("docs/findings.md", f"| {vocab} | {label} | {cells} |")


def test_a_wrong_number_would_be_noticed() -> None:
    vocab, label, found = next(closed_by_group())
    with pytest.raises(AssertionError):
        says("docs/findings.md", f"| {vocab} | {label} | {found['transport'] + 0.01:.1%}")
