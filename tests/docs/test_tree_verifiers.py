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


def test_the_short_tables() -> None:
    """The findings have all of these rows, the README five."""
    found = shares_by_drafting(rows_of("tree_verifiers"))
    for verifier in (
        "mixed",
        "lift:transport",
        "transport",
        "recycle:gbv",
        "gbv",
        "recursive-rejection",
        "nss",
    ):
        cells = (
            f"{own.mean:.1%} ({own.worst:.1%})" if (own := found[drafting].get(verifier)) else ""
            for drafting in SHORT
        )
        line = f"| `{verifier}` | {' | '.join(cells)} |".replace("  ", " ").replace("  ", " ")
        assert line in page("docs/findings.md"), line
        assert (line in page("README.md")) is (verifier not in ("recycle:gbv", "nss")), line


def test_which_verifier_closes_most() -> None:
    groups = list(closed_by_group())
    assert len(groups) == 2 * len(FAMILIES)
    for vocab, label, found in groups:
        cells = " | ".join(f"{found[name]:.1%}" for name in VERIFIERS)
        says("docs/findings.md", f"| {vocab} | {label} | {cells} |")


def test_where_transport_is_ahead_of_greedy_selection() -> None:
    groups = list(closed_by_group())
    behind = [(v, label) for v, label, found in groups if found["transport"] < found["gbv"]]
    assert behind == [(5, "logits 0")]
    says("docs/findings.md", "with five on four: between unrelated logits GBV is ahead.")
    for _, _, found in groups:
        assert max(found["transport"], found["gbv"]) < found["lift:transport"] < found["mixed"]
        assert found["transport"] > 0
    assert [label for _, label, found in groups if found["gbv"] < 0] == ["logits 0.95"] * 2


def test_what_the_lift_and_transport_add() -> None:
    blocks = shares_by_drafting(rows_of("tree_verifiers"))
    rejected = {d: b for d, b in blocks.items() if "recursive-rejection" in b}
    least = [b["recursive-rejection"].mean for b in rejected.values()]
    lifts = [
        100 * (b["lift:recursive-rejection"].mean - own)
        for b, own in zip(rejected.values(), least, strict=True)
    ]
    moved = {d: 100 * (b["transport"].mean - b["recursive-rejection"].mean) for d, b in rejected.items()}
    says("docs/findings.md", f"keeps {min(least):.1%} to {max(least):.1%} of the optimum")
    says("docs/findings.md", f"Its lift adds {min(lifts):.1f} to {max(lifts):.1f} points,",
         f"`transport` up to {max(moved.values()):.1f}, but nothing on `without:3,1`")  # fmt: skip
    assert [d for d, points in moved.items() if abs(points) < 1e-6] == ["without:3,1"]
    for block in blocks.values():
        if "greedy" in block:
            assert block["greedy"] == pytest.approx(block["transport"], abs=1e-9)
            assert block["univer"] == pytest.approx(block["lift:transport"], abs=1e-9)


def test_the_real_pair() -> None:
    """The contexts and optima are those of the table of all verifiers."""
    rows = [row for row in rows_of("pairs/closest") if row["optimum"]]
    before = where([row for row in rows_of("pairs/optimality") if row["optimum"]], paths=2, verifier="gbv")
    here = where(rows, verifier="gbv")
    assert [row["optimum"] for row in here] == pytest.approx([row["optimum"] for row in before], abs=1e-6)
    said = {name: f"{share(where(rows, verifier=name)):.1%}" for name in {row["verifier"] for row in rows}}
    says("docs/findings.md", "GBV keeps {gbv} of OPT_2, `transport` {transport}, SpecTr {spectr},".format(**said),
         f"`lift:transport` {said['lift:transport']} (estimated), `mixed` {said['mixed']}.")  # fmt: skip
    says("docs/results.md", f"`transport` keeps {said['transport']} of OPT_2,",
         f"`lift:transport` {said['lift:transport']}, `recycle:gbv` {said['recycle:gbv']};")  # fmt: skip


def test_a_wrong_number_would_be_noticed() -> None:
    vocab, label, found = next(closed_by_group())
    with pytest.raises(AssertionError):
        says("docs/findings.md", f"| {vocab} | {label} | {found['transport'] + 0.01:.1%}")
