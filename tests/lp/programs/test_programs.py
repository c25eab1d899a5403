"""LP_1 and LP_K as plain data, by hand on the motivating instance; every engine solves the same data."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from nodebudget.lp import (
    Instance,
    LinearProgram,
    PrefixTree,
    Row,
    Solution,
    Status,
    count_antichains,
    enumerated_program,
    instance_from_json,
    random_instance,
    single_path_program,
    solve,
    solve_multi_path,
    starting_program,
    verifier_program,
)
from nodebudget.lp.numbers.rationals import exact_array
from nodebudget.lp.programs import multi_path as multi_path_module
from nodebudget.lp.programs import readable as readable_forms
from plain_definitions import float_optimum
from strategies import exact_instances, motivating, some

F = Fraction
ENGINES = ("highs", "scipy", "cvxpy")

# The motivating tree: node 1 is "0", 2 is "1", 3 "0,0", 4 "0,1", 5 "1,0", 6 "1,1"; p = (1/3, 2/3) everywhere.
TARGET_MATCHING = """\
target-matching   D(0) <= 1/3
target-matching   D(1) <= 2/3
target-matching   D(0,0) - 1/3 D(0) <= 0
target-matching   D(0,1) - 2/3 D(0) <= 0
target-matching   D(1,0) - 1/3 D(1) <= 0
target-matching   D(1,1) - 2/3 D(1) <= 0"""

# The six strings have draft probability 2/3, 1/3, 4/9, 2/9, 2/9 and 1/9.
PREFIX_MATCHING = """\
prefix-matching   D(0) <= 2/3
prefix-matching   D(1) <= 1/3
prefix-matching   D(0,0) <= 4/9
prefix-matching   D(0,1) <= 2/9
prefix-matching   D(1,0) <= 2/9
prefix-matching   D(1,1) <= 1/9"""

# f(k/9) = 1 - (9 - k)^2 / 81 for two paths.
F_OF_NINTHS = {1: F(17, 81), 2: F(32, 81), 3: F(45, 81), 4: F(56, 81), 5: F(65, 81), 6: F(72, 81),
               7: F(77, 81), 8: F(80, 81), 9: F(1)}  # fmt: skip

# Each antichain takes from the left half "0" (6 ninths), "0,0" (4), "0,1" (2), both (6) or nothing, and from
# the right half "1" (3), "1,0" (2), "1,1" (1), both (3) or nothing: 5 * 5 - 1 = 24.
ANTICHAINS_IN_NINTHS = {
    (1,): 6, (3,): 4, (4,): 2, (3, 4): 6,
    (2,): 3, (5,): 2, (6,): 1, (5, 6): 3,
    (1, 2): 9, (1, 5): 8, (1, 6): 7, (1, 5, 6): 9,
    (2, 3): 7, (3, 5): 6, (3, 6): 5, (3, 5, 6): 7,
    (2, 4): 5, (4, 5): 4, (4, 6): 3, (4, 5, 6): 5,
    (2, 3, 4): 9, (3, 4, 5): 8, (3, 4, 6): 7, (3, 4, 5, 6): 9,
}  # fmt: skip


def test_lp_1_of_the_motivating_instance_row_by_row() -> None:
    instance = motivating()
    program = single_path_program(instance)
    assert program.describe(instance.tree) == TARGET_MATCHING + "\n" + PREFIX_MATCHING
    assert program.exact
    assert program.variables == (1, 2, 3, 4, 5, 6)
    assert program.costs.tolist() == [1] * 6
    matching = [(0, 0, 1, 1, 2, 2)[node - 1] for node in range(1, 7)]
    nodes = [(node,) if above == 0 else (above, node) for node, above in enumerate(matching, start=1)]
    assert [row.nodes for row in program.rows] == nodes + [(node,) for node in range(1, 7)]
    assert not any(row.equality for row in program.rows)


def test_enumerated_lp_2_of_the_motivating_instance_row_by_row() -> None:
    instance = motivating()
    program = enumerated_program(instance, 2)
    matching, antichains = program.rows[:6], program.rows[6:]
    assert replace(program, rows=tuple(matching)).describe(instance.tree) == TARGET_MATCHING
    assert {row.kind for row in antichains} == {"antichain"}
    assert len(antichains) == len(ANTICHAINS_IN_NINTHS) == 24
    got = {tuple(sorted(row.nodes)): row for row in antichains}
    assert got.keys() == ANTICHAINS_IN_NINTHS.keys()
    for nodes, ninths in ANTICHAINS_IN_NINTHS.items():
        row = got[nodes]
        assert row.bound == F_OF_NINTHS[ninths]
        assert row.coefficients == (1,) * len(nodes)
        assert [program.variables[column] for column in row.columns] == list(row.nodes)


def test_starting_lp_2_has_the_single_nodes_only() -> None:
    instance = motivating()
    program = starting_program(instance, 2)
    assert replace(program, rows=program.rows[:6]).describe(instance.tree) == TARGET_MATCHING
    bounds = {row.nodes: row.bound for row in program.rows[6:]}
    assert bounds == {(z,): F_OF_NINTHS[ANTICHAINS_IN_NINTHS[z,]] for z in range(1, 7)}


def test_nodes_without_mass_have_no_variable() -> None:
    """Of the six strings only "0" and "0,1" have target and draft mass; each has its two rows."""
    target = {(): [F(1, 2), F(1, 2)], (0,): [0, 1], (1,): [1, 0]}
    draft = {(): [1, 0], (0,): [F(1, 3), F(2, 3)], (1,): [1, 0]}
    instance = Instance.from_laws(2, 2, target, draft)
    said = """\
