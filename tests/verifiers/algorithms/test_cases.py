"""Expected accepted tokens of every verifier on the shared cases, exactly."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from drafted_tuples import accepted_tokens, output_law_by_pick
from nodebudget.lp.instances.instance_json import load_instance
from nodebudget.verifiers import VERIFIERS

CASES = Path(__file__).parents[2] / "cases"
NAMES = {"gbv": "greedy_multipath"}
SINGLE_PATH = {"token": "token_verification", "bv": "block_verification"}


def listed() -> list[tuple[str, int, str, str | float]]:
    found = []
    for file in sorted(CASES.glob("*.json")):
        document = json.loads(file.read_text())
        if "instance" not in document:
            continue
        expected = document["expected"]
        for name, key in SINGLE_PATH.items():
            found.append((file.name, 1, name, expected[key]))
        for paths, values in expected["paths"].items():
            for name, verifier in VERIFIERS.items():
                key = NAMES.get(name, name)
                if verifier.multipath and key in values:
                    found.append((file.name, int(paths), name, values[key]))
    return found


def test_every_verifier_is_in_the_cases() -> None:
    # The files know the published verifiers only; see test_mixed for the other one.
    assert {name for _, _, name, _ in listed()} == set(VERIFIERS) - {"mixed"}
    assert {paths for _, paths, _, _ in listed()} >= {1, 2, 3, 4}


@pytest.mark.parametrize(("file", "paths", "name", "expected"), listed())
def test_accepted_tokens(file: str, paths: int, name: str, expected: str | float) -> None:
    instance = load_instance(CASES / file)
    if name == "gbv" and math.comb(len(instance.tree.leaves) + paths - 1, paths) > 1000:
        table = output_law_by_pick(VERIFIERS[name].law, instance, paths)
        value = sum((len(accepted) * sum(row) for accepted, row in table.items()), Fraction(0))
    else:
        # Greedy multi-path does not look at the drafting order (see test_order): sets of paths are enough.
        value = accepted_tokens(VERIFIERS[name].law, instance, paths, ordered=name != "gbv")
    assert isinstance(value, Fraction)
    if isinstance(expected, str):
        assert value == Fraction(expected)
    else:
        assert name == "spectr"
        assert abs(float(value) - expected) < 1e-6
