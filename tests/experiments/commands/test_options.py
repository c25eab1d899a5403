"""Numbers as they are typed, errors in one short line, and packages that are not there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from nodebudget.experiments import arguments
from nodebudget.experiments.commands import COMMANDS
from nodebudget.experiments.commands.options import decimal, integer

Run = Callable[..., tuple[int, str, str]]
CASE = str(Path(__file__).parents[2] / "cases" / "motivating.json")
THREE = "\N{ARABIC-INDIC DIGIT THREE}"
DECODE = ("decode", "--prompts", "p.jsonl", "--verifier", "bv")


@pytest.mark.parametrize(
    "command",
    [
        ("bound", CASE, "--paths"),
        ("audit", "bv", CASE, "--paths"),
        ("audit-sampler", "nss", "--paths"),
        ("audit-sampler", "nss", "--samples"),
        ("audit-sampler", "nss", "--seed"),
        (*DECODE, "--length", "2", "--paths"),
        (*DECODE, "--paths", "2", "--length"),
        ("optimality", "--prompts", "p.jsonl", "--length", "2", "--paths"),
        ("distill", "--epochs"),
        ("sweep", "none.toml", "--workers"),
    ],
)
@pytest.mark.parametrize("text", ["1_0", THREE, "1" * 5000])
def test_integers_are_plain_digits(
    command: tuple[str, ...], text: str, run_command: Run, tmp_path: Path
) -> None:
    if command[0] == "sweep":
        (tmp_path / "none.toml").write_text("families=['flat']\nvocab=[2]\ndepth=[1]\npaths=[1]\nseeds=1")
        command = ("sweep", str(tmp_path / "none.toml"), "--workers")
    code, out, err = run_command(*command, text)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert command[-1] in err
    assert "got" in err
    assert "integer" in err
    assert len(err) < 300


@pytest.mark.parametrize(
    "command",
    [
        ("audit-sampler", "nss", "--false-alarm"),
        (*DECODE, "--paths", "2", "--length", "2", "--temperature"),
        (*DECODE, "--paths", "2", "--length", "2", "--top-p"),
        ("distill", "--learning-rate"),
    ],
)
@pytest.mark.parametrize("text", ["0.0_1", f"0.{THREE}", "nan", "x" * 5000])
def test_decimals_are_plain_digits(command: tuple[str, ...], text: str, run_command: Run) -> None:
    code, out, err = run_command(*command, text)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"'{command[-1]}': got" in err
    assert "expected a number in the digits 0 to 9" in err
    assert len(err) < 300


def test_plain_numbers_are_read() -> None:
    assert (integer("10"), integer(10), decimal("1e-6"), decimal(0.5)) == (10, 10, 1e-6, 0.5)
    with pytest.raises(typer.BadParameter):
        integer("1.0")
    with pytest.raises(ValueError, match="got 'x'"):
        arguments.decimal("x")


LONG = "x" * 5000


@pytest.mark.parametrize(
    "command",
    [
        (LONG,),
        ("bound", LONG, "--paths", "1"),
        ("bound", CASE, "--paths", "1", "--method", LONG),
        ("bound", CASE, "--paths", "1", f"--{LONG}"),
        ("audit", LONG, CASE, "--paths", "1"),
        ("audit", f"{LONG}:mine", CASE, "--paths", "1"),
        ("audit", f"json:{LONG}", CASE, "--paths", "1"),
        ("audit-sampler", f"json:{LONG}"),
        ("figures", LONG),
        ("figures", "similarity", "--results", LONG),
        ("sweep", LONG),
    ],
)
def test_long_names_are_shortened(command: tuple[str, ...], run_command: Run) -> None:
    code, out, err = run_command(*command)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "characters)" in err
    assert len(err) < 700


def test_a_long_path_that_is_there_is_shown_whole(run_command: Run, tmp_path: Path) -> None:
    """The negative control: what is shortened is nobody's file name."""
    path = tmp_path / ("folder-" * 12) / ("sub-" * 20) / "instance.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    _, _, err = run_command("bound", str(path), "--paths", "1")
    assert str(path) in err


@pytest.mark.parametrize("module", ["torch", "transformers"])
@pytest.mark.parametrize(
    "command",
    [
        ("audit-sampler", "nss", "--samples", "100", "--torch"),
        ("distill",),
        (*DECODE, "--paths", "2", "--length", "2", "--pair", "smollm2/first-27"),
        ("optimality", "--prompts", "p.jsonl", "--length", "2", "--paths", "2", "--pair", "smollm2/first-27"),
    ],
)
def test_a_missing_package_is_one_line_with_the_extra(
    module: str, command: tuple[str, ...], run_command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command[0] == "audit-sampler" and module == "transformers":
        pytest.skip("needs torch only")
    pytest.importorskip(module)
    monkeypatch.setitem(sys.modules, module, None)  # type: ignore[arg-type]
    code, out, err = run_command(*command)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert (
        f"{command[0]}{' --torch' if '--torch' in command else ''} needs the extra llm ({module} is missing)"
        in err
    )
    assert "pip install 'nodebudget[llm]'" in err


def test_the_decoding_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    for name in [name for name in sys.modules if name.startswith("nodebudget.verifiers.decoding")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "transformers", None)  # type: ignore[arg-type]
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'nodebudget\[llm\]'"):
        __import__("nodebudget.verifiers.decoding")


def test_no_option_is_defined_twice() -> None:
    """An option of several commands that says the same thing is in options.py."""
    helps: dict[str, list[str]] = {}
    for name, module in COMMANDS.items():
        for line in Path(str(module.__file__)).read_text().splitlines():
            if "help=" in line:
                helps.setdefault(line.split("help=")[1].strip(), []).append(name)
    twice = {words: names for words, names in helps.items() if len(names) > 1}
    assert not twice
