"""The file of a sweep: what is read, and what is refused with the key, the value and what would be right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nodebudget.experiments.sweep import load_config
from nodebudget.experiments.sweep.config_file import parse_config
from nodebudget.verifiers import VERIFIERS

SMALLEST: dict[str, Any] = {"families": ["flat"], "vocab": [2], "depth": [1], "paths": [2], "seeds": 3}


def test_defaults() -> None:
    config = parse_config(SMALLEST)
    assert config.seeds == (0, 1, 2)
    assert config.verifiers == tuple(VERIFIERS)
    assert config.method == "float"


def test_instances_are_the_product_each_once() -> None:
    config = parse_config(
        {
            **SMALLEST,
            "families": ["flat", "logits"],
            "vocab": [2, 3],
            "similarity": [0, 0.5, 1],
            "zeros": [0.0, 0.3],
            "seeds": [4, 7],
            "chunk": 3,
        }
    )
    keys = list(config.keys())
    assert len(keys) == len(set(keys)) == 2 * 2 * 2 + 2 * 3 * 2
    assert [key for chunk in config.chunks() for key in chunk] == keys
    assert all((key.similarity is None) == (key.family != "logits") for key in keys)
    assert all((key.zeros is None) == (key.family == "logits") for key in keys)
    assert {key.seed for key in keys} == {4, 7}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"familys": ["flat"]}, "familys: no such key; did you mean families?"),
        ({"workers": 2}, "workers: no such key; expected one of families, vocab"),
        ({"families": ["flat", "round"]}, "families: got 'round' in the list; expected a list of flat, "),
        ({"families": []}, "families: got \\[\\]; expected a list of flat"),
        ({"vocab": 2}, "vocab: got 2; expected a list of vocabulary sizes"),
        ({"vocab": [True]}, "vocab: got True in the list"),
        ({"depth": [0]}, "depth: got 0 in the list"),
        ({"depth": [1.5]}, "depth: got 1.5 in the list"),
        ({"paths": ["2"]}, "paths: got '2' in the list"),
        ({"paths": [2, 2]}, "paths: 2 is listed twice"),
        ({"seeds": 0}, "seeds: got 0; expected a list of integers"),
        ({"seeds": [-1]}, "seeds: got -1 in the list"),
        ({"similarity": [0.5]}, "similarity: none of the families uses it; expected one of logits"),
        (
            {"families": ["logits"], "zeros": [0.5]},
            "zeros: none of the families uses it; expected one of flat",
        ),
        ({"families": ["logits"], "similarity": [1.1]}, "similarity: got 1.1 in the list"),
        ({"families": ["logits"], "concentration": [0]}, "concentration: got 0 in the list"),
        ({"verifiers": ["bvv"]}, "verifiers: .*got 'bvv'; expected one of token, bv"),
        ({"method": "fast"}, "method: got 'fast'; expected 'float' or 'exact'"),
        ({"samples": 1}, "samples: got 1; expected an integer from 2"),
        ({"chunk": [5]}, "chunk: got \\[5\\]; expected an integer from 1"),
        ({"vocab": [64], "depth": [9]}, "vocab 64 with depth 9: .* more than 20000000 nodes"),
        ({"seeds": 10_000_000, "vocab": [2, 3]}, "more than 10000000 instances"),
    ],
)
def test_refusals(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_config({**SMALLEST, **change})


@pytest.mark.parametrize("missing", SMALLEST)
def test_missing_keys(missing: str) -> None:
    with pytest.raises(ValueError, match=f"{missing}: missing; expected a list"):
        parse_config({key: value for key, value in SMALLEST.items() if key != missing})


def test_the_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    with pytest.raises(ValueError, match=r"broken\.toml: cannot be read"):
        load_config(file)
    file.write_text('families = ["flat"')
    with pytest.raises(ValueError, match=r"broken\.toml: not a TOML file"):
        load_config(file)
    file.write_text("vocab = []")
    with pytest.raises(ValueError, match=r"broken\.toml: families: missing"):
        load_config(file)
