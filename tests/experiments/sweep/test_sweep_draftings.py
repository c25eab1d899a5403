"""Sweeps over draftings: their rows against the library, what is refused, and tables of earlier versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from nodebudget.experiments.storage.results import METADATA, read_document
from nodebudget.experiments.sweep import SweepConfig, run_sweep
from nodebudget.experiments.sweep.config_file import parse_config
from nodebudget.experiments.sweep.drafted import drafting_of, text_of
from nodebudget.experiments.sweep.report import means
from nodebudget.experiments.sweep.values import evaluate_tree
from nodebudget.lp import random_instance, solve_multi_path
from nodebudget.lp.drafting import GivenTree, WithoutReplacement, best_tree
from nodebudget.verifiers import VERIFIERS
from nodebudget.verifiers.registry import as_verifier

Run = Callable[..., tuple[int, str, str]]
SMALLEST: dict[str, Any] = {
    "families": ["flat"],
    "vocab": [3],
    "depth": [2],
    "seeds": 2,
    "verifiers": ["nss", "bv"],
}
DRAFTINGS = ("iid:2", "with:2,1", "without:2,2", "top:2,1", "tree:0 1 0,2", "best-target:3", "best-draft:3")


def test_rows_are_what_the_library_says(tmp_path: Path) -> None:
    config = SweepConfig(
        ("flat",), (3,), (2,), (), (0, 1), method="exact", verifiers=("nss", "bv"), drafting=DRAFTINGS
    )
    rows = run_sweep(config, tmp_path / "drafts.parquet").table.to_pylist()
    assert len(rows) == 2 * (len(DRAFTINGS) + 1)  # bv is defined for i.i.d. paths only
    for row in rows:
        instance = random_instance("flat", 3, 2, row["seed"])
        drafting = drafting_of(row["drafting"], instance)
        optimum = solve_multi_path(instance, drafting)
        assert row["certified"]
        assert Fraction(row["optimum_exact"]) == optimum.value
        assert row["paths"] == (2 if row["drafting"] == "iid:2" else None)
        every = list(drafting.trees(instance))
        assert row["nodes_most"] == max(len(nodes) - 1 for nodes, _ in every)
        assert row["nodes_expected"] == float(sum((len(nodes) - 1) * chance for nodes, chance in every))
        assert row["how"] == "one pass"
        if row["verifier"] == "nss":  # 13.4: the target's own token, kept while it is drafted
            target = instance.joint_target
            kept = sum(chance * sum(target[z] for z in nodes[1:]) for nodes, chance in every)
            assert Fraction(row["accepted_tokens_exact"]) == kept
        assert row["verifier"] == "nss" or row["drafting"] == "iid:2"
    trees = {row["drafting"]: row for row in rows if row["verifier"] == "nss"}
    for text in ("tree:0 1 0,2", "best-target:3", "top:2,1"):  # 13.3: NSS attains the optimum of a fixed tree
        assert trees[text]["accepted_tokens_exact"] == trees[text]["optimum_exact"]
    assert trees["without:2,2"]["share"] < 1


def test_a_verifier_without_a_pass_is_enumerated_or_sampled() -> None:
    """The law of NSS as a user's own: the same value, which the closed form knows."""
    instance, drafting = random_instance("flat", 3, 2, 4), WithoutReplacement(2, 1)
    own = as_verifier(VERIFIERS["nss"].law)
    seed = {"samples": 400, "seed": [1]}
    known = evaluate_tree(VERIFIERS["nss"], instance, drafting, enumerate_up_to=0, **seed)
    every = evaluate_tree(own, instance, drafting, enumerate_up_to=1000, **seed)
    drawn = evaluate_tree(own, instance, drafting, enumerate_up_to=0, **seed)
    assert (known.how, every.how, drawn.how) == ("one pass", "enumerated", "sampled")
    assert (every.accepted, every.tuples) == (known.accepted, 6 * 9)
    assert drawn.standard_error is not None
    assert 0 < abs(drawn.accepted - float(known.accepted)) < 5 * drawn.standard_error


