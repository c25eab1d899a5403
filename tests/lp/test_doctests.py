"""The examples in the docstrings of every module."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

EXTRAS = {"torch", "transformers", "accelerate", "gguf", "tokenizers", "safetensors"}
"""Optional packages: a module that needs one that is not installed has nothing to run."""


def modules() -> list[str]:
    found = []
    for name in ("nodebudget.lp", "nodebudget.experiments", "nodebudget.verifiers"):
        package = importlib.import_module(name)
        found.append(name)
        found += [entry.name for entry in pkgutil.walk_packages(package.__path__, f"{name}.")]
    return found


def load(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        pytest.skip(f"{error.name} is not installed")


@pytest.mark.parametrize("name", modules())
def test_examples(name: str) -> None:
    result = doctest.testmod(load(name))
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples in {name}"


def test_there_are_examples() -> None:
    """In the modules that carry the definitions, at least."""
    for name in (
        "instances.trees",
        "instances.instance",
        "instances.families",
        "drafting.antichains",
        "programs.linear_program",
    ):
        assert doctest.testmod(importlib.import_module(f"nodebudget.lp.{name}")).attempted > 0


def test_a_wrong_example_would_fail() -> None:
    module = ModuleType("wrong", ">>> 1 + 1\n3\n")
    assert doctest.testmod(module, report=False).failed == 1