target-matching   D(0) <= 1/2
target-matching   D(0,1) - D(0) <= 0
prefix-matching   D(0) <= 1
prefix-matching   D(0,1) <= 2/3"""
    assert single_path_program(instance).describe(instance.tree) == said
    assert enumerated_program(instance, 2).variables == (1, 4)
    assert {row.nodes: row.bound for row in enumerated_program(instance, 2).rows[2:]} == {
        (1,): 1,
        (4,): F(8, 9),
    }


@some
@given(exact_instances(shapes=((2, 2), (3, 1), (3, 2))))
def test_numbers_of_rows(instance: Instance) -> None:
    live = int(instance.live.sum()) - 1
    antichains = count_antichains(instance.prune().tree)
    for paths in (1, 2):
        assert len(starting_program(instance, paths).rows) == 2 * live
        assert len(enumerated_program(instance, paths).rows) == live + antichains - 2
    assert len(single_path_program(instance).rows) == 2 * live


def assert_solved(program: LinearProgram, solution: Solution) -> None:
    """Primal and dual feasible, with equal objectives: optimal without trusting the engine's word."""
    assert solution.status is Status.OPTIMAL
    matrix, bounds, equal = program.matrix, program.bounds, program.equality
    slack = bounds - matrix @ solution.values
    assert np.all(solution.values >= -1e-9)
    assert np.all(slack >= -1e-8)
    assert np.all(np.abs(slack[equal]) < 1e-8)
    assert np.all(solution.duals[~equal] >= -1e-8)
    costs = np.array([float(c) for c in program.costs])
    gains = (costs - matrix.T @ solution.duals) * program.units
    assert np.all(gains <= 1e-8)
    assert solution.objective == pytest.approx(costs @ solution.values, abs=1e-9)
    assert solution.objective == pytest.approx(bounds @ solution.duals, abs=1e-7)


def programs() -> list[LinearProgram]:
    """LP_1, LP_K both ways and the verifier LP on a table of instances."""
    instances = [motivating()] + [
        random_instance(family, vocab, depth, seed=1, zeros=None if family == "logits" else 0.2)
        for family, (vocab, depth) in itertools.product(("flat", "iid", "logits"), ((2, 3), (3, 2), (4, 1)))
    ]
    out = []
    for instance in instances:
        out.append(single_path_program(instance))
        out += [enumerated_program(instance, paths) for paths in (2, 3)]
        if instance.depth == 1:
            out.append(verifier_program(instance, 2))
    return out


def test_every_engine_solves_the_same_data() -> None:
    for program in programs():
        solutions = {engine: solve(program, engine) for engine in ENGINES}
        for solution in solutions.values():
            assert_solved(program, solution)
        values = [solution.objective for solution in solutions.values()]
        assert max(values) - min(values) < 1e-8
        if program.name == "LP_1":  # its optimum is unique: block verification's budgets
            for solution in solutions.values():
                assert solution.values == pytest.approx(solutions["highs"].values, abs=1e-8)


