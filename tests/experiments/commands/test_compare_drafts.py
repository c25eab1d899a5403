"""The comparison of drafts, on a tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nodebudget.experiments.studies.compare_drafts import compare_drafts, estimated_speed, main
from nodebudget.verifiers.decoding.self_samples import SampleSettings
from tiny_checkpoints import LETTERS, letter_tokenizer, save_checkpoint, tiny_llama


def test_speed_by_hand() -> None:
    # Half of the tokens accepted: 1 + 1/2 + 1/4 tokens for two passes at 1/4 and one at 5/4.
    assert estimated_speed(0.5, 2, 0.25, 1.25) == 1.75 / 1.75
    assert estimated_speed(0.0, 1, 0.5, 1.0) == 1 / 1.5
    assert estimated_speed(1.0, 3, 0.0, 1.0) == 4


def test_the_target_itself_overlaps_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODEBUDGET_CACHE", str(tmp_path / "cache"))
    target = save_checkpoint(tmp_path / "model", tiny_llama(len(LETTERS) + 2), letter_tokenizer())
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("\n".join(json.dumps({"prompt": letter * 3}) for letter in "abcd"), encoding="utf-8")
    settings = SampleSettings(target, str(prompts), held_out=2, new_tokens=12, batch=2)
    whole, part = compare_drafts(target, ["first:4", "first:1"], settings)
    assert whole.overlap > 0.99 > part.overlap
    assert (whole.draft, part.draft) == ("first:4", "first:1")
    assert whole.speed > 0


def test_bad_input_is_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--target", "/none", "first:1"])
    assert stopped.value.code == 2
    assert "no such folder" in capsys.readouterr().err.splitlines()[-1]
