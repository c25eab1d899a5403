"""The verifier LP from first principles, and its projection LP_K."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp import (
    ExactOptimum,
    Instance,
    LinearProgram,
    accepted_tokens,
    exact_optimum,
    instance_from_json,
    random_instance,
    solve,
    solve_multi_path,
    target_matching_violation,
    verifier_budgets,
    verifier_program,
)
from nodebudget.lp.programs import verifier_lp as verifier_lp_module
from nodebudget.lp.programs.verifier_lp import tied_verifier_program
from plain_definitions import joint, laws_of, tuples, worst_excess
from strategies import CASES, exact_instances, few, motivating, some

F = Fraction
TINY = ((2, 1), (2, 2), (3, 1))


def optimal(program: LinearProgram) -> ExactOptimum:
    return exact_optimum(program, solve(program).basis)


def test_one_token_and_one_path_by_hand() -> None:
    """V = 2, L = 1, p = (1/3, 2/3), q = (2/3, 1/3); node 1 is "0", node 2 is "1".

    Two tuples, each with the root and its leaf as what can be accepted, and two next tokens: 8 variables.
    """
    third = F(1, 3)
    instance = Instance.from_laws(2, 1, {(): [third, 2 * third]}, {(): [2 * third, third]})
    program = verifier_program(instance, 1)
    labels = [label[-3:] for label in program.variables]
    assert labels == [((1,), 0, 0), ((1,), 0, 1), ((1,), 1, 0), ((1,), 1, 1),
                      ((2,), 0, 0), ((2,), 0, 1), ((2,), 2, 0), ((2,), 2, 1)]  # fmt: skip
    a, b = F(2, 3), third  # q of the two tuples
    assert program.costs.tolist() == [0, 0, a, a, 0, 0, b, b]
    assert all(row.equality for row in program.rows)
    rows = defaultdict(set)
    for row in program.rows:
        dense = [F(0)] * 8
        for column, coefficient in zip(row.columns, row.coefficients, strict=True):
            dense[column] = coefficient
        rows[row.kind, row.nodes].add((tuple(dense), row.bound))
    assert rows == {
        ("simplex", ()): {((1, 1, 1, 1, 0, 0, 0, 0), 1), ((0, 0, 0, 0, 1, 1, 1, 1), 1)},
        # Pr[root, y] + D(y) == p(y) D(root), and D(root) is the mass of everything.
        ("target-matching", (0,)): {
            ((a - a / 3, -a / 3, a - a / 3, a - a / 3, b - b / 3, -b / 3, -b / 3, -b / 3), 0),
            ((-2 * a / 3, a - 2 * a / 3, -2 * a / 3, -2 * a / 3,
              -2 * b / 3, b - 2 * b / 3, b - 2 * b / 3, b - 2 * b / 3), 0),
        },
        # At a leaf the bonus token is uniform: Pr[leaf, y] == D(leaf)/2.
        ("target-matching", (1,)): {
            ((0, 0, a / 2, -a / 2, 0, 0, 0, 0), 0), ((0, 0, -a / 2, a / 2, 0, 0, 0, 0), 0)
        },
        ("target-matching", (2,)): {
            ((0, 0, 0, 0, 0, 0, b / 2, -b / 2), 0), ((0, 0, 0, 0, 0, 0, -b / 2, b / 2), 0)
        },
    }  # fmt: skip
    # OPT_1 = min(1/3, 2/3) + min(2/3, 1/3).
    assert optimal(program).value == F(2, 3)


@few
@given(exact_instances(shapes=TINY), st.integers(1, 2))
def test_the_verifier_lp_has_the_value_of_lp_k_and_its_budgets_are_feasible(
    instance: Instance, paths: int
) -> None:
    """Statement 4.1."""
    program = verifier_program(instance, paths)
    found = optimal(program)
    assert found.value == solve_multi_path(instance, paths).value
    budgets = verifier_budgets(instance, program, found.values)
    assert accepted_tokens(budgets) == found.value
    assert target_matching_violation(instance, budgets) is None
    assert worst_excess(instance, budgets, paths) <= 0


@pytest.mark.parametrize(("paths", "value"), [(1, F(11, 9)), (2, F(131, 81)), (3, F(1351, 729))])
def test_the_motivating_values_from_first_principles(paths: int, value: Fraction) -> None:
    assert optimal(verifier_program(motivating(), paths)).value == value


@some
@given(exact_instances(shapes=TINY), st.integers(1, 2))
def test_a_solution_is_a_valid_verifier(instance: Instance, paths: int) -> None:
    """Played over all tuples: probabilities, prefixes of drafted paths only, and the target's output law."""
    program = verifier_program(instance, paths)
    values = optimal(program).values
    tree, vocab, depth = instance.tree, instance.vocab, instance.depth
    weight = dict(tuples(instance, paths))
    spent: dict[tuple[tuple[int, ...], ...], Fraction] = defaultdict(Fraction)
    out: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    target, _ = laws_of(instance)
    bonus = [F(1, vocab)] * vocab
    full = target | dict.fromkeys(itertools.product(range(vocab), repeat=depth), bonus)
    accepted = F(0)
    for label, phi in zip(program.variables, values, strict=True):
        leaves, node, y = label[-3:]
        drafted, z = tuple(tree.path(leaf) for leaf in leaves), tree.path(node)
        assert phi >= 0
        assert any(x[: len(z)] == z for x in drafted)
        spent[drafted] += phi
        accepted += weight[drafted] * phi * len(z)
        for rest in itertools.product(range(vocab), repeat=depth - len(z)):
            string = (*z, y, *rest)
            chance = weight[drafted] * phi
            for i in range(len(z) + 1, depth + 1):
                chance *= full[string[:i]][string[i]]
            out[string] += chance
    assert set(spent) == set(weight)
    assert all(total == 1 for total in spent.values())
    assert accepted == optimal(program).value
    for string in itertools.product(range(vocab), repeat=depth + 1):
        assert out[string] == joint(full, string)


