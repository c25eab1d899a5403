"""Accepted tokens of verifiers of drafted trees: the values of the case files, as rationals."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from nodebudget.lp import Instance, instance_from_json
from nodebudget.verifiers.audit import audit_exact

FOLDER = Path(__file__).parents[2] / "cases" / "drafts"
KEYS = {
    "recursive-rejection": "recursive-rejection",
    "lift:recursive-rejection": "lift(recursive-rejection), children in drawing order",
    "greedy": "greedy",
    "univer": "lift(greedy), the likeliest children first, the sampled one last",
}
LARGE = "with:3,2"
"""Can be drafted in 19,683 ways at V = 3: left out here."""


def listed() -> list[tuple[str, Instance, dict[str, Any], str]]:
    found = []
    for file in sorted(FOLDER.glob("*.json")):
        case = json.loads(file.read_text(encoding="utf-8"))
        instance = instance_from_json(case["instance"])
        found += [
            (case["name"], instance, draft, name)
            for draft in case["drafts"]
            for name, key in KEYS.items()
            if key in draft and draft["draft"] != LARGE
        ]
    return found


CASES = listed()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]['draft']}-{case[3]}")
def test_value(case: tuple[str, Instance, dict[str, Any], str]) -> None:
    _, instance, draft, name = case
    found = audit_exact(name, instance, drafting=draft["draft"])
    assert found.accepted_tokens == Fraction(draft[KEYS[name]])
    assert found.lossless
    assert found.optimum == Fraction(draft["optimum"])


def test_every_rule_has_cases() -> None:
    assert {name for *_, name in CASES} == set(KEYS)
