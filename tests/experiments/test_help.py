"""Every command and script says what it does, answers --help at once, and ends with an example that parses."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path

import nodebudget.experiments
import pytest
import typer.main
from nodebudget.experiments.cli import app
from nodebudget.experiments.commands import COMMANDS

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).parent / "nodebudget"
HEAVY = ("torch", "cvxpy", "matplotlib", "numpy", "transformers", "pyarrow", "rich.console")
GROUP = typer.main.get_command(app)
SCRIPTS = sorted(
    file.stem
    for room in ("studies", "benchmarks")
    for file in (ROOT / "experiments" / room).glob("*.py")
    if file.stem not in ("__init__", "device_verification")  # the latter is a part of gpu_check
)


def test_every_file_of_the_room_is_a_command_or_shared() -> None:
    files = {file.stem for file in (ROOT / "experiments" / "commands").glob("*.py")}
    assert files == {module.__name__.split(".")[-1] for module in COMMANDS.values()} | {
        "__init__", "answers", "options",
    }  # fmt: skip
    assert list(GROUP.commands) == list(COMMANDS)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_an_example_that_parses(
    name: str, run_command: object, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_command(name, "--help")  # type: ignore[operator]
    assert (code, err) == (0, "")
    _, _, example = out.rpartition("Example:\n")
    words = shlex.split(example.replace("\\\n", " "))
    assert words[:2] == ["nodebudget", name]
    command = GROUP.commands[name]  # type: ignore[attr-defined]
    assert command.make_context(name, words[2:]).params  # a wrong option or number is an error here
    with pytest.raises(Exception, match="No such option"):  # so would an option be that the command has not
        command.make_context(name, [*words[2:], "--no-such-option"])


def test_start_up_is_light() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "import sys; from nodebudget.experiments import cli\n"
         "try: cli.app(['--help'], standalone_mode=False)\n"
         "finally: print([name for name in sys.argv[1:] if name in sys.modules], file=sys.stderr)", *HEAVY],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "optimality" in said.stdout
    assert said.stderr.strip() == "[]"


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_say_what_they_do(name: str) -> None:
    if name in ("bench_decode", "gpu_check", "compare_drafts") and not importlib.util.find_spec(
        "transformers"
    ):
        pytest.skip("needs the extra llm")
    done = subprocess.run(
        [sys.executable, "-m", f"nodebudget.experiments.{name}", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")
    assert len(done.stdout.split()) > 25, "it has options, and says what it is for"


def test_the_scripts_are_found_by_name_alone() -> None:
    assert "cost_model" in SCRIPTS
    assert len(nodebudget.experiments.__path__) == 3
