"""Every page of the documentation: what it shows is what the code prints, and what it links to is there."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.joinpath("docs").rglob("*.md")], key=lambda page: (len(page.parts), page)
)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
SHOWN_FOLDERS = "lp|verifiers|experiments|paper_figures|notebooks|docs|tests"


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: python, console or text.
        text: what is in it.
        file: the name that a "file `NAME.py`:" before it gives it, or "".
    """

    language: str
    text: str
    file: str


def blocks(page: str) -> Iterator[Block]:
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE):
        file = re.search(r"file `(\w+\.py)`:\s*\Z", page[: found.start()])
        yield Block(found[1], found[2], file[1] if file else "")


def same_lines(printed: str, shown: str, what: str) -> None:
    assert [line.rstrip() for line in printed.splitlines()] == shown.rstrip().splitlines(), what


def run_console(block: str, folder: Path) -> None:
    """Every command of a console block prints what is below it, and ends well."""
    settings = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        done = subprocess.run(
            command, shell=True, cwd=folder, env=settings | {"PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, (command, done.stderr)
        same_lines(done.stdout, shown, command)


def run_page(page: str, folder: Path) -> int:
    """Run the python and console blocks of a page in their order; gives how many there were.

    A python block with a file's name is that file. The others share their names, and print what a block of text right
    after them shows.
    """
    every, names, printed = list(blocks(page)), {"__name__": "page"}, ""
    for block in every:
        if block.language == "python" and block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(block.text, names)
            printed = out.getvalue()
        elif block.language == "text":
            same_lines(printed, block.text, "what the python block before it prints")
        else:
            assert block.language == "console", block.language
            run_console(block.text, folder)
    return len(every)


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the instances that the commands name, where the examples run."""
    shutil.copytree(ROOT / "tests" / "cases", tmp_path / "tests" / "cases")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    return tmp_path


RUN = [name for name in NAMES if name != "CONTRIBUTING.md"]
"""The other page's files are tried by test_contributing.py."""


@pytest.mark.parametrize("name", RUN)
def test_examples_print_what_is_shown(name: str, workdir: Path) -> None:
    count = run_page((ROOT / name).read_text(encoding="utf-8"), workdir)
    least = {"README.md": 7, "docs/auditing.md": 4, "docs/reference/commands.md": 8}
    assert count >= least.get(name, 0)


@pytest.mark.parametrize(
    "page",
    [
        "```console\n$ echo 1\n2\n```\n",
        "```console\n$ exit 1\n```\n",
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nassert False\n```\n",
        "In a file `mine.py`:\n\n```python\nx = 1\n```\n\n```console\n$ cat mine.py\nx = 2\n```\n",
    ],
)
def test_control_a_wrong_example_is_seen(page: str, workdir: Path) -> None:
    with pytest.raises(AssertionError):
        run_page(page, workdir)


def test_control_a_right_example_passes(workdir: Path) -> None:
    right = "```console\n$ echo 1\n1\n$ echo 2\n2\n```\n\n```python\nprint(3)\n```\n\n```text\n3\n```\n"
    assert run_page(right, workdir) == 3


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: str, folder: Path) -> list[str]:
    """Links of a page to files, or to headings, that are not there."""
    broken = []
    for link in re.findall(r"\]\(((?!http)[^)]+)\)", page) + re.findall(r"src=\"([^\"]+)\"", page):
        name, _, anchor = link.partition("#")
        target = folder / name
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("name", NAMES)
def test_links_and_paths_exist(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert broken_links(page, (ROOT / name).parent) == []
    if name not in ("CHANGELOG.md", "CONTRIBUTING.md"):  # these name what has moved, and what is to be made
        named = re.findall(rf"`((?:{SHOWN_FOLDERS})/[\w/.]*)`", page)
        assert [path for path in named if not (ROOT / path).exists()] == []


def test_control_a_broken_link_is_seen() -> None:
    page = "[a](README.md) [b](no.md) [c](README.md#install) [d](README.md#none)"
    assert broken_links(page, ROOT) == ["no.md", "README.md#none"]


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        links = re.findall(r"\]\(((?!http)[^)#]+\.md)", page.read_text(encoding="utf-8"))
        todo += [(page.parent / link).resolve() for link in links]
    assert set(PAGES) <= reached


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 180


def test_the_auditing_guide_finds_a_faulty_sampler() -> None:
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks((ROOT / "docs" / "auditing.md").read_text(encoding="utf-8")):
        if block.language == "python" and not block.file:
            exec(block.text, names)
    names["test_my_sampler_is_lossless"]()  # type: ignore[operator]
    with pytest.raises(AssertionError, match="joint law"):
        names["audit_sampler"](  # type: ignore[operator]
            lambda paths, target, draft, generator: [int(paths[0, 0])]
        ).assert_passed()
