"""The benchmark of verification runs and prints a line for each setting; nothing is asserted about times."""

from __future__ import annotations

import subprocess
import sys


def test_smoke() -> None:
    command = [
        sys.executable,
        "-m",
        "nodebudget.experiments.bench_verifiers",
        "--smoke",
        "--kind",
        "numpy",
        "--kind",
        "torch",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()[2:]]
    # Two scales, two cuts, two kinds; with two paths only the verifiers that use them.
    assert len(lines) == 2 * 2 * 2 * (8 + 6)
    # On a fast machine the smallest times are printed as 0.00.
    assert all(float(line[6]) >= 0 and float(line[7]) >= 0 for line in lines)
