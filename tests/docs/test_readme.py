"""The README's commands, run literally, print what the README says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


PYTHON = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def console_examples() -> list[tuple[str, str]]:
    """Every command of the README's console blocks with the output shown below it."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the README's commands name."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "tests" / "cases", folder / "tests" / "cases")
    for name, word in (("my_verifiers.py", "DraftTree"), ("my_rules.py", "OnPath")):
        (code,) = (code for code in PYTHON if word in code)
        (folder / name).write_text(code, encoding="utf-8")
    return folder


def test_console_examples(workdir: Path) -> None:
    examples = console_examples()
    assert len(examples) >= 5
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, shown in examples:
        done = subprocess.run(
            command, shell=True, cwd=workdir, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert [line.rstrip() for line in done.stdout.splitlines()] == shown.rstrip().splitlines(), command


def test_python_example(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workdir)
    (code,) = (code for code in PYTHON if "solve_multi_path" in code)
    names: dict[str, object] = {}
    exec(code, names)
    assert names["single"] == Fraction(11, 9)
    assert names["optimum"].value == Fraction(1351, 729)  # type: ignore[attr-defined]


def test_every_path_named_exists() -> None:
    named = re.findall(r"`((?:lp|verifiers|experiments|paper_figures|notebooks|docs|tests)/[\w/.]*)`", README)
    assert named
    for name in named:
        assert (ROOT / name).exists(), name


def test_the_auditing_guide_runs() -> None:
    code = "\n".join(
        re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "auditing.md").read_text(), flags=re.DOTALL)
    )
    names: dict[str, object] = {}
    exec(code, names)
    names["test_my_sampler_is_lossless"]()  # type: ignore[operator]
    with pytest.raises(AssertionError, match="joint law"):
        names["audit_sampler"](  # type: ignore[operator]
            lambda paths, target, draft, generator: [int(paths[0, 0])]
        ).assert_passed()