def test_text_forms(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text('["1", "0", "0,2"]')
    text = text_of(f"tree:{tmp_path / 'tree.json'}")
    instance = random_instance("flat", 3, 2, 0)
    assert text == "tree:0 1 0,2"
    assert drafting_of(text, instance) == GivenTree([(0,), (1,), (0, 2)])
    assert text_of("best-draft:04") == "best-draft:4"
    assert drafting_of("best-draft:4", instance) == best_tree(instance, 4, by="draft")
    assert drafting_of(text_of("without:2,1"), instance) == WithoutReplacement(2, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"paths": [2], "drafting": ["iid:2"]}, "paths and drafting both say what is drafted; expected one of them"),
        ({}, "paths: missing; expected a list of numbers of drafted paths"),
        ({"drafting": "iid:2"}, "drafting: got 'iid:2'; expected a list of draftings"),
        ({"drafting": [2]}, "drafting: got 2 in the list; expected a list of draftings"),
        ({"drafting": ["iid"]}, "drafting: got 'iid'; expected iid:4, with:2,2"),
        ({"drafting": ["best-draft:0"]}, "drafting: got 'best-draft:0'; expected a number of nodes from 1 on"),
        ({"drafting": ["iid:2", "iid:02"]}, "drafting: 'iid:2' is listed twice"),
        ({"drafting": ["without:2"]}, "drafting without:2: it has counts for 1 lengths; expected one for each"),
        ({"drafting": ["delayed:2,2"]}, "drafting delayed:2,2: the trunk is as long as the depth, 2"),
        ({"drafting": ["tree:nowhere.json"]}, "nowhere.json"),
        ({"drafting": ["iid:2", "top:1,1"], "verifiers": ["bv", "gbv"]},
         "verifiers: none of bv, gbv is defined for top:1,1; expected nss among them"),
    ],
)  # fmt: skip
def test_refusals(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        parse_config({**SMALLEST, **change})
    assert len(str(error.value).splitlines()) == 1


def test_a_tree_off_the_instances_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text('["0", "0,5"]')
    with pytest.raises(ValueError, match="the node '0,5' is not on a tree of depth 2 over 3 tokens"):
        parse_config({**SMALLEST, "drafting": [f"tree:{tmp_path / 'tree.json'}"]})


def test_the_command(tmp_path: Path, run_command: Run) -> None:
    (tmp_path / "drafts.toml").write_text(
        'families = ["flat"]\nvocab = [2]\ndepth = [1]\nseeds = 3\ndrafting = ["iid:2", "without:2"]\n'
        'verifiers = ["nss"]\n'
    )
    file = str(tmp_path / "drafts.parquet")
    code, out, err = run_command("sweep", str(tmp_path / "drafts.toml"), "--out", file)
    assert (code, err.count("Traceback")) == (0, 0)
    assert "drafting" in out
    assert "without:2" in out
    code, out, _ = run_command("sweep", str(tmp_path / "drafts.toml"), "--out", file, "--json")
    groups = {group["drafting"]: group for group in json.loads(out)["groups"]}
    assert groups["without:2"]["optimum"] == pytest.approx(1)  # both tokens are drafted
    assert groups["iid:2"]["paths"] == 2
    assert groups["without:2"]["paths"] is None
    assert groups["iid:2"]["optimum"] < 1


def test_tables_of_earlier_versions_are_read(tmp_path: Path) -> None:
    """Without the columns about draftings, and with a configuration that does not know them."""
    config = SweepConfig(("flat",), (2,), (1,), (1, 2), (0, 1), verifiers=("bv",))
    assert "drafting" not in config.document()
    file = tmp_path / "old.parquet"
    table = run_sweep(config, file).table
    old = table.drop_columns(["drafting", "nodes_expected", "nodes_most"])
    document = json.dumps(read_document(file)).encode()
    pq.write_table(old.replace_schema_metadata({METADATA: document}), file)
    again = run_sweep(config, file)
    assert (again.computed, again.kept) == (0, 2)
    assert means(again.table) == [group | {"nodes_expected": None} for group in means(table)]
