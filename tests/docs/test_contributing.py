"""CONTRIBUTING.md, followed to the letter in a copy of the package: one file and at most one line each."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
COMMAND = "from nodebudget.experiments.cli import main; main()"
MOTIVATING = ROOT / "tests" / "cases" / "motivating.json"


def section(heading: str) -> str:
    return PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]


def follow(text: str, package: Path, *, with_line: bool = True) -> int:
    """Add the file that a section shows, and the line where it has one; gives how many lines there were."""
    (file,) = re.findall(r"new file is\s+`([\w/.]+)`", text)
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    lines = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    assert not (package / file).exists()
    (package / file).write_text(code, encoding="utf-8")
    for line in lines if with_line else []:
        (registry,) = re.findall(r"line goes into `FILES` of `([\w/.]+)`", text)
        assert line.count("\n") == 1
        before = (package / registry).read_text(encoding="utf-8")
        listed = re.search(r"^FILES = \(\n.*?^\)", before, flags=re.DOTALL | re.MULTILINE)
        assert listed is not None
        after = before.replace(listed[0], f"{listed[0][:-1]}{line})")
        (package / registry).write_text(after, encoding="utf-8")
    return len(lines)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, to add to."""
    folder = tmp_path / "nodebudget"
    skipped = shutil.ignore_patterns("__pycache__", "*.parquet")
    for name in ("lp", "verifiers", "experiments", "paper_figures"):
        shutil.copytree(ROOT / name, folder / name, ignore=skipped)
    return folder


def python(package: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code with the copy as `nodebudget`."""
    where = f"import nodebudget.lp as p; assert p.__file__.startswith({str(package)!r}), p.__file__\n"
    return subprocess.run(
        [sys.executable, "-c", where + code, *arguments],
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        cwd=package.parent,
        capture_output=True,
        text=True,
    )


def test_a_verifier(package: Path) -> None:
    assert follow(section("A verifier"), package) == 1
    done = python(package, COMMAND, "audit", "first-match", str(MOTIVATING), "--paths", "1", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["prefix_matching"], report["total_variation"], report["faults"]) == (True, "0", [])
    # The first token is kept where a draw from the target meets one from the draft: 1/3 2/3 + 2/3 1/3.
    assert Fraction(report["accepted_tokens"]) == Fraction(4, 9)


def test_control_without_its_line_the_verifier_is_not_found(package: Path) -> None:
    follow(section("A verifier"), package, with_line=False)
    done = python(package, COMMAND, "audit", "first-match", str(MOTIVATING), "--paths", "1")
    assert done.returncode == 2
    assert "first-match" in done.stderr


CHECK = """
from nodebudget.experiments.checks import run
from nodebudget.experiments.checks.grid import Grid, build_grid
from nodebudget.experiments.checks.report import print_check
grid = Grid(build_grid().cases[:2])
print_check(run.run_checks(grid, [s for s in run.STATEMENTS if s.number.startswith("4.")]))
"""


def test_a_statement_check(package: Path) -> None:
    assert follow(section("A statement check"), package) == 1
    done = python(package, CHECK)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if "two paths are worth at least one" in line)
    assert "4.5" in line
    assert "pass" in line


def test_a_figure(package: Path) -> None:
    assert follow(section("A figure"), package) == 0
    done = python(package, COMMAND, "figures", "two_laws", "--out", "drawn")
    assert done.returncode == 0, done.stderr
    assert {file.name for file in (package.parent / "drawn").iterdir()} == {"two_laws.pdf", "two_laws.png"}


def test_a_family(package: Path) -> None:
    assert follow(section("A random family"), package) == 1
    done = python(
        package,
        "from nodebudget.lp import FAMILIES, random_instance\n"
        "law = random_instance('geometric', 3, 2, seed=0).target_law(0)\n"
        "print(FAMILIES['geometric'].about)\n"
        "print(*sorted(law))",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["exact; the weights 1, 2, 4, ... in random order", "1/7 2/7 4/7"]
