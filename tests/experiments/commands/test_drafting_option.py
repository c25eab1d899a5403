"""`nodebudget bound --drafting`: what it answers, what it saves, and how it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from nodebudget.lp import Certificate

CASES = Path(__file__).resolve().parents[2] / "cases"
MOTIVATING = str(CASES / "motivating.json")
DRAFTS = sorted((CASES / "drafts").glob("*.json"))
Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("path", DRAFTS, ids=lambda path: path.stem)
def test_the_cases(path: Path, run_command: Run) -> None:
    for entry in json.loads(path.read_text(encoding="utf-8"))["drafts"]:
        code, out, _ = run_command("bound", str(path), "--drafting", entry["draft"], "--json")
        found = json.loads(out)
        assert code == 0
        assert (found["optimum"], found["certified"]) == (entry["optimum"], True)
        assert found["drafting"] == entry["draft"]
        assert 0 < Fraction(found["nodes_expected"]) <= found["nodes_most"]


def test_paths_are_one_of_the_draftings(run_command: Run) -> None:
    by_paths, by_drafting = (
        json.loads(run_command("bound", MOTIVATING, *options, "--json")[1])
        for options in (("--paths", "2"), ("--drafting", "iid:2"))
    )
    assert by_paths.items() <= by_drafting.items()
    assert by_drafting.keys() - by_paths.keys() == {"drafting", "nodes_expected", "nodes_most"}


def test_the_text_for_people(run_command: Run) -> None:
    code, out, _ = run_command("bound", MOTIVATING, "--drafting", "top-sample:2,1")
    assert code == 0
    assert "drafting top-sample:2,1" in out
    assert "OPT (accepted tokens)    17/9 = 1.888889" in out


def test_a_tree_from_a_file_and_its_certificate(tmp_path: Path, run_command: Run) -> None:
    tree, proof = tmp_path / "tree.json", tmp_path / "proof.json"
    tree.write_text('["0", "1", "1,1"]', encoding="utf-8")
    code, out, _ = run_command(
        "bound", MOTIVATING, "--drafting", f"tree:{tree}", "--certificate", str(proof), "--json"
    )
    assert code == 0
    assert json.loads(out)["optimum"] == "13/9"  # 1/3 + 2/3 + 4/9
    read = Certificate.load(proof)
    assert read.verify()
    document = json.loads(proof.read_text(encoding="utf-8"))
    assert (document["format"], document["drafting"]) == (
        "nodebudget certificate 2",
        {"tree": ["0", "1", "1,1"]},
    )
    document["drafting"] = {"tree": ["0", "1"]}
    assert not Certificate.from_json(document).verify()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "missing option '--paths' or '--drafting'"),
        (("--paths", "2", "--drafting", "iid:2"), "--paths and --drafting both say what is drafted"),
        (("--drafting", "forest:2"), "expected iid:4, with:2,2"),
        (("--drafting", "with:2"), "expected one for each of the depth, 2"),
        (("--drafting", "delayed:2,2"), "expected a shorter one"),
        (("--drafting", "tree:nowhere.json"), "nowhere.json"),
    ],
)
def test_bad_draftings_are_one_line(options: tuple[str, ...], said: str, run_command: Run) -> None:
    code, out, error = run_command("bound", MOTIVATING, *options)
    assert (code, out) == (2, "")
    assert said in error
    assert error.count("\n") == 1