def test_the_judge_of_solutions_refuses_a_wrong_one() -> None:
    program = enumerated_program(motivating(), 2)
    right = solve(program)
    assert_solved(program, right)
    for wrong in (
        Solution(right.status, right.objective, right.values * 0.999, right.duals),
        Solution(right.status, right.objective, right.values, right.duals * 1.001),
        Solution(right.status, right.objective + 1e-6, right.values, right.duals),
        Solution(Status.UNKNOWN, right.objective, right.values, right.duals),
    ):
        with pytest.raises(AssertionError):
            assert_solved(program, wrong)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_without_an_optimum_is_never_called_optimal(engine: str) -> None:
    one = Fraction(1)

    def program(*rows: Row) -> LinearProgram:
        return LinearProgram("small", (0, 1), exact_array([1, 0]), rows, np.ones(2))

    bounded = Row("antichain", (), (0, 1), (one, one), one)
    below_zero = Row("antichain", (), (0,), (one,), -one)
    free = Row("antichain", (), (0, 1), (one, -one), one)
    fixed = Row("simplex", (), (0, 1), (one, one), 2 * one, equality=True)
    assert solve(program(bounded), engine).objective == pytest.approx(1)
    assert solve(program(bounded, below_zero), engine).status is Status.INFEASIBLE
    assert solve(program(bounded, fixed), engine).status is Status.INFEASIBLE
    assert solve(program(free), engine).status in (Status.UNBOUNDED, Status.UNKNOWN)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_without_variables_is_worth_zero(engine: str) -> None:
    disjoint = Instance.from_laws(2, 1, {(): [1, 0]}, {(): [0, 1]})
    for program in (single_path_program(disjoint), enumerated_program(disjoint, 2)):
        assert program.variables == ()
        solution = solve(program, engine)
        assert solution.status is Status.OPTIMAL
        assert solution.objective == 0


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="engine: got 'glpk'; expected highs, scipy or cvxpy"):
        solve(single_path_program(motivating()), "glpk")


READABLE = [
    ("motivating", motivating(), 3),
    ("flat", random_instance("flat", 2, 3, seed=1, zeros=0.2), 2),
    ("logits", random_instance("logits", 3, 1, seed=1), 4),
]


@pytest.mark.parametrize(("name", "instance", "paths"), READABLE, ids=[name for name, _, _ in READABLE])
def test_the_readable_forms_agree_with_the_plain_data(name: str, instance: Instance, paths: int) -> None:
    import cvxpy as cp

    problem, budgets = readable_forms.single_path(instance)
    problem.solve(solver=cp.HIGHS)
    assert problem.value == pytest.approx(solve(single_path_program(instance)).objective, abs=1e-8)
    assert budgets.value[0] == pytest.approx(1)
    problem, _ = readable_forms.multi_path(instance, paths)
    problem.solve(solver=cp.HIGHS)
    assert problem.value == pytest.approx(float_optimum(instance, paths), abs=1e-8)
    assert problem.value == pytest.approx(float(solve_multi_path(instance, paths).value), abs=1e-8)


@pytest.mark.parametrize("paths", [0, -1, 1.5, True, "2"])
def test_paths_must_be_a_positive_integer(paths: object) -> None:
    for build in (enumerated_program, starting_program, readable_forms.multi_path, verifier_program):
        with pytest.raises(ValueError, match=r"paths: got .*; expected an integer of at least 1"):
            build(motivating(), paths)


def test_enumeration_is_refused_above_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """V = 3, L = 3 has 730^3 + 1 = 389,017,001 antichains (3.3)."""
    with pytest.raises(ValueError, match=r"389017001 antichains; at most 1000000 are enumerated"):
        enumerated_program(random_instance("iid", 3, 3, seed=0), 2)
    monkeypatch.setattr(multi_path_module, "ENUMERATION_LIMIT", 25)
    with pytest.raises(ValueError, match="26 antichains; at most 25"):
        enumerated_program(motivating(), 2)
    monkeypatch.setattr(multi_path_module, "ENUMERATION_LIMIT", 26)
    assert len(enumerated_program(motivating(), 2).rows) == 30


def test_enumeration_is_refused_in_words_however_many_antichains_there_are() -> None:
    """V = 2, L = 14: a number of 5,800 digits, more than Python turns into text."""
    tree = PrefixTree.full(2, 14)
    deep = Instance(tree, *(exact_array([1] + [F(1, 2)] * (len(tree) - 1)) for _ in range(2)))
    with pytest.raises(ValueError, match=r"antichains; at most 1000000 are enumerated"):
        enumerated_program(deep, 2)


def test_enumeration_of_a_deep_chain_does_not_run_out_of_stack() -> None:
    """One token, depth 600: 602 antichains, and p = q accepts everything."""
    chain = instance_from_json({"vocab": 1, "depth": 600, "target": {"*": [1]}, "draft": {"*": [1]}})
    assert len(enumerated_program(chain, 2).rows) == 600 + 600