def test_the_target_matching_rows_are_needed() -> None:
    """The negative control: without them everything drafted is accepted, L tokens."""
    program = verifier_program(motivating(), 1)
    free = replace(program, rows=tuple(row for row in program.rows if row.kind == "simplex"))
    assert optimal(free).value == 2


def test_the_number_of_variables_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two paths over 4 leaves: 4 pairs that are equal (3 prefixes each), 4 that share the first token (4),
    8 others (5): 68 prefixes, two tokens each."""
    assert len(verifier_program(motivating(), 2).variables) == 136
    monkeypatch.setattr(verifier_lp_module, "VARIABLE_LIMIT", 136)
    assert len(verifier_program(motivating(), 2).variables) == 136
    monkeypatch.setattr(verifier_lp_module, "VARIABLE_LIMIT", 135)
    with pytest.raises(ValueError, match="more than 135 variables"):
        verifier_program(motivating(), 2)


def test_a_program_that_is_far_too_large_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="more than 500000 variables; use LP_K"):
        verifier_program(random_instance("iid", 3, 3, seed=0), 4)


def test_a_sparse_instance_is_refused() -> None:
    pruned = random_instance("flat", 3, 2, seed=1, zeros=0.4).prune()
    with pytest.raises(ValueError, match="needs the full tree; this instance is sparse"):
        verifier_program(pruned, 1)


def test_floats_give_the_same_program_in_floats() -> None:
    exact, floats = verifier_program(motivating(), 2), verifier_program(motivating().to_float(), 2)
    assert not floats.exact
    assert abs(exact.matrix - floats.matrix).max() < 1e-15
    assert solve(floats).objective == pytest.approx(131 / 81, abs=1e-8)
    budgets = verifier_budgets(motivating().to_float(), floats, solve(floats).values)
    assert budgets.dtype == np.float64
    assert accepted_tokens(budgets) == pytest.approx(131 / 81, abs=1e-8)


def off_path() -> tuple[list[Instance], dict[str, dict[str, float]]]:
    document = json.loads((CASES / "offpath.json").read_text(encoding="utf-8"))
    return [instance_from_json(one) for one in document["instances"]], document["expected"]


def test_one_path_loses_nothing_by_looking_on_path_only() -> None:
    """Statement 7.1."""
    instances, expected = off_path()
    tied = optimal(tied_verifier_program(instances, 1)).value
    assert tied == sum(solve_multi_path(instance, 1).value for instance in instances)
    assert float(tied) == pytest.approx(expected["1"]["on_path_optimum"], abs=1e-8)


def test_two_paths_do() -> None:
    """Statement 7.2."""
    instances, expected = off_path()
    tied = optimal(tied_verifier_program(instances, 2)).value
    apart = sum(solve_multi_path(instance, 2).value for instance in instances)
    assert tied < apart
    assert float(tied) == pytest.approx(expected["2"]["on_path_optimum"], abs=1e-8)
    assert float(apart) == pytest.approx(expected["2"]["sum_of_optima"], abs=1e-8)


def test_an_instance_tied_to_itself_is_worth_twice_its_optimum() -> None:
    tied = tied_verifier_program([motivating(), motivating()], 2)
    assert len(tied.variables) == len(verifier_program(motivating(), 2).variables)
    assert optimal(tied).value == 2 * F(131, 81)


def test_what_cannot_be_tied() -> None:
    for family in (
        [],
        [motivating(), motivating().to_float()],
        [motivating(), random_instance("flat", 3, 2, 0)],
    ):
        with pytest.raises(ValueError, match="tied instances must agree"):
            tied_verifier_program(family, 1)
