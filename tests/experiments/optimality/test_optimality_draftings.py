"""Optima on contexts of a pair for other drafts than i.i.d. paths."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nodebudget.experiments.optimality import OptimalityConfig
from nodebudget.experiments.optimality.run import context_rows
from nodebudget.experiments.sweep.drafted import drafted_columns
from nodebudget.lp import Instance, solve_multi_path
from nodebudget.lp.drafting import Likeliest, WithoutReplacement, best_tree
from nodebudget.verifiers.decoding import SamplingLaw
from nodebudget.verifiers.decoding.context_tree import TreeExpander
from test_context_tree import CONTEXT, read_alone
from tiny_checkpoints import save_pair
from tiny_pairs import alike, llama

Run = Callable[..., tuple[int, str, str]]
SAMPLING = SamplingLaw(1.5, top_k=3)
DRAFTINGS = ("without:2,1", "top:2,2", "best-draft:3", "iid:2")


def expand() -> tuple[Instance, Instance]:
    """The full instance, read string by string, and the sparse one."""
    pair = alike(llama)
    found = TreeExpander(pair, SAMPLING).expand(CONTEXT, 2, 1000, drafted=True).instance
    assert found is not None
    return read_alone(pair, SAMPLING, 2), found


def test_values_are_those_of_the_full_tree() -> None:
    full, found = expand()
    assert found.off_tree
    config = OptimalityConfig("none", (), 2, verifiers=("nss", "bv"), drafting=DRAFTINGS)
    rows = context_rows(config, {"context": 0}, found)
    assert [(row["drafting"], row["verifier"]) for row in rows] == [
        *((text, "nss") for text in DRAFTINGS), ("iid:2", "bv")
    ]  # fmt: skip
    wanted = (WithoutReplacement(2, 1), Likeliest(2, 2), best_tree(full, 3, by="draft"), 2)
    for row, drafting in zip(rows, wanted, strict=False):
        assert row["optimum"] == pytest.approx(
            solve_multi_path(full, drafting, certify=False).value, abs=1e-9
        )
    without, top, best, iid = rows[:4]
    assert (without["nodes_most"], top["nodes_most"], best["nodes_most"], iid["nodes_most"]) == (4, 6, 3, 4)
    assert (without["nodes_expected"], best["nodes_expected"]) == (pytest.approx(4), 3)
    hits = 1 - (1 - full.joint_draft[1:]) ** 2  # equal nodes are read once
    assert iid["nodes_expected"] == pytest.approx(float(hits.sum()))
    assert (without["paths"], iid["paths"]) == (None, 2)
    for row in (top, best):  # 13.3: NSS attains the optimum of a fixed tree
        assert row["accepted_tokens"] == pytest.approx(row["optimum"], abs=1e-9)
    short = OptimalityConfig("none", (), 3, verifiers=("nss",), drafting=("without:2,1,1",))
    (row,) = context_rows(short, {"context": 0}, found)  # the tree was made shorter
    assert "expected one for each of the depth, 2" in row["status"]


def test_without_the_nodes_that_the_target_cannot_say_it_is_not_known_what_is_drafted() -> None:
    full, found = expand()
    sparse = TreeExpander(alike(llama), SAMPLING).expand(CONTEXT, 2, 1000).instance
    assert sparse is not None
    assert len(sparse.tree) < len(found.tree)
    columns = drafted_columns("without:2,1", sparse, WithoutReplacement(2, 1))
    assert (columns["nodes_expected"], columns["nodes_most"]) == (None, 2 + 2)
    by_draft = [best_tree(each, 4, by="draft") for each in (full, found, sparse)]
    assert by_draft[0] == by_draft[1] != by_draft[2]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"paths": (2,), "drafting": ("iid:2",)}, "--paths and --drafting both say what is drafted"),
        ({"drafting": ("without:2",)}, "drafting without:2: it has counts for 1 lengths"),
        ({"drafting": ("iid:2", "iid:2")}, "--drafting: got iid:2,iid:2; expected at least one, each of them once"),
        ({"drafting": ("without:2,1",), "verifiers": ("gbv",)}, "none of gbv is defined for without:2,1; expected nss"),
        ({"paths": ()}, "--paths: got none; expected at least one"),
    ],
)  # fmt: skip
def test_refusals(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OptimalityConfig(**{"prompts": "none", "paths": (), "length": 2} | keys)


def test_a_fixed_tree_is_of_one_context(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text('["0"]')
    with pytest.raises(ValueError, match="a fixed tree has the tokens of one context"):
        OptimalityConfig("none", (), 2, drafting=(f"tree:{tmp_path / 'tree.json'}",))


def test_the_command(tmp_path: Path, run_command: Run) -> None:
    save_pair(tmp_path, ("def f", "a = b"))
    shared = (
        *("optimality", "--target", str(tmp_path / "target"), "--draft", str(tmp_path / "draft")),
        *("--prompts", str(tmp_path / "prompts.jsonl"), "--length", "2", "--top-k", "6", "--contexts", "1"),
    )
    two = ("--drafting", "without:2,1", "--drafting", "iid:2")
    code, out, err = run_command(*shared, *two, "--verifiers", "nss", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["drafting"] == ["without:2,1", "iid:2"]
    without, iid = found["results"]
    assert (without["drafting"], without["paths"], iid["paths"]) == ("without:2,1", None, 2)
    assert without["optimum"] >= iid["optimum"] - 1e-9 > 0
    code, out, _ = run_command(*shared, "--drafting", "without:2,1")
    assert "L = 2, without:2,1: mean OPT_K" in out
    for given in ((), ("--paths", "2", "--drafting", "iid:2")):
        code, out, err = run_command(*shared, *given)
        assert (code, out) == (2, "")
        assert "--drafting" in err
