"""Kept contexts: what is evaluated on them is what the models give, and a broken run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from nodebudget.experiments.contexts import ContextsConfig, KeptContexts, collect_contexts, read_contexts
from nodebudget.experiments.contexts.collect import ContextKeeper
from nodebudget.verifiers.decoding import SamplingLaw
from test_context_tree import CONTEXT, read_alone
from tiny_checkpoints import save_pair
from tiny_pairs import alike, gpt2, llama

Run = Callable[..., tuple[int, str, str]]
PAIR = ("--target", "target", "--draft", "draft", "--prompts", "prompts.jsonl")
KEPT = (*PAIR, "--contexts", "3", "--length", "2", "--top-k", "4", "--continued", "0", "--keep", "20")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with one tokenizer, and prompts."""
    folder = tmp_path_factory.mktemp("contexts")
    save_pair(folder, ("def f", "a = b", "(x)"))
    return folder


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, run_command: Run) -> Run:
    """A command in this process, in the folder of the models."""
    monkeypatch.chdir(folder)
    return run_command


def as_numbers(results: list[dict[str, Any]]) -> list[list[float]]:
    return [[row["accepted_tokens"], row["optimum"], row["contexts"]] for row in results]


@pytest.mark.parametrize("make", [llama, gpt2])
@pytest.mark.parametrize("masks", [(True, True), (False, False)])
def test_kept_rows_are_those_of_strings_read_alone(make: Any, masks: tuple[bool, bool]) -> None:
    pair = alike(make)
    sampling = SamplingLaw(0.8, top_k=3)
    full = read_alone(pair, sampling, 3)
    keeper = ContextKeeper(ContextsConfig("none", 3, top_k=3, keep=5), pair)
    keeper.models.tree_mask = masks
    seen: list[int] = []
    kept = keeper.keep(0, "alone", CONTEXT, 0, seen.append)
    assert sum(seen) == 2 * len(kept.nodes) == 2 * (1 + 3 + 9)
    for length in (3, 2):
        found = kept.instance(sampling, length)
        for node in range(found.tree.leaves.start):
            place = full.tree.find(found.tree.path(node))
            assert found.target_law(node) == pytest.approx(full.target_law(place), abs=1e-6)
            assert found.draft_law(node) == pytest.approx(full.draft_law(place), abs=1e-6)
    backwards = keeper.keep(0, "another", CONTEXT[::-1], 0, seen.append).instance(sampling)
    assert abs(backwards.target_law(0) - full.target_law(0)).max() > 0.01  # the comparison can fail


def test_optimality_on_kept_contexts_is_that_of_the_models(run: Run) -> None:
    assert run("contexts", *KEPT, "--out", "kept.parquet")[0] == 0
    same = (
        "--length",
        "2",
        "--top-k",
        "4",
        "--temperature",
        "0.7",
        "--verifiers",
        "bv,gbv,recursive-rejection",
    )
    for drafted in (("--paths", "1,2"), ("--drafting", "without:2,1")):
        code, out, err = run(
            "optimality", "--kept", "kept.parquet", *same, *drafted, "--workers", "2", "--json"
        )
        assert code == 0, err
        direct = run("optimality", *PAIR, "--contexts", "3", "--continued", "0", *same, *drafted, "--json")[1]
        for mine, wanted in zip(
            *map(as_numbers, (json.loads(out)["results"], json.loads(direct)["results"])), strict=True
        ):
            assert mine == pytest.approx(wanted, abs=1e-9)
    shorter = run(
        "optimality", "--kept", "kept.parquet", "--paths", "1", "--length", "1", "--top-k", "2", "--json"
    )
    assert json.loads(shorter[1])["results"][0]["depth"] == 1


def test_a_broken_run_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    config = ContextsConfig(
        "prompts.jsonl", 2, top_k=2, target="target", draft="draft", contexts=3, continued=3
    )
    whole = collect_contexts(config, Path("whole.parquet"))
    keep, done = ContextKeeper.keep, []

    def twice(self: ContextKeeper, number: int, *rest: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(number)
        return keep(self, number, *rest)

    monkeypatch.setattr(ContextKeeper, "keep", twice)
    with pytest.raises(KeyboardInterrupt):
        collect_contexts(config, Path("broken.parquet"))
    monkeypatch.setattr(ContextKeeper, "keep", keep)
    collect_contexts(config, Path("broken.parquet"))
    assert Path("broken.parquet").read_bytes() == Path("whole.parquet").read_bytes()
    read = read_contexts(Path("broken.parquet"))
    assert (len(read), read.digest) == (3, whole.digest)
    assert [each.prompt for each in read[:2]] == ["prompts/0", "prompts/1"]
    assert read[-1].ids == whole[2].ids


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("contexts", *PAIR, "--length", "2", "--out", "new.csv"),
            "--out: got 'new.csv'; expected a file name ending",
        ),
        (("contexts", *PAIR, "--length", "0", "--out", "n.parquet"), "--length: got 0; expected at least 1"),
        (("contexts", *PAIR, "--length", "9", "--out", "n.parquet"), "more than 100000 rows of each model"),
        (("contexts", *KEPT, "--keep", "4", "--out", "n.parquet"), "--keep: got 4; expected at least 5"),
        (
            ("contexts", *KEPT, "--temperatures", "1,0", "--out", "n.parquet"),
            "--temperatures: got 1,0; expected finite",
        ),
        (("optimality", "--length", "2", "--paths", "1"), "missing option '--prompts' or '--kept'"),
        (
            ("optimality", "--kept", "no.parquet", "--length", "2", "--paths", "1"),
            "'no.parquet' is not there",
        ),
        (
            ("optimality", "--kept", "kept.parquet", "--pair", "x", "--length", "2", "--paths", "1"),
            "neither of them",
        ),
        (
            ("optimality", "--kept", "kept.parquet", "--length", "3", "--paths", "1", "--top-k", "2"),
            "length: got 3",
        ),
        (
            ("optimality", "--kept", "kept.parquet", "--length", "2", "--paths", "1", "--top-k", "6"),
            "was not kept",
        ),
        (
            ("optimality", "--kept", "kept.parquet", "--length", "2", "--paths", "1"),
            "expected a top_k or a top_p",
        ),
        (
            ("optimality", "--kept", "kept.parquet", "--length", "2", "--paths", "1", "--contexts", "9"),
            "at most 3",
        ),
        (("optimality", "--kept", "prompts.jsonl", "--length", "2", "--paths", "1"), "is not a result file"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, arguments: tuple[str, ...], message: str) -> None:
    if not Path("kept.parquet").exists():
        assert run("contexts", *KEPT, "--out", "kept.parquet")[0] == 0
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    (line,) = (line for line in err.splitlines() if line.startswith("nodebudget: "))
    assert message in line


def test_another_kind_of_file_is_refused(run: Run, folder: Path) -> None:
    run("contexts", *KEPT, "--out", "kept.parquet")
    rows = ("--paths", "1", "--length", "1", "--top-k", "2", "--verifiers", "bv", "--out", "rows.parquet")
    assert run("optimality", "--kept", "kept.parquet", *rows)[0] == 0
    with pytest.raises(ValueError, match="holds 'optimality', no contexts"):
        read_contexts(folder / "rows.parquet")
    assert isinstance(read_contexts(folder / "kept.parquet"), KeptContexts)


def test_help_ends_with_an_example(run_command: Run) -> None:
    code, out, _ = partial(run_command, "contexts")("--help")
    assert code == 0
    assert "nodebudget contexts --pair smollm2/without-10-13" in out
