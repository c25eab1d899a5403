"""`nodebudget audit-sampler` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "nodebudget"

SAMPLERS = """
import numpy as np

def drawn(row, rng):
    cumulative = np.cumsum(row)
    return int(np.searchsorted(cumulative / cumulative[-1], rng.random(), side="right"))

def from_target(paths, target, draft, rng):
    if np.isnan(target).any():
        raise ValueError("NaN in the target rows")
    return [drawn(target[0, 0], rng)]

def root_of_tree(tree, rng):
    if np.isnan(tree.target_rows).any():
        raise ValueError("NaN in the target rows")
    return [drawn(tree.target_rows[0], rng)]

def from_draft(paths, target, draft, rng):
    if np.isnan(draft).any() or np.isnan(target).any():
        raise ValueError("NaN")
    print("chatter")
    return [drawn(draft[0, 0], rng)]
"""


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), "audit-sampler", *arguments], capture_output=True, text=True, cwd=cwd
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "samplers.py").write_text(SAMPLERS)
    return tmp_path


def test_a_lossless_sampler_passes(folder: Path) -> None:
    done = run("samplers:from_target", "--samples", "500", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("samplers:from_target: passed after 4000 requests")


def test_a_faulty_sampler_is_named_and_json_is_json(folder: Path) -> None:
    done = run("samplers:from_draft", "--json", cwd=folder)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["lossless"] is False
    assert {fault["property"] for fault in found["faults"]} == {"joint law", "extreme coins"}


def test_a_verifier_of_the_package(folder: Path) -> None:
    done = run("nss", "--samples", "250", "--torch", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_a_sampler_of_trees(folder: Path) -> None:
    done = run("samplers:root_of_tree", "--drafting", "without:2,1", "--samples", "250", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    trials = json.loads(done.stdout)["trials"]
    assert {(trial["paths"], trial["drafting"]) for trial in trials} == {(None, "without:2,1")}
    (folder / "tree.json").write_text('["0", "1", "1,2"]')
    done = run("nss", "--drafting", "tree:tree.json", "--samples", "250", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "'unlike contexts', 'tree:0 1 1,2': 250 requests" in done.stdout


def test_a_number_of_paths_is_the_drafting_iid(folder: Path) -> None:
    options = [("--paths", "2"), ("--drafting", "iid:2")]
    by_paths, by_drafting = (
        run("samplers:from_target", *option, "--samples", "250", "--json", cwd=folder).stdout
        for option in options
    )
    assert by_paths == by_drafting
    assert {trial["paths"] for trial in json.loads(by_paths)["trials"]} == {2}
    assert "drafting" not in json.loads(by_paths)["trials"][0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["samplers:nothing"], "has no 'nothing'"),
        (["absent:mine"], "cannot be imported"),
        (["unheard"], "expected one of token"),
        (["nss", "--batch", "4"], "takes one request a call"),
        (["nss", "--paths", "2", "--drafting", "iid:2"], "--paths and --drafting both say what is drafted"),
        (["lift:univer", "--drafting", "without:2,1"], "expected one of"),
        (["gbv", "--drafting", "without:2,1"], "gbv needs i.i.d. paths; got without:2,1"),
        (
            ["samplers:root_of_tree", "--drafting", "top:2,2", "--batch", "2"],
            "expected None: one tree a call",
        ),
        (["nss", "--drafting", "forest:2"], "expected iid:4, with:2,2"),
        (["nss", "--paths", "0"], "paths: got 0"),
        (["samplers:from_target", "--samples", "3"], "samples: got 3"),
        (["samplers:from_target", "--false-alarm", "2"], "false_alarm: got 2.0"),
    ],
)
def test_unusable_input_is_one_line_and_exit_code_two(folder: Path, arguments: list[str], words: str) -> None:
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
