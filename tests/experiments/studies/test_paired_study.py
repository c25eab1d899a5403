"""The paired study: settings by hand, differences by hand, and a run that goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nodebudget.experiments.studies.paired_study import load_study, print_study, run_study, summaries
from nodebudget.verifiers.arithmetic.bootstrap import difference_interval
from tiny_checkpoints import save_pair

STUDY = """
kept = ["kept.parquet"]
lengths = [2]
temperatures = [0.5, 1.0]
cuts = [{top_k = 3}, {top_k = 3, top_p = 0.8}]
drafting = ["iid:1", "iid:2", "without:2,1", "without:2,1,1"]
verifiers = ["bv", "gbv", "recursive-rejection"]
samples = 20
"""


def row(context: int, drafting: str, verifier: str, accepted: float, optimum: float) -> dict[str, Any]:
    setting = {"source": "a", "length": 2, "temperature": 1.0, "top_k": 8, "top_p": None}
    return setting | {
        "context": context,
        "drafting": drafting,
        "verifier": verifier,
        "nodes_expected": 3.0,
        "accepted_tokens": accepted,
        "optimum": optimum,
    }


def test_differences_by_hand() -> None:
    rows = [
        row(0, "iid:1", "bv", 1.0, 1.0),
        row(1, "iid:1", "bv", 0.5, 0.5),
        row(0, "iid:2", "gbv", 1.25, 1.5),
        row(1, "iid:2", "gbv", 1.0, 1.0),
        row(0, "iid:2", "race", 1.5, 1.5),
        row(1, "iid:2", "race", 1.0, 1.0),
    ]
    single, gbv, race = summaries(rows)
    assert (single["accepted"], single["share"], single["to_bv"], single["to_best"]) == (0.75, 1.0, 0, 0)
    assert (gbv["accepted"], gbv["to_bv"], gbv["to_bv_interval"]) == (1.125, 0.375, (0.25, 0.5))
    assert (gbv["to_best"], gbv["to_best_interval"]) == (-0.125, (-0.25, 0.0))
    assert (race["share"], race["share_interval"], race["to_best"]) == (1.0, (1.0, 1.0), 0)
    assert difference_interval([1.0], [0.0]) is None


def test_the_interval_is_of_pairs_not_of_two_means() -> None:
    """Contexts that differ much, verifiers that differ a little: only pairs tell them apart."""
    theirs = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    ours = [value + 0.1 for value in theirs]
    assert difference_interval(ours, theirs) == pytest.approx((0.1, 0.1))
    low, high = difference_interval(ours, theirs[::-1]) or (0, 0)  # pairs torn apart
    assert low < 0 < high


def test_a_study_from_contexts_to_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_command: Callable[..., tuple[int, str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    save_pair(tmp_path, ("def f", "a = b"))
    monkeypatch.chdir(tmp_path)
    kept = ("--target", "target", "--draft", "draft", "--prompts", "prompts.jsonl", "--contexts", "2")
    assert (
        run_command(
            "contexts", *kept, "--length", "2", "--top-k", "3", "--continued", "0", "--out", "kept.parquet"
        )[0]
        == 0
    )
    Path("study.toml").write_text(STUDY)
    study = load_study(Path("study.toml"))
    table = run_study(study, Path("study.parquet"), tmp_path, 1)
    rows = table.to_pylist()
    assert len(rows) == 4 * 2 * (
        3 + 3 + 1
    )  # the tree of three levels does not fit, and bv and gbv want paths
    for summary in summaries(rows):
        assert summary["contexts"] == 2
        assert summary["accepted"] <= summary["optimum"] + 1e-6
        if summary["drafting"] == "iid:1":
            assert summary["to_bv"] == pytest.approx(0, abs=1e-9)
    assert {(each["temperature"], each["top_p"]) for each in rows} == {
        (0.5, None),
        (0.5, 0.8),
        (1.0, None),
        (1.0, 0.8),
    }
    assert run_study(study, Path("study.parquet"), tmp_path, 1).equals(table)
    print_study(summaries(rows))
    assert "without:2,1" in capsys.readouterr().out
    with pytest.raises(ValueError, match="holds another paired study"):
        run_study(study | {"seed": 5}, Path("study.parquet"), tmp_path, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kept = [", "not a TOML file"),
        (STUDY.replace("lengths", "length"), "the key lengths is missing"),
        (STUDY + "speed = 1", "no key 'speed'"),
        (STUDY.replace("{top_k = 3}", "3"), "cuts: got 3"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=said):
        load_study(file)
