"""Verifiers by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from drafted_tuples import accepted_tokens, distance_from_target, output_law
from nodebudget.lp.instances.families import random_instance
from nodebudget.verifiers import VERIFIERS, Verifier, get_verifier, load_verifier


def test_names() -> None:
    known = ["token", "bv", "gbv", "nss", "specinfer", "spectr", "traversal", "mixed"]
    assert list(VERIFIERS)[: len(known)] == known
    for name, verifier in VERIFIERS.items():
        assert get_verifier(name) is verifier
        assert verifier.name == name
        assert "arXiv:" in verifier.reference
        assert "statement" in verifier.reference
        assert verifier.law.__doc__ is not None
        assert verifier.multipath is (name not in {"token", "bv"})


def test_a_users_verifier() -> None:
    verifier = get_verifier("example_verifier:nothing")
    assert isinstance(verifier, Verifier)
    assert verifier.name == "example_verifier:nothing"
    instance = random_instance("flat", 3, 2, seed=0)
    for which in (instance, instance.to_float()):
        assert accepted_tokens(verifier.law, which, 2) == 0
        assert distance_from_target(which, output_law(verifier.law, which, 2)) < 1e-15


def test_a_module_in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "verifiers_of_mine.py").write_text("def law(tree):\n    return None\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert load_verifier("verifiers_of_mine:law").law.__module__ == "verifiers_of_mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("block", "got 'block'; expected one of token, bv, gbv"),
        ("module:", "expected module:function"),
        (":law", "expected module:function"),
        ("example_verifier:a b", "expected module:function"),
        ("..example_verifier:nothing", "expected module:function"),
        ("no_such_module_of_ours:law", "the module 'no_such_module_of_ours' cannot be imported"),
        ("example_verifier:missing", "has no 'missing'"),
        ("example_verifier:not_a_function", "has a value, not a function, called 'not_a_function'"),
    ],
)
def test_names_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        get_verifier(name)


def test_a_module_that_fails_on_its_own_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needs_something.py").write_text("import a_package_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match="a_package_that_is_not_there"):
        load_verifier("needs_something:law")
