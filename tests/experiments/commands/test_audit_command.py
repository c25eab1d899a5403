"""`nodebudget audit` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "nodebudget"
CASES = Path(__file__).parents[2] / "cases"
NAMES = {
    "token": "token_verification",
    "bv": "block_verification",
    "gbv": "greedy_multipath",
    "nss": "nss",
    "specinfer": "specinfer",
    "spectr": "spectr",
    "traversal": "traversal",
}
SMALL = ("motivating", "default_pair", "random_v2_l2_s11", "random_v4_l1_s15", "random_v3_l2_s13")


def audit(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(COMMAND), "audit", *arguments], capture_output=True, text=True, cwd=cwd)


@pytest.mark.parametrize("name", NAMES)
def test_cases(name: str) -> None:
    """The values of the case files, by the command; the larger files are audited in-process elsewhere."""
    for case in SMALL:
        file = CASES / f"{case}.json"
        expected = json.loads(file.read_text())["expected"]
        paths = max(expected["paths"], key=int)
        wanted = expected["paths"][paths].get(NAMES[name], expected.get(NAMES[name]))
        done = audit(name, str(file), "--paths", paths, "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        if name == "spectr":
            assert abs(found["accepted_tokens_float"] - wanted) < 1e-6
        else:
            assert found["accepted_tokens"] == wanted
        assert found["optimum"] == expected["paths"][paths]["optimum"]
        assert found["prefix_matching"] is True
        assert found["target_matching"] is True
        assert found["total_variation"] == "0"


def test_a_user_s_broken_verifier_exits_with_one(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from nodebudget.verifiers import AcceptanceLaw\n\n\n"
        "def uniform(tree):\n"
        "    joint = tree.target * 0\n"
        "    joint[0] += (tree.target[0] * 0 + 1) / tree.vocab\n"
        "    return AcceptanceLaw.from_joint(tree, joint)\n"
    )
    done = audit("mine:uniform", str(CASES / "motivating.json"), "--paths", "2", "--json", cwd=tmp_path)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["target_matching"] is False
    assert found["total_variation"] == "1/6"  # half of |1/2 - 1/3| + |1/2 - 2/3|
    assert found["faults"]


@pytest.mark.parametrize(
    ("name", "paths", "said"),
    [
        ("nosuch", "2", "expected one of token, bv"),
        ("no_such_module:law", "2", "cannot be imported"),
        ("nodebudget.verifiers:nothing_here", "2", "has no"),
        ("bv", "0", "at least 1"),
        ("specinfer", "12", "at most 250000"),
    ],
)
def test_bad_input(name: str, paths: str, said: str) -> None:
    done = audit(name, str(CASES / "motivating.json"), "--paths", paths)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
