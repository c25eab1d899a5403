"""`nodebudget bound` as a user runs it: what it prints, what it saves, and how it refuses.

What a user meets first runs as a process of its own; the long tables call the same entry point in this process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from nodebudget.experiments import cli
from nodebudget.lp import (
    Certificate,
    accepted_tokens,
    block_budgets,
    load_instance,
    random_instance,
    save_instance,
)

COMMAND = str(Path(sys.executable).parent / "nodebudget")
CASES = Path(__file__).resolve().parents[2] / "cases"
MOTIVATING = CASES / "motivating.json"
MEMBERS = {
    "paths", "optimum", "optimum_float", "block_efficiency", "status", "certified", "bracket", "antichains",
    "budgets",
}  # fmt: skip


Done = subprocess.CompletedProcess[str]
Runner = Callable[..., Done]


def run(*arguments: object, cwd: Path | None = None) -> Done:
    command = [COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=cwd)


@pytest.fixture
def run_here(capfd: pytest.CaptureFixture[str]) -> Iterator[Runner]:
    """The command in this process, its output caught as the operating system sees it."""
    with pytest.MonkeyPatch.context() as patch:

        def runner(*arguments: object, cwd: Path | None = None) -> Done:
            command = ["nodebudget", *map(str, arguments)]
            patch.setattr(sys, "argv", command)
            if cwd is not None:
                patch.chdir(cwd)
            with pytest.raises(SystemExit) as left:
                cli.main()
            return Done(command, left.value.code, *capfd.readouterr())

        yield runner


def bound(*arguments: object, runner: Runner = run) -> dict[str, Any]:
    """The one JSON object of a successful run; nothing else may be on stdout, nothing at all on stderr."""
    done = runner("bound", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert document.keys() == MEMBERS
    return document


@pytest.mark.parametrize(("paths", "optimum"), [(1, "11/9"), (2, "131/81"), (3, "1351/729")])
def test_the_motivating_instance(paths: int, optimum: str) -> None:
    found = bound(MOTIVATING, "--paths", paths)
    value = Fraction(optimum)
    assert found["paths"] == paths
    assert found["optimum"] == optimum
    assert found["optimum_float"] == float(value)
    assert found["block_efficiency"] == str(value + 1)
    assert found["certified"] is True
    assert found["status"] == "optimal, certified"
    assert found["bracket"] == [float(value)] * 2
    assert set(found["budgets"]) == {"0", "1", "0,0", "0,1", "1,0", "1,1"}
    assert sum(map(Fraction, found["budgets"].values())) == value
    assert all(Fraction(tight["multiplier"]) > 0 for tight in found["antichains"])
    assert all(set(tight["nodes"]) <= set(found["budgets"]) for tight in found["antichains"])


def test_the_budgets_of_one_path_are_block_verifications(run_here: Runner) -> None:
    """min(q(zy), p D(z)) by hand: below "0", with D = 1/3, min(4/9, 1/9) and min(2/9, 2/9)."""
    budgets = bound(MOTIVATING, "--paths", 1, runner=run_here)["budgets"]
    assert budgets == {"0": "1/3", "1": "1/3", "0,0": "1/9", "0,1": "2/9", "1,0": "1/9", "1,1": "1/9"}


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_every_case_file(path: Path, tmp_path: Path, run_here: Runner) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    if "instances" in document:  # several instances in one file: each by itself
        expected = document["expected"]["2"]["optima"]
        for k, instance in enumerate(document["instances"]):
            one = tmp_path / f"{k}.json"
            one.write_text(json.dumps(instance))
            assert bound(one, "--paths", 2, runner=run_here)["optimum"] == expected[k]
        return
    paths = max(map(int, document["expected"]["paths"]))
    wanted = document["expected"]["paths"][str(paths)]
    found = bound(path, "--paths", paths, runner=run_here)
    assert found["certified"] is True
    assert found["optimum"] == wanted["optimum"]
    assert found["optimum_float"] == pytest.approx(wanted["optimum_float"], rel=1e-12)


def test_enumeration_gives_the_same_answer() -> None:
    found = bound(MOTIVATING, "--paths", 3, "--method", "enumerate")
    assert (found["optimum"], found["certified"]) == ("1351/729", True)


def test_floats_on_request_are_floats_and_not_certified() -> None:
    found = bound(MOTIVATING, "--paths", 2, "--float")
    assert isinstance(found["optimum"], float)
    assert found["optimum"] == pytest.approx(131 / 81, abs=1e-9)
    assert found["optimum_float"] == found["optimum"]
    assert found["block_efficiency"] == pytest.approx(212 / 81, abs=1e-9)
    assert found["certified"] is False
    assert found["status"].startswith("optimal in floats, not certified")
    assert found["antichains"] == []
    assert all(isinstance(v, float) for v in found["budgets"].values())


def test_a_large_tree_gets_a_proven_bracket(tmp_path: Path, run_here: Runner) -> None:
    path = tmp_path / "large.json"
    save_instance(random_instance("logits", 40, 2, seed=1), path)
    found = bound(path, "--paths", 1, runner=run_here)
    low, high = found["bracket"]
    assert found["certified"] is False
    assert found["optimum"] == high
    assert 0 < high - low < 1e-6
    best = accepted_tokens(block_budgets(load_instance(path).to_exact()))  # OPT_1 by statement 5.3
    assert Fraction(low) <= best <= Fraction(high)
    assert found["status"].startswith(
        f"bracketed, both ends proven, not certified: between {low} and {high} ("
    )


def test_a_float_file_is_certified_and_written_in_floats(tmp_path: Path, run_here: Runner) -> None:
    path = tmp_path / "floats.json"
    save_instance(random_instance("logits", 3, 2, seed=0), path)
    found = bound(path, "--paths", 2, runner=run_here)
    assert found["certified"] is True
    assert isinstance(found["optimum"], float)


def test_the_certificate_is_saved_and_verifies(tmp_path: Path) -> None:
    out = tmp_path / "proof.json"
    found = bound(MOTIVATING, "--paths", 2, "--certificate", out)
    proof = Certificate.load(out)
    assert proof.verify()
    assert proof.optimum == Fraction(131, 81)
    assert proof.paths == 2
    assert proof.instance.joint_draft.tolist() == load_instance(MOTIVATING).joint_draft.tolist()
    assert len(proof.antichains) == len(found["antichains"])
    assert [p.name for p in tmp_path.iterdir()] == ["proof.json"]


def test_the_text_for_people_has_the_numbers() -> None:
    done = run("bound", MOTIVATING, "--paths", 2)
    assert (done.returncode, done.stderr) == (0, "")
    assert "131/81 = 1.617284" in done.stdout
    assert "212/81" in done.stdout
    assert "11/9 = 1.222222" in done.stdout
    assert "optimal, certified" in done.stdout
    with pytest.raises(json.JSONDecodeError):
        json.loads(done.stdout)


def law_file(root: str, after_zero: str = '["1", "0"]', vocab: str = "2", depth: str = "2") -> str:
    """An instance file with these laws of the target; the draft is uniform."""
    return f"""{{"vocab": {vocab}, "depth": {depth},
        "target": {{"": {root}, "0": {after_zero}, "1": ["1/2", "1/2"]}}, "draft": {{"*": ["1/2", "1/2"]}}}}"""


GOOD = law_file('["1/2", "1/2"]')

# name -> (content of FILE, further arguments, what the line on stderr must name)
BAD_FILES: dict[str, tuple[str | bytes, tuple[str, ...], tuple[str, ...]]] = {
    "a law that does not sum to one": (
        law_file('["1/2", "1/3"]'), (), ("target law at context ''", "sum to 5/6", "expected 1")
    ),
    "a float law that does not sum to one": (
        law_file("[0.5, 0.5]", "[0.5, 0.6]"), (), ("target law at context '0'", "1.1", "expected 1")
    ),
    "a negative entry": (
        law_file('["1/2", "1/2"]', '["3/2", "-1/2"]'), (), ("context '0', token 1", "-1/2", "at least 0")
    ),
    "a NaN": (law_file("[NaN, 1]"), (), ("NaN",)),
    "an infinity": (law_file("[1, Infinity]"), (), ("Infinity",)),
    "a number too large for a float": (law_file("[1e400, 0.5]"), (), ("target law at context ''",)),
    "a number in words": (law_file('["half", "half"]'), (), ("target law at context '', token 0", "'half'")),
    "a missing context": (
        GOOD.replace('"0": ["1", "0"],', ""), (), ("target law at context '0' is missing",)
    ),
    "a token outside the vocabulary": (
        law_file('["1/2", "1/2"]', '{"2": "1"}'), (), ("context '0'", "token 2", "0..1")
    ),
    "a context outside the vocabulary": (
        GOOD.replace('"1": ', '"7": '), (), ("context '7'", "token 7", "0..1")
    ),
    "a law of the wrong length": (law_file('["1"]'), (), ("context ''", "got 1 entries", "expected 2")),
    "an unknown member": (GOOD.replace('"draft"', '"model"'), (), ("'draft' is missing",)),
    "no vocabulary": (law_file('["1"]', vocab="0"), (), ("vocab", "got 0", "at least 1")),
    "a depth in words": (law_file('["1"]', depth='"two"'), (), ("depth", "'two'", "at least 1")),
    "a depth no tree can have": (
        '{"vocab": 2, "depth": 20000, "target": {"*": ["1", "0"]}, "draft": {"*": ["1", "0"]}}',
        (), ("'*'", "20000000"),
    ),
    "an empty file": ("", (), ("empty",)),
    "a file that is cut off": (GOOD[:60], (), ("not JSON", "line")),
    "a file that is not text": (b"\xff\xfe\xfa", (), ("not UTF-8",)),
    "a list": ("[]", (), ("got list",)),
    "no paths": (GOOD, ("--paths", "0"), ("paths", "got 0", "at least 1")),
    "negative paths": (GOOD, ("--paths", "-2"), ("paths", "got -2", "at least 1")),
    "paths in words": (GOOD, ("--paths", "many"), ("--paths",)),
    "an unknown method": (GOOD, ("--method", "guess"), ("--method", "'guess'", "cuts or enumerate")),
    "a certificate that does not exist": (
        GOOD, ("--float", "--certificate", "proof.json"), ("--certificate", "no certificate")
    ),
    "a certificate in no folder": (GOOD, ("--certificate", "nowhere/proof.json"), ("proof.json",)),
    "a certificate in place of a folder": (GOOD, ("--certificate", "."), ()),
}  # fmt: skip


AS_A_PROCESS = {
    "a law that does not sum to one", "a negative entry", "a NaN", "a missing context", "an empty file",
    "a token outside the vocabulary", "no paths", "a number too large for a float", "a certificate in no folder",
}  # fmt: skip


def assert_refused(done: Done, *named: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith("\n")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("nodebudget: ")
    for name in named:
        assert name in done.stderr


@pytest.mark.parametrize("what", BAD_FILES)
def test_bad_input_is_one_line_on_stderr(what: str, tmp_path: Path, run_here: Runner) -> None:
    content, further, named = BAD_FILES[what]
    (tmp_path / "bad.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    paths = () if "--paths" in further else ("--paths", "2")
    runner = run if what in AS_A_PROCESS else run_here
    done = runner("bound", "bad.json", *paths, *further, "--json", cwd=tmp_path)
    assert_refused(done, *named)
    if not further:
        assert "bad.json" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["bad.json"], "something half-written was left behind"


def test_the_names_of_what_runs_as_a_process_are_right() -> None:
    assert AS_A_PROCESS.issubset(BAD_FILES)


def test_the_file_of_the_negative_controls_is_good(tmp_path: Path, run_here: Runner) -> None:
    """What is changed above is the only thing wrong with it."""
    path = tmp_path / "good.json"
    path.write_text(GOOD)
    assert bound(path, "--paths", 2, runner=run_here)["certified"] is True


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path, run_here: Runner) -> None:
    assert_refused(run_here("bound", name, "--paths", 2, cwd=tmp_path), name, "cannot be read")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("bound", MOTIVATING), "--paths"),
        (("bound", "--paths", 2), "FILE"),
        (("bound", MOTIVATING, "--paths", 2, "--fast"), "--fast"),
        (("solve",), "solve"),
    ],
)
def test_wrong_usage_is_one_line_on_stderr(
    arguments: tuple[object, ...], named: str, run_here: Runner
) -> None:
    assert_refused(run_here(*arguments), named)


def test_more_antichains_than_are_enumerated(tmp_path: Path) -> None:
    """V = 3, L = 3: 730^3 + 1 antichains."""
    save_instance(random_instance("iid", 3, 3, seed=0), tmp_path / "large.json")
    done = run("bound", tmp_path / "large.json", "--paths", 2, "--method", "enumerate", "--json")
    assert_refused(done, "389017001 antichains", "1000000", "cutting-plane")


def test_help_is_help() -> None:
    done = run("bound", "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    for option in ("--paths", "--float", "--method", "--certificate", "--json"):
        assert option in done.stdout
