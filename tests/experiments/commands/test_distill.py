"""`nodebudget distill` as a command, on a folder with a tiny model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_checkpoints import LETTERS, letter_tokenizer, save_checkpoint, tiny_llama

COMMAND = [str(Path(sys.executable).parent / "nodebudget"), "distill"]
SIZES = {"held-out": 2, "new-tokens": 20, "batch": 8, "tokens": 600, "epochs": 15, "learning-rate": 0.01}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("distill")
    save_checkpoint(folder / "model", tiny_llama(len(LETTERS) + 2), letter_tokenizer())
    lines = [json.dumps({"prompt": letter * 3}) for letter in "abcdefgh"]
    (folder / "prompts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def distill(place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NODEBUDGET_CACHE": str(place / "cache"), "HF_HUB_OFFLINE": "1"}
    command = [*COMMAND, *arguments(*options)]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)


def arguments(*options: str) -> list[str]:
    given = ["--target", "model", "--prompts", "prompts.jsonl", "--layers", "0,3"]
    given += [word for name, value in SIZES.items() for word in (f"--{name}", str(value))] + [*options]
    return given


def test_a_student_is_made_once_and_can_be_used(place: Path) -> None:
    from nodebudget.verifiers.decoding import load_pair

    done = distill(place, "--out", "student", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["overlap_after"] > report["overlap_before"]
    assert report["trained_tokens"] >= 15 * 600
    assert report["training"]["layers"] == [0, 3]
    assert sorted(path.name for path in place.iterdir()) == ["cache", "model", "prompts.jsonl", "student"]
    pair = load_pair(target=str(place / "model"), draft=str(place / "student"), device="cpu")
    assert pair.draft.config.num_hidden_layers == 2

    again = distill(place, "--out", "student", "--json")
    assert json.loads(again.stdout) == report
    assert "sampling" not in again.stderr
    text = distill(place, "--out", "student")
    assert f"{report['overlap_before']:.4f} before, {report['overlap_after']:.4f} after" in text.stdout

    other = distill(place, "--out", "student", "--seed", "1")
    assert (other.returncode, other.stdout) == (2, "")
    assert "student of other settings (text, training)" in other.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--out: name a folder for the student of model"),
        (["--out", "prompts.jsonl"], "is there already"),
        (["--out", "s", "--layers", "0,9"], "there is no layer 9"),
        (["--out", "s", "--layers", "0-"], "no layer or span"),
        (["--out", "s", "--epochs", "0"], "epochs must be at least 1"),
        (["--out", "s", "--tokens", "0"], "tokens must be at least 1"),
        (["--out", "s", "--prompts", "none"], "no prompts 'none'"),
        (["--out", "s", "--target", "/none"], "no such folder"),
        (["--out", "s", "--device", "nonsense"], "device 'nonsense' cannot be used"),
        (["--out", "s", "--epochs", "x"], "--epochs"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    place: Path,
    options: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from nodebudget.experiments.cli import main

    monkeypatch.chdir(place)
    monkeypatch.setenv("NODEBUDGET_CACHE", str(place / "cache"))
    monkeypatch.setattr("sys.argv", [*COMMAND, *arguments(*options)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err.splitlines()[-1]
    assert not (place / "s").exists()
