"""Shares of OPT_K on contexts of tiny models, against everything enumerated on the full tree."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nodebudget.experiments.optimality import OptimalityConfig, OptimalityResult
from nodebudget.experiments.optimality.local_tokens import with_local_tokens
from nodebudget.experiments.optimality.report import means
from nodebudget.experiments.optimality.run import SCHEMA, context_rows
from nodebudget.lp import Instance, solve_multi_path
from nodebudget.lp.drafting.tuples import drafted_tuples
from nodebudget.verifiers import VERIFIERS
from nodebudget.verifiers.audit import draft_tree
from nodebudget.verifiers.decoding import SamplingLaw
from nodebudget.verifiers.decoding.context_tree import TreeExpander
from test_context_tree import CONTEXT, read_alone
from tiny_checkpoints import save_pair
from tiny_pairs import alike, gpt2, llama

SAMPLING = SamplingLaw(1.5, top_k=3)
PATHS = (2,)


def expand(make: Any) -> tuple[Instance, Instance]:
    """The full instance, read string by string, and the tree."""
    pair = alike(make)
    found = TreeExpander(pair, SAMPLING).expand(CONTEXT, 2, 1000).instance
    assert found is not None
    return read_alone(pair, SAMPLING, 2), found


def enumerated(name: str, instance: Instance, paths: int) -> float:
    """E|Z| by going through everything that can be drafted on the full tree."""
    verifier = VERIFIERS[name]
    return sum(
        mass * float(verifier.law(draft_tree(instance, leaves)).expected_accepted)
        for leaves, mass in drafted_tuples(instance, paths if verifier.multipath else 1)
    )


@pytest.mark.parametrize("make", [llama, gpt2])
def test_values_are_those_of_the_full_tree(make: Any) -> None:
    full, found = expand(make)
    assert found.off_tree  # tokens with mass under one model only
    config = OptimalityConfig("none", PATHS, 2, samples=100)
    rows = context_rows(config, {"context": 0}, found)
    assert [(row["paths"], row["verifier"]) for row in rows] == [(k, v) for k in PATHS for v in VERIFIERS]
    for row in rows:
        best = solve_multi_path(full, row["paths"], method="enumerate", certify=False).value
        assert row["optimum"] == pytest.approx(best, abs=1e-9)
        value = enumerated(row["verifier"], full, row["paths"])
        assert row["share"] == pytest.approx(row["accepted_tokens"] / best)
        if row["how"] == "one pass":
            assert row["accepted_tokens"] == pytest.approx(value, abs=1e-9)
        else:
            assert row["verifier"] == "traversal"
            assert abs(row["accepted_tokens"] - value) <= 5 * row["standard_error"] + 1e-9
            assert row["standard_error"] < 0.03


def test_a_verifier_without_its_one_pass_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate itself: SpecTr from random drafts, against its value."""
    full, found = expand(llama)
    for name in ("spectr",):
        known = enumerated(name, full, 2)
        sampled = VERIFIERS[name].__class__(**{**vars(VERIFIERS[name]), "one_pass": None})
        monkeypatch.setitem(VERIFIERS, name, sampled)
        config = OptimalityConfig("none", (2,), 2, samples=400, verifiers=(name,))
        (row,) = context_rows(config, {"context": 0}, found)
        assert row["how"] == "sampled"
        assert 0 < row["standard_error"] < 0.03
        assert abs(row["accepted_tokens"] - known) <= 5 * row["standard_error"]


def test_what_is_off_the_tree_matters() -> None:
    """The comparison above can fail: without the draft's mass off the tree GBV is another one."""
    _, found = expand(llama)
    config = OptimalityConfig("none", (2,), 2, verifiers=("gbv",))
    without = Instance(found.tree, found.target, found.draft)
    right, wrong = (context_rows(config, {"context": 0}, each)[0] for each in (found, without))
    assert abs(right["accepted_tokens"] - wrong["accepted_tokens"]) > 1e-3


