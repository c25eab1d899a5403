"""The script for a GPU, tried without one: it runs, says what it compared, and notices a law that differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from nodebudget.experiments.benchmarks import gpu_check
from nodebudget.verifiers import VERIFIERS, AcceptanceLaw, DraftTree

SMALL = ["--device", "cpu", "--small"]


def test_it_runs_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_check.main(SMALL) == 0
    printed = capsys.readouterr().out
    assert printed.count(" ok\n") == len(VERIFIERS)
    assert "the target reads the tree with a mask" in printed


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_a_device_that_is_not_there_is_one_line_and_exit_code_two(
    device: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpu_check.main(["--device", device]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"gpu_check: device '{device}' cannot be used on this machine; ")
    assert printed.count("\n") == 1


def every_other_time(change: Callable[[AcceptanceLaw], None]) -> Callable[[DraftTree], AcceptanceLaw]:
    calls = []

    def law(tree: DraftTree) -> AcceptanceLaw:
        found = VERIFIERS["bv"].law(tree)
        calls.append(tree)
        if len(calls) % 2 == 0:
            change(found)
        return found

    return law


def rows_of_the_leaves(law: AcceptanceLaw) -> None:
    rows = law._rows
    law._rows = lambda index: rows(index) * (1 + 1e-6 * (index >= law.tree.nodes.inner)[:, None])


def no_number(law: AcceptanceLaw) -> None:
    rows = law._rows
    law._rows = lambda index: rows(index) * float("nan")


@pytest.mark.parametrize("change", [rows_of_the_leaves, no_number])
def test_a_law_that_differs_is_noticed(
    change: Callable[[AcceptanceLaw], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = replace(VERIFIERS["bv"], law=every_other_time(change))
    monkeypatch.setattr(gpu_check, "VERIFIERS", {"bv": broken})
    assert gpu_check.main(SMALL) == 1
    assert "FAILED" in capsys.readouterr().out


@pytest.mark.parametrize("name", VERIFIERS)
def test_the_compared_law_stops_at_several_nodes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or else some of the rows that are compared would have no weight."""
    seen: list[AcceptanceLaw] = []
    law = VERIFIERS[name].law

    def kept(tree: DraftTree) -> AcceptanceLaw:
        seen.append(law(tree))
        return seen[-1]

    monkeypatch.setattr(gpu_check, "VERIFIERS", {name: replace(VERIFIERS[name], law=kept)})
    assert gpu_check.law_distance(name, 1000, torch.device("cpu")) <= gpu_check.TOLERANCE
    assert (seen[0].stop > 1e-4).sum() >= 3
