"""On a device a law is few launches, and those of a large vocabulary are no more."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from nodebudget.experiments.benchmarks.device_verification import Launches, launches, table
from nodebudget.verifiers import VERIFIERS, PathNodes

MOST = {"token": 130, "bv": 160, "gbv": 900, "nss": 340, "specinfer": 600, "spectr": 1200, "traversal": 1000}
"""With K = 4 and L = 8; about what they took when this was written, so that a loop over tokens is noticed."""


@pytest.mark.parametrize("name", [name for name in VERIFIERS if name != "mixed"])
def test_launches(name: str) -> None:
    nodes = PathNodes(np.random.default_rng(0).integers(2, size=(4, 8)))
    first = launches(name, nodes, 1000)
    again = launches(name, nodes, 50_000)
    assert 0 < first <= MOST[name]
    assert again <= first, "indices of the tree's shape are sent once"


def test_control_what_is_counted() -> None:
    values = torch.empty(10, device="meta")
    with Launches() as counted:
        values[2:5].reshape(1, 3)
    assert counted.count == 0
    with Launches() as counted:
        torch.where(values > 0, values, 0.0)
    assert counted.count == 2


def test_the_table_has_a_line_for_each_verifier() -> None:
    heading, *lines = table(50, 2, 3, torch.device("cpu"), repeats=1)
    assert "launches" in heading
    assert [line.split()[0] for line in lines] == list(VERIFIERS)
    assert all(line.endswith("(no CUDA)") for line in lines)