def test_local_tokens_keep_the_laws() -> None:
    _, found = expand(llama)
    local = with_local_tokens(found)
    assert local.vocab < found.vocab
    for node in range(found.tree.leaves.start):
        for law, short in (
            (found.target_law(node), local.target_law(node)),
            (found.draft_law(node), local.draft_law(node)),
        ):
            assert [mass for mass in short if mass] == [mass for mass in law if mass]


def test_drafted_paths_have_the_draft_s_law() -> None:
    _, found = expand(llama)
    local, count = with_local_tokens(found), 4000
    drawn = Counter(map(tuple, local.draw_paths(count, seed=0).tolist()))
    seen = 0
    for leaf in local.tree.leaves:
        mass = local.joint_draft[leaf]
        times = drawn[local.tree.path(leaf)]
        assert abs(times - count * mass) <= 5 * (count * mass * (1 - mass)) ** 0.5 + 1
        seen += times
    assert seen < count  # some leave the tree


def test_summary_by_hand() -> None:
    def row(context: int, verifier: str, accepted: float, optimum: float, **more: Any) -> dict[str, Any]:
        about = {"context": context, "depth": 2, "length": 2, "paths": 2, "status": "optimal in floats"}
        return {**about, "verifier": verifier, "accepted_tokens": accepted, "optimum": optimum, **more}

    rows = [
        row(0, "bv", 1.0, 2.0),
        row(0, "gbv", 0.5, 2.0),
        row(1, "bv", 0.5, 1.0),
        row(1, "gbv", 1.0, 1.0),
        row(2, "bv", 9.0, 9.0, status="bounded in floats, not certified"),
        row(2, "gbv", 0.0, 9.0, status="bounded in floats, not certified"),
        row(3, "bv", 1.0, 1.0, depth=1),
        row(3, "gbv", 1.0, 1.0, depth=1),
        row(4, "bv", 0.0, 0.0, depth=0),
        row(4, "gbv", 0.0, 0.0, depth=0),
    ]
    bv, gbv, short, _ = means(pa.Table.from_pylist(rows, schema=SCHEMA))
    assert (bv["contexts"], bv["unsolved"], bv["share"], bv["closed"], bv["below_bv"]) == (2, 1, 0.5, 0, 0)
    assert (gbv["accepted_tokens"], gbv["optimum"], gbv["share"], gbv["below_bv"]) == (0.75, 1.5, 0.5, 1)
    assert gbv["interval"] == (0.25, 1.0)
    assert (short["depth"], short["contexts"], short["share"], short["interval"]) == (1, 1, 1.0, None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with one tokenizer, and prompts."""
    folder = tmp_path_factory.mktemp("optimality")
    save_pair(folder, ("def f", "a = b", "(x)"))
    return folder


@pytest.fixture
def optimality(
    folder: Path, monkeypatch: pytest.MonkeyPatch, run_command: Callable[..., tuple[int, str, str]]
) -> Callable[..., tuple[int, str, str]]:
    """The command in this process: exit code, stdout, stderr."""
    monkeypatch.chdir(folder)
    return partial(run_command, "optimality")


LOCAL = ("--target", "target", "--draft", "draft", "--prompts", "prompts.jsonl", "--contexts", "3")
SMALL = (*LOCAL, "--paths", "1,2", "--length", "2", "--samples", "20", "--continued", "4")


def test_json_and_file(optimality: Callable[..., tuple[int, str, str]], folder: Path) -> None:
    command = (*SMALL, "--top-k", "6", "--verifiers", "bv,gbv,traversal")
    code, out, err = optimality(*command, "--out", "rows.parquet", "--json")
    assert code == 0, err
    report = json.loads(out)
    assert [(row["paths"], row["verifier"]) for row in report["results"]] == [
        (k, name) for k in (1, 2) for name in ("bv", "gbv", "traversal")
    ]
    assert all(row["contexts"] == 3 and row["depth"] == 2 for row in report["results"])
    assert report["results"][0]["share"] == pytest.approx(1)  # BV attains OPT_1
    assert (report["shortened"], report["left_out"]) == (0, 0)
    table = pq.read_table(folder / "rows.parquet")
    assert table.num_rows == 3 * 2 * 3
    document = json.loads(table.schema.metadata[b"nodebudget"])
    assert document["config"]["top_k"] == 6
    assert {"torch", "transformers"} <= set(document["versions"])
    assert json.loads(optimality(*command, "--json")[1])["results"] == report["results"]  # the same seeds


def test_a_run_that_broke_off_goes_on(
    optimality: Callable[..., tuple[int, str, str]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after two contexts: they are kept and not computed again, and the rows are those of one run."""
    command = (*SMALL, "--top-k", "6", "--verifiers", "bv,traversal")
    assert optimality(*command, "--out", "whole.parquet")[0] == 0
    computed: list[int] = []
    left = 2

    def count(config: OptimalityConfig, about: dict[str, Any], instance: Instance | None) -> Any:
        if len(computed) == left:
            raise KeyboardInterrupt
        computed.append(about["context"])
        return context_rows(config, about, instance)

    monkeypatch.setattr("nodebudget.experiments.optimality.run.context_rows", count)
    code, _, err = optimality(*command, "--out", "broken.parquet")
    assert (code, computed) == (130, [0, 1])
    assert err.splitlines()[-1] == "nodebudget: interrupted; the same command goes on from here"
    assert not (folder / "broken.parquet").exists()
    assert optimality(*command, "--seed", "1", "--out", "broken.parquet")[0] == 2  # other contexts
    left = 3
    code, out, _ = optimality(*command, "--out", "broken.parquet", "--json")
    assert (code, computed) == (0, [0, 1, 2])
    assert (folder / "broken.parquet").read_bytes() == (folder / "whole.parquet").read_bytes()
    assert not (folder / "broken.parquet.parts").exists()
    assert optimality(*command, "--out", "broken.parquet", "--json")[1] == out  # read, not computed
    assert computed == [0, 1, 2]
    code, _, err = optimality(*command, "--seed", "1", "--out", "broken.parquet")
    assert code == 2
    assert "holds another optimality; expected a new name" in err


def test_cuts_are_reported(optimality: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = optimality(*SMALL, "--verifiers", "bv,gbv", "--nodes", "40")  # all 34 tokens have mass
    assert code == 0
    assert "cut: 3 contexts have shorter trees, so that they fit into 40 nodes" in out
    assert "L = 2, K" not in out
    assert "L = 1, K = 2" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*SMALL, "--nodes", "10"), "--nodes: got 10, too few for the first level of any context"),
        ((*SMALL, "--nodes", "1"), "--nodes: got 1; expected from 2 to"),
        ((*SMALL, "--paths", "1,,2"), "--paths: got '1,,2'; expected integers separated by commas"),
        ((*SMALL, "--paths", "0"), "paths: got 0; expected an integer of at least 1"),
        ((*SMALL, "--paths", "2,2"), "--paths: got 2,2; expected at least one, each of them once"),
        ((*SMALL, "--length", "0"), "--length: got 0; expected at least 1"),
        ((*SMALL, "--contexts", "4"), "fewer than the 4 asked for"),
        ((*SMALL, "--verifiers", "bw"), "verifier: got 'bw'"),
        ((*SMALL, "--top-p", "0"), "top_p must be above 0"),
        ((*SMALL, "--out", "nowhere/rows.parquet"), "--out: 'nowhere/rows.parquet' is not in a folder"),
        ((*SMALL, "--continued", "200"), "prompt 'prompts/0': prompt: "),
        (("--pair", "no/such", *SMALL[4:]), "no model pair 'no/such'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    optimality: Callable[..., tuple[int, str, str]], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = optimality(*arguments)
    assert code == 2
    assert out == ""
    (line,) = (line for line in err.splitlines() if line.startswith("nodebudget: "))
    assert message in line


def test_a_result_is_one_line_and_a_data_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"context": context, "paths": 2, "verifier": name} for context in (0, 1) for name in ("bv", "gbv")
    ]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    result = OptimalityResult(OptimalityConfig("none", (2,), 3), "a pair", (), table)
    assert repr(result) == "OptimalityResult('a pair', 2 contexts, L=3, K=2, 4 rows)"
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: columns))
    columns = result.to_frame()
    assert list(columns) == SCHEMA.names
    assert columns["verifier"] == ["bv", "gbv", "bv", "gbv"]
