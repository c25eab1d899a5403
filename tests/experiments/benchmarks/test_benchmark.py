"""The benchmark runs and compares what it says; nothing is asserted about times."""

from __future__ import annotations

import subprocess
import sys


def test_smoke() -> None:
    command = [sys.executable, "-m", "nodebudget.experiments.bench_lp", "--smoke"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    alone, against = done.stdout.split("against the enumerated program")
    assert "rounds" in alone
    assert "optimal, certified" in alone
    assert "against plain cutting planes" in alone
    difference = float(against.split()[-1])
    assert difference < 1e-9
