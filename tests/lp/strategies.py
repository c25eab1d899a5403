"""Random exact instances and budgets for the property tests, and the settings these run with."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from nodebudget.lp import Instance, instance_from_json
from nodebudget.lp.numbers.rationals import Array, exact_array

CASES = Path(__file__).resolve().parents[1] / "cases"
SHAPES = ((2, 1), (2, 2), (2, 3), (3, 1), (3, 2))
"""(V, L) of the random instances: all subsets of the nodes can be listed."""

_common = {"derandomize": True, "deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
few = settings(max_examples=12, **_common)
some = settings(max_examples=30, **_common)
many = settings(max_examples=80, **_common)


def laws(vocab: int, least: int = 0) -> st.SearchStrategy[list[Fraction]]:
    """One next-token law from integer weights `least` .. 6."""
    weights = st.lists(st.integers(least, 6), min_size=vocab, max_size=vocab).filter(any)
    return weights.map(lambda drawn: [Fraction(w, sum(drawn)) for w in drawn])


@st.composite
def exact_instances(
    draw: st.DrawFn, shapes: tuple[tuple[int, int], ...] = SHAPES, least: int = 0
) -> Instance:
    """An exact instance with its own laws in every context; zeros in them unless `least` is positive."""
    vocab, depth = draw(st.sampled_from(shapes))
    one_law = laws(vocab, least)
    contexts = [c for d in range(depth) for c in itertools.product(range(vocab), repeat=d)]
    target = {context: draw(one_law) for context in contexts}
    same = draw(st.booleans()) and draw(st.booleans())
    draft = target if same else {context: draw(one_law) for context in contexts}
    return Instance.from_laws(vocab, depth, target, draft)


@st.composite
def target_matching_budgets(draw: st.DrawFn, instance: Instance, least: int = 0) -> Array:
    """Budgets that meet (2.2): D(zy) is a share least/6 .. 1 of p(y|z) D(z)."""
    budgets = [Fraction(1)]
    for node in range(1, len(instance.tree)):
        share = Fraction(draw(st.integers(least, 6)), 6)
        budgets.append(budgets[instance.tree.parent[node]] * instance.target[node] * share)
    return exact_array(budgets)


def case_instances() -> dict[str, tuple[Instance, dict[str, object]]]:
    """Every instance of the case files, with its expected values."""
    found = {}
    for path in sorted(CASES.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if "instance" in document:
            found[path.stem] = (instance_from_json(document["instance"]), document["expected"])
    return found


def motivating() -> Instance:
    """V = 2, L = 2, p = (1/3, 2/3) and q = (2/3, 1/3) in every context."""
    third = Fraction(1, 3)
    target = {context: [third, 2 * third] for context in ((), (0,), (1,))}
    draft = {context: [2 * third, third] for context in ((), (0,), (1,))}
    return Instance.from_laws(2, 2, target, draft)
