"""What a result file says of the code that made it."""

from __future__ import annotations

from pathlib import Path

import pytest
from nodebudget.experiments.storage import results

ROOT = Path(__file__).parents[3]


def test_the_digest_is_of_all_the_code_that_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = results._folders()
    assert [folder.resolve() for folder in folders] == [
        ROOT / name
        for name in ("lp", "verifiers", "experiments/sweep", "experiments/contexts", "experiments/optimality")
    ]
    whole = results._source_digest()
    for left_out in folders:  # every folder counts
        monkeypatch.setattr(
            results, "_folders", lambda left_out=left_out: [f for f in folders if f != left_out]
        )
        assert results._source_digest() != whole


def test_an_edited_source_is_told_from_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    class Done:
        stdout = "abc"

    def run(command: list[str], *, cwd: Path, **_: object) -> Done:
        asked.append(tuple(command))
        for path in command[command.index("--") + 1 :] if "--" in command else []:
            assert (cwd / path).is_dir(), path
        return Done()

    monkeypatch.setattr(results.subprocess, "run", run)
    assert results._commit() == "abc+changes"
    assert asked[-1][-3:] == ("../lp", "../verifiers", ".")
