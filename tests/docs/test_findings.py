"""What docs/findings.md says, recomputed, or read off the stored results that it names."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nodebudget.experiments.studies.mixed_study import PATHS, SHAPE, SWEEP, VERIFIERS, load
from nodebudget.lp import Instance, accepted_tokens
from nodebudget.lp.numbers.rationals import fmpq_array, to_fraction
from nodebudget.paper_figures import RESULTS
from nodebudget.paper_figures.common import mean, share, where
from nodebudget.paper_figures.needs import Rows
from nodebudget.verifiers.algorithms import spectr
from nodebudget.verifiers.algorithms.survivors import top_down_budgets
from stored import rows_of

PAGE = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")


def says(*words: str) -> None:
    """The page has these words next to each other, wherever its lines break."""
    assert " ".join(words) in re.sub(r"\s+", " ", PAGE)


def below(rows: Rows) -> float:
    """On how many instances GBV is below BV, in percent."""
    accepted = {(row["verifier"], row["seed"]): row["accepted_tokens"] for row in rows}
    seeds = {seed for _, seed in accepted}
    return 100 * sum(accepted["gbv", s] < accepted["bv", s] - 1e-12 for s in seeds) / len(seeds)


def test_greedy_selection_and_similarity() -> None:
    rows = rows_of("similarity")
    shares = [
        f"{share(where(rows, verifier='gbv', paths=paths, similarity=similarity)):.0%}"
        for paths in (2, 4)
        for similarity in (0.5, 1.0)
    ]
    says(f"keeps {shares[0]} of OPT_2 at correlation 0.5 and {shares[1]} for equal models")
    says(f"with four paths it is at {shares[2]} of OPT_4 and {shares[3]},")
    counts = [below(where(rows, paths=4, similarity=similarity)) for similarity in (0.5, 0.9, 0.95, 1.0)]
    assert counts == [17.5, 35, 75, 100]
    says("below BV on 17.5%, 35%, 75% and 100% of the pairs at correlations 0.5, 0.9, 0.95 and 1")


def test_the_order_of_verifiers_depends_on_the_models() -> None:
    rows = rows_of("families")

    def percent(name: str, **group: Any) -> str:
        return f"{share(where(rows, verifier=name, **group)):.0%}"

    flat, near = {"family": "flat"}, {"family": "logits", "similarity": 0.9}
    said = [percent(name, **flat) for name in ("gbv", "spectr", "traversal", "specinfer")]
    says(
        f"{said[0]} of OPT_2 on flat random laws, SpecTr {said[1]}, traversal {said[2]}, SpecInfer {said[3]}."
    )
    said = [percent(name, **near) for name in ("spectr", "traversal", "specinfer", "bv", "gbv")]
    assert said[1] == said[2]
    says(f"SpecTr {said[0]}, traversal and SpecInfer {said[1]}, BV on one path {said[3]}, GBV {said[4]}.")


def test_every_finding_has_its_command() -> None:
    """Each section, and each bullet of a section that has some, ends with a command or more."""
    sections = re.split(r"^## .*\n", PAGE, flags=re.MULTILINE)[1:]
    command = r"`(nodebudget|make|python -m)\s[^`]+`"
    for section in sections:
        for finding in re.split(r"^- ", section, flags=re.MULTILINE)[1:] or [section]:
            assert re.search(command, finding), finding


def test_mixed_selection() -> None:
    families = rows_of("families")
    groups = [(row["family"], row["similarity"]) for row in families]
    shares = [
        share(where(families, verifier="mixed", family=family, similarity=similarity))
        for family, similarity in dict.fromkeys(groups)
    ]
    assert len(shares) == 5
    says(f"keeps {min(shares):.1%} to {max(shares):.1%} of OPT_2 on each of the five families")
    accepted = {
        name: np.array([row["accepted_tokens"] for row in where(families, verifier=name)])
        for name in ("bv", "mixed")
    }
    gain = np.array([row["optimum"] for row in where(families, verifier="bv")]) - accepted["bv"]
    gains = gain > 1e-9
    closed = ((accepted["mixed"] - accepted["bv"])[gains] / gain[gains]).mean()
    says(f"closes {closed:.1%} on the five families")
    paths = where(rows_of("paths"), paths=8, similarity=0.95)
    gbv, mixed = (1 + mean(where(paths, verifier=name), "accepted_tokens") for name in ("gbv", "mixed"))
    best = 1 + mean(where(paths, verifier="bv"), "optimum")
    says(f"GBV falls to {gbv:.2f} tokens per block with eight paths, it comes to {mixed:.2f} of {best:.2f}.")
    below_bv, below_gbv = [], []
    for study in ("families", "paths", "lengths", "similarity"):
        accepted: dict[tuple[Any, ...], dict[str, float]] = {}
        for row in rows_of(study):
            key = tuple(row[name] for name in ("family", "depth", "similarity", "seed", "paths"))
            accepted.setdefault(key, {})[row["verifier"]] = row["accepted_tokens"]
        below_bv += [each["bv"] - each["mixed"] for each in accepted.values()]
        below_gbv += [each["gbv"] - each["mixed"] for each in accepted.values()]
    assert max(below_bv) < 1e-9
    says(f"On the {len(below_bv):,} pairs of instance and K")
    losses = [loss for loss in below_gbv if loss > 1e-9]
    says(f"It is below GBV on {len(losses)} of them, by at most {max(losses):.3f} accepted tokens.")


def test_no_published_verifier_is_near_everywhere() -> None:
    rows = rows_of("families")
    for name in {row["verifier"] for row in rows} - {"mixed"}:
        groups = {(row["family"], row["similarity"]) for row in rows}
        worst = min(share(where(rows, verifier=name, family=f, similarity=s)) for f, s in groups)
        assert worst < 0.90, name
    says("each has one where it keeps less than 90%")


def test_more_paths() -> None:
    rows = rows_of("paths")

    def efficiency(name: str, paths: int, column: str = "accepted_tokens") -> str:
        return f"{1 + mean(where(rows, verifier=name, paths=paths, similarity=0.5), column):.2f}"

    says(f"block efficiency is {efficiency('gbv', 2)} with two paths and {efficiency('gbv', 8)} with eight,")
    says(f"SpecTr's {efficiency('spectr', 2)} and {efficiency('spectr', 8)}, and OPT_K's",
         f"{efficiency('gbv', 2, 'optimum')} and {efficiency('gbv', 8, 'optimum')}.")  # fmt: skip
    naive, greedy = (share(where(rows, verifier=n, paths=8, similarity=0.95)) for n in ("nss", "gbv"))
    says(f"it keeps {naive:.0%} of OPT_8, GBV {greedy:.0%}.")


def test_a_larger_factor_than_the_smallest_accepts_more(monkeypatch: pytest.MonkeyPatch) -> None:
    law = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    instance = Instance.from_laws(3, 1, {(): law}, {(): law[::-1]})
    smallest = spectr.division_factor

    def accepted(more: Fraction) -> Fraction:
        def factor(*rows: Any) -> Any:
            return fmpq_array([to_fraction(value) + more for value in smallest(*rows)])

        monkeypatch.setattr(spectr, "division_factor", factor)
        budgets = top_down_budgets(instance, 3, spectr.rule)
        assert budgets is not None
        return Fraction(accepted_tokens(budgets))

    values = [accepted(Fraction(step, 100)) for step in (0, 1, 10, 40)]
    assert values == sorted(set(values))
    says(f"from {float(values[0]):.4f} at the smallest g to {float(values[-1]):.4f} at g + 0.4")


def test_the_real_pair() -> None:
    rows = [row for row in rows_of("pairs/optimality") if row["optimum"]]

    def percent(name: str, paths: int, low: float = 0, high: float = 2) -> str:
        group = [row for row in where(rows, verifier=name, paths=paths) if low <= row["overlap"] < high]
        return f"{100 * share(group):.1f}%"

    def accepted(name: str, paths: int) -> list[float]:
        return [row["accepted_tokens"] for row in where(rows, verifier=name, paths=paths)]

    said = {name: (percent(name, 2), percent(name, 4)) for name in ("gbv", "spectr", "specinfer", "mixed")}
    says("GBV keeps {} of OPT_2 and {} of OPT_4,".format(*said["gbv"]))
    says("SpecTr ({}, {}) and SpecInfer ({}, {});".format(*said["spectr"], *said["specinfer"]))
    says("`mixed` keeps {} and {}.".format(*said["mixed"]))
    says(f"SpecTr {percent('spectr', 4, 0.6)}, GBV {percent('gbv', 4, 0.6)}.")
    two, four, single = accepted("gbv", 2), accepted("gbv", 4), accepted("bv", 4)
    assert (len(four), sum(b < a - 1e-9 for a, b in zip(two, four, strict=True))) == (30, 5)
    assert sum(b < a - 1e-9 for a, b in zip(single, four, strict=True)) == 1
    shares, overlaps = (
        [row[column] for row in where(rows, verifier="gbv", paths=4)] for column in ("share", "overlap")
    )
    says(f"correlation {np.corrcoef(shares, overlaps)[0, 1]:.2f} over the 30 contexts")


def test_temperatures_on_the_real_pair() -> None:
    rows = rows_of("pairs/temperatures")

    def at(name: str, temperature: float) -> dict[str, Any]:
        (row,) = where(rows, verifier=name, temperature=temperature)
        return row | {"efficiency": f"{row['expected_block_efficiency']:.2f}"}

    warm, cold = at("traversal", 1.0), at("traversal", 0.2)
    says(f"traversal comes to {warm['efficiency']} tokens per block at temperature 1,",
         f"BV on one path to {at('bv', 1.0)['efficiency']}.")  # fmt: skip
    says(f"At 0.2 it is {cold['efficiency']} against {at('bv', 0.2)['efficiency']}:")
    says(f"{cold['nodes']:.1f} distinct nodes of {cold['drafted']:.0f} drafted")
    low, high = warm["expected_interval_low"], warm["expected_interval_high"]
    says(f"({low:.2f} to {high:.2f} for the first)")


def test_a_wrong_number_would_be_noticed() -> None:
    with pytest.raises(AssertionError):
        says("it keeps 81% of OPT_8")


def test_mixed_selection_on_larger_instances() -> None:
    rows = load(RESULTS / "mixed_study.csv")
    for vocab, depth in SWEEP:
        line = [f"{vocab}", f"{depth}"]
        for paths in PATHS:
            here = [r for r in rows if (r.vocab, r.depth, r.paths) == (vocab, depth, paths)]
            assert len(here) == 4
            gbv, *mixed = (f"{np.mean([r.closed(name) for r in here]):.1%}" for name in VERIFIERS)
            line += [gbv, ", ".join(mixed)]
        says(f"| {' | '.join(line)} |")
    worst = min((r for r in rows if (r.vocab, r.depth) == SHAPE), key=lambda r: r.closed("mixed"))
    assert (worst.similarity, worst.concentration, worst.seed, worst.paths) == (0.5, 1.0, 10, 4)
    says(f"are at {worst.closed('mixed'):.0%}")
    says(f"BV {worst.bv:.4f}, mixed {worst.mixed:.4f}, OPT_4 {worst.optimum:.4f}")
