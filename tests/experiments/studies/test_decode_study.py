"""Studies of decoding on tiny models: every run once, the rows of `nodebudget decode`, and going on after a break."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers", reason="needs the extra llm")

from nodebudget.experiments.pairs.decode import DecodeConfig, run_decode
from nodebudget.experiments.storage.results import read_document, read_table
from nodebudget.experiments.studies import decode_study
from nodebudget.experiments.studies.cost_model import PHASES, check
from nodebudget.experiments.studies.decode_study import load_study, run_study
from tiny_checkpoints import save_pair

RUNS = [(t, length, k) for t in (0.5, 1.0) for length in (2, 3) for k in (1, 2)]
TIMES = ("tokens_per_second", "verify_share", "seconds")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with one tokenizer, prompts, and the file of a study."""
    folder = tmp_path_factory.mktemp("study")
    save_pair(folder, ("def f", "a = b"))
    (folder / "study.toml").write_text(
        'target = "target"\ndraft = "draft"\nprompts = "prompts.jsonl"\nmax_new_tokens = 6\n'
        'verifiers = ["bv", "traversal"]\npaths = [1, 2]\nlengths = [2, 3]\ntemperatures = [0.5, 1.0]\n'
    )
    return folder


@pytest.fixture
def study(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(folder)
    return load_study(Path("study.toml"))


def measured(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its times."""
    return {name: value for name, value in row.items() if not name.endswith(TIMES)}


def test_the_rows_are_those_of_decode(study: dict[str, Any], tmp_path: Path) -> None:
    rows = run_study(study, tmp_path / "rows.parquet").to_pylist()
    settings = [(row["temperature"], row["length"], row["paths"]) for row in rows]
    assert list(dict.fromkeys(settings)) == RUNS
    one, more = ["autoregressive", "bv", "traversal"], ["autoregressive", "traversal"]  # bv drafts one path
    assert [row["verifier"] for row in rows] == [*one, *more] * (len(RUNS) // 2)
    document = read_document(tmp_path / "rows.parquet")
    assert (document["kind"], document["config"]) == ("decode study", study)
    assert {"torch", "transformers"} <= set(document["versions"])
    config = DecodeConfig(
        ("bv", "traversal"),
        1,
        3,
        "prompts.jsonl",
        target="target",
        draft="draft",
        max_new_tokens=6,
        temperature=0.5,
    )
    for summary, row in zip(run_decode(config).summaries(), rows[5:8], strict=True):
        assert (row["temperature"], row["length"], row["paths"]) == (0.5, 3, 1)
        for name in (
            "verifier",
            "prompts",
            "blocks",
            "tokens",
            "accepted",
            "expected_accepted",
            "nodes",
            "flops",
        ):
            assert row[name] == getattr(summary, name)
        assert (row["expected_interval_low"], row["expected_interval_high"]) == summary.expected_interval
    assert measured(rows[2]) | {"paths": 2} != measured(rows[4])  # another K is another run


def test_the_cost_model_on_measured_times(study: dict[str, Any], tmp_path: Path) -> None:
    """At the ends of the line the predicted time of a block is what was measured, phase by phase."""
    rows = run_study(study, tmp_path / "rows.parquet").to_pylist()
    chosen = [row for row in rows if (row["temperature"], row["length"]) == (1.0, 3)]
    found = check(chosen)
    assert [(each.verifier, each.paths) for each in found] == [("bv", 1), ("traversal", 1), ("traversal", 2)]
    for each in found:
        (row,) = (r for r in chosen if (r["verifier"], r["paths"]) == (each.verifier, each.paths))
        seconds = sum(row[f"{phase}_seconds"] for phase in PHASES)
        assert each.block_seconds * row["blocks"] == pytest.approx(seconds)
        assert seconds <= row["total_seconds"]
        assert each.tokens_per_second == pytest.approx(
            row["expected_block_efficiency"] * row["blocks"] / seconds
        )


def test_a_study_that_broke_off_goes_on(
    study: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done is kept, times and all, and not run again."""
    file, done = tmp_path / "rows.parquet", []
    real, most = decode_study.run_rows, 3

    def run(config: DecodeConfig) -> list[dict[str, Any]]:
        if len(done) == most:
            raise KeyboardInterrupt
        done.append((config.temperature, config.length, config.paths))
        return real(config)

    monkeypatch.setattr(decode_study, "run_rows", run)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, file)
    assert (done, file.exists()) == (RUNS[:3], False)
    parts = sorted(file.with_name("rows.parquet.parts").glob("0*.parquet"))
    kept = [row for part in parts for row in read_table(part).to_pylist()]
    assert len(kept) == 3 + 2 + 3
    most = len(RUNS)
    rows = run_study(study, file).to_pylist()
    assert done == RUNS
    assert rows[:8] == kept
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]
    assert run_study(study, file).to_pylist() == rows  # read, not run
    assert done == RUNS
    with pytest.raises(ValueError, match="holds another decode study; expected a new name"):
        run_study(study | {"paths": [1]}, file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("paths = ", "not a TOML file"),
        (
            'prompts = "a"\nverifiers = ["bv"]\npaths = [1]\nlengths = [2]\n',
            "the key temperatures is missing",
        ),
        (
            'prompts = "a"\nverifiers = ["bv"]\npaths = 1\nlengths = [2]\ntemperatures = [1.0]\n',
            "paths: got 1; expected a list that is not empty",
        ),
        (
            'prompts = "a"\nverifiers = ["bv"]\npaths = [1]\nlengths = [2]\ntemperatures = [1.0]\nK = 2\n',
            "no key 'K'; expected some of count, device",
        ),
    ],
)
def test_bad_files_are_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ValueError, match=said):
        load_study(tmp_path / "study.toml")


def test_a_verifier_that_fails_ends_a_study(
    study: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stored run has all verifiers; the runs before it are kept, and the study goes on from there."""
    real, seen = decode_study.run_decode, []

    def failing(config: DecodeConfig) -> Any:
        seen.append(config)
        found = real(config)
        return replace(found, failed={"traversal": "prompt 'p': no reason"}) if len(seen) == 3 else found

    monkeypatch.setattr(decode_study, "run_decode", failing)
    with pytest.raises(ValueError, match="verifier 'traversal' failed on prompt 'p': no reason"):
        run_study(study, tmp_path / "study.parquet")
    table = run_study(study, tmp_path / "study.parquet")
    assert len(seen) == len(RUNS) + 1
    assert table.num_rows == sum(3 if paths == 1 else 2 for *_, paths in RUNS)
