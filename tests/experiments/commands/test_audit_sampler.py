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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["samplers:nothing"], "has no 'nothing'"),
        (["absent:mine"], "cannot be imported"),
        (["unheard"], "expected one of token"),
        (["nss", "--batch", "4"], "takes one request a call"),
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
