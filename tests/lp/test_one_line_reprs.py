"""How the objects of lp/ are shown: on one line, what a person wants to know first."""

from __future__ import annotations

import re
from typing import Any

import pytest
from nodebudget.lp import (
    FAMILIES,
    PrefixTree,
    Selection,
    block_budgets,
    mixed_selection,
    ratio_ranking,
    single_path_program,
    solve,
    transport_stop_mass,
)
from strategies import motivating

LONGEST = 100

SHOWN: list[tuple[Any, str]] = [
    (motivating(), "Instance(vocab=2, depth=2, nodes=7, exact)"),
    (PrefixTree.full(2, 2), "PrefixTree(vocab=2, depth=2, nodes=7)"),
    # A variable for each of 6 nodes with mass, two rows for each of them; OPT_1 = 11/9.
    (single_path_program(motivating()), "LinearProgram('LP_1', variables=6, rows=12, exact)"),
    (single_path_program(motivating().to_float()), "LinearProgram('LP_1', variables=6, rows=12, float)"),
    (solve(single_path_program(motivating())), "Solution(optimal, objective=1.22222, variables=6, rows=12, "),
    (
        transport_stop_mass(motivating(), block_budgets(motivating()), 1),
        "Transport(complete, amount=1, flows=",
    ),
    (Selection(ratio_ranking), "Selection(ratio_ranking, families=1, "),
    (mixed_selection(4), "Selection(MixedRule("),
]


@pytest.mark.parametrize(("shown", "begins"), SHOWN, ids=lambda value: type(value).__name__)
def test_one_line(shown: Any, begins: str) -> None:
    text = repr(shown)
    assert text.startswith(begins)
    assert "\n" not in text
    assert len(text) <= LONGEST
    assert not re.search("0x[0-9a-f]{6}", text)  # no address


def test_a_transport_of_too_large_budgets_says_so() -> None:
    """All of the motivating target's mass at depth two is more than one path of its draft passes."""
    instance = motivating()
    assert repr(transport_stop_mass(instance, instance.joint_target, 1)).startswith(
        "Transport(NOT complete, "
    )


def test_families_are_a_dict_with_a_line_each() -> None:
    assert isinstance(FAMILIES, dict)
    assert FAMILIES["logits"].options == ("similarity", "concentration")
    assert len(repr(FAMILIES).splitlines()) == len(FAMILIES)
