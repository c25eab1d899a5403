"""`nodebudget check`: every statement is there and holds, and none holds when what it checks is broken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from nodebudget.experiments import cli
from nodebudget.experiments.checks import (
    budgets,
    drafts,
    mixed,
    programs,
    races,
    selection,
    tree_verifiers,
    verifiers,
)
from nodebudget.experiments.checks import grid as grid_module
from nodebudget.experiments.checks import run as run_module
from nodebudget.experiments.checks.grid import Case, Grid, build_grid
from nodebudget.experiments.checks.run import STATEMENTS, run_checks
from nodebudget.experiments.checks.statement import Outcome, Statement
from nodebudget.lp import (
    Instance,
    count_antichains,
    depth_one_optimum,
    enumerate_antichains,
    many_paths_limit,
    random_instance,
    ranked_skewed_draft,
    skewed_draft,
    solve_multi_path,
    stable_greedy_skewed_draft,
    token_budgets,
    transport_stop_mass,
    verifier_program,
)
from nodebudget.lp.drafting import GivenTree, IidPaths, WithReplacement
from nodebudget.lp.programs import verifier_lp as verifier_lp_module
from nodebudget.lp.selection.fair_orders import fair_order
from nodebudget.lp.selection.node_rules import neutral, ratio_ranking
from nodebudget.lp.selection.raced_draft import raced_draft
from nodebudget.lp.selection.races import Draws, Rule, race
from nodebudget.lp.selection.transport import transport_to_trees
from nodebudget.verifiers import VERIFIERS, AcceptanceLaw, DraftTree, TreeNodes, get_verifier
from nodebudget.verifiers.algorithms.race import law as race_law
from nodebudget.verifiers.algorithms.recursive_rejection import with_replacement
from nodebudget.verifiers.algorithms.topdown import top_down
from nodebudget.verifiers.registry import lift

COMMAND = str(Path(sys.executable).parent / "nodebudget")
NUMBERS = {
    "2.1", "2.2", "2.3", "3.1", "3.2", "3.3", "4.1", "4.2", "4.3", "4.4", "5.1", "5.2", "5.3", "5.4",
    "6.1", "6.2", "6.3", "6.4", "7.1", "7.2", "8.1", "12.1", "12.2", "12.3", "12.4",
    "13.1", "13.2", "13.3", "13.4", "13.5", "13.6", "13.7", "14.1", "14.2", "14.3", "14.4", "15.2", "15.3",
    "16.1", "16.2", "16.3", "16.4",
}  # fmt: skip


def test_the_command_finds_every_statement_true() -> None:
    """One run, looked at from all sides: it takes a while."""
    done = subprocess.run(
        [COMMAND, "check", "--json"], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    document = json.loads(done.stdout)
    assert document["passed"] is True

    statements = {entry["number"]: entry for entry in document["statements"]}
    assert len(statements) == len(document["statements"])
    assert statements.keys() >= NUMBERS
    for entry in statements.values():
        assert entry["passed"] is True
        assert entry["failures"] == []
        assert entry["instances"] > 0
        assert entry["worst_deviation"] == "0", "these are exact statements"
        assert len(entry["statement"]) > 20

    families = {row["family"]: row for row in document["families"]}
    assert families.keys() >= {"motivating", "depth one", "flat", "zeros", "iid", "markov", "identical"}
    assert sum(row["instances"] for row in families.values()) == document["instances"]
    for row in families.values():
        optima = [row["optimum"][str(paths)] for paths in (1, 2, 3, 4)]
        assert row["bv"] == optima[0]
        assert optima == sorted(optima)
        assert all(row["gbv"][k] <= row["optimum"][k] for k in row["optimum"])
        assert row["gbv"]["1"] == row["bv"]
    motivating = families["motivating"]
    assert motivating["optimum"]["1"] == float(Fraction(11, 9))
    assert motivating["optimum"]["2"] == motivating["gbv"]["2"] == float(Fraction(131, 81))
    assert motivating["optimum"]["3"] == float(Fraction(1351, 729))
    identical = families["identical"]
    assert len(set(identical["optimum"].values())) == 1, "everything is accepted"
    assert identical["gbv"]["2"] < identical["bv"]
    assert any(f.startswith("6.5: GBV is below single-path BV") for f in document["findings"])


def test_the_grid_is_as_large_as_promised() -> None:
    grid = build_grid()
    shapes = {case.shape for case in grid.cases}
    assert shapes >= {(2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (4, 1), (4, 2)}
    assert max(grid_module.PATHS) >= 4
    assert all(case.instance.exact for case in grid.cases)
    assert len({case.label for case in grid.cases}) == len(grid.cases)
    zeros = [case for case in grid.cases if case.family == "zeros"]
    assert any(0 in case.instance.target and 0 in case.instance.draft for case in zeros)
    identical = [case.instance for case in grid.cases if case.family == "identical"]
    assert all(instance.target.tolist() == instance.draft.tolist() for instance in identical)


def small_grid() -> Grid:
    """A few cases on which all checks take moments."""
    listed = [
        ("motivating", build_grid().cases[0].instance),
        ("depth one", random_instance("flat", 2, 1, seed=1)),
        ("depth one", random_instance("flat", 3, 1, seed=2)),
        ("flat", random_instance("flat", 2, 2, seed=4)),
        ("zeros", random_instance("flat", 2, 2, seed=3, zeros=0.3)),
        ("identical", random_instance("identical", 2, 2, seed=9)),
    ]
    cases = [Case(family, f"{family} {k}", instance) for k, (family, instance) in enumerate(listed)]
    return Grid(tuple(cases))


def outcome_of(number: str) -> Outcome:
    (statement,) = [s for s in STATEMENTS if s.number == number]
    ((_, outcome),) = run_checks(small_grid(), [statement]).outcomes
    return outcome


def test_everything_holds_on_the_small_grid() -> None:
    """So that what fails below fails for its own reason."""
    for statement, outcome in run_checks(small_grid()).outcomes:
        assert outcome.passed, f"{statement.number}: {outcome.failures}"


def test_two_processes_find_what_one_finds() -> None:
    statements = [s for s in STATEMENTS if s.number in ("2.3", "3.1", "10.1", "12.4")]
    grid = small_grid()
    alone, shared = (run_checks(Grid(grid.cases), statements, workers=workers) for workers in (1, 2))
    assert shared == alone
    assert shared.passed


def with_first_path_accepted(tree: DraftTree) -> AcceptanceLaw:
    """Accepts the deepest drafted node whatever the target says: not lossless."""
    joint = tree.target * 0
    deepest = len(tree.nodes) - 1
    joint[deepest] = tree.target[deepest]
    return AcceptanceLaw.from_joint(tree, joint)


def without_residual(tree: DraftTree) -> AcceptanceLaw:
    """Token verification that draws the correction from the target itself."""
    stops = VERIFIERS["token"].law(tree).stop
    return AcceptanceLaw.from_joint(tree, stops[:, None] * tree.target)


def with_verifier(name: str, law: Callable[[DraftTree], AcceptanceLaw]) -> dict[str, Any]:
    return {**VERIFIERS, name: replace(VERIFIERS[name], law=law, pick_path=None)}


def constraints_of_the_simplex_only(instance: Instance, paths: int) -> Any:
    program = verifier_program(instance, paths)
    return replace(program, rows=tuple(row for row in program.rows if row.kind == "simplex"))


def always_complete(instance: Instance, stops: Any, paths: int) -> Any:
    return replace(transport_stop_mass(instance, stops, paths), amount=Fraction(1))


class Union(WithReplacement):
    """The probabilities of a hit by each draw are added up, as if two of them could not both hit."""

    def hit_at(self, below: Any, count: int, hits: Any) -> Any:
        return count * sum(q * h for q, h in zip(below.shares, hits, strict=True))


def only(kind: type[WithReplacement]) -> Callable[[Instance], list[Any]]:
    return lambda instance: [kind(*(2,) * instance.depth)]


def of_one_chain(instance: Instance, *_: Any, **options: Any) -> Any:
    return solve_multi_path(instance, GivenTree([(0,)]), **options)


def as_if_with_replacement(name: str) -> Any:
    """A verifier whose rule takes all draws for draws with replacement."""
    base = get_verifier(name.removeprefix("lift:"))
    wrong = replace(
        base,
        law=lambda tree: top_down(tree, with_replacement),
        one_step=lambda tree: with_replacement,
    )
    return lift(wrong) if name.startswith("lift:") else wrong


def not_lifted(name: str) -> Any:
    return get_verifier(name.removeprefix("lift:"))


def looking_down(tree: DraftTree, rule: Rule, levels: int) -> AcceptanceLaw:
    """A race whose order at every node is turned round where the last node that was drawn has an even token."""
    turned = (tree.nodes.token[-1] + 1) % 2

    def order(draws: Draws, wanted: Any, masses: Any) -> Any:
        return rule(draws, wanted, masses)[:: -1 if turned else 1]

    return race_law(tree, order, levels)


def with_copies_merged(tree: DraftTree, rule: Rule, levels: int) -> AcceptanceLaw:
    """A race in which the copies of a node are one before they have raced."""
    nodes = tree.nodes
    distinct = [nodes.path(node) for node in range(1, len(nodes))]
    merged = DraftTree(TreeNodes(distinct), tree.target, tree.draft, drafting=tree.drafting)
    law = race_law(merged, rule, levels)
    return AcceptanceLaw.from_joint(tree, law.joint())


def with_uneven_scores(order: Any, draws: Draws) -> Any:
    """The score of a node is its highest level, whoever wins."""
    found = race(order, draws)
    low = found.low * 0 + draws.one * (draws.levels - 1) / draws.levels  # all in the highest level
    return replace(found, low=low)


def with_other_ranks(order: Any, draws: Draws) -> Any:
    return replace(race(order, draws), rank=race(order[::-1], draws).rank)


HAIR = Fraction(1, 10**30)

# statement, module, name, and what takes its place
BROKEN: list[tuple[str, ModuleType, str, Any]] = [
    ("2.1", verifiers, "VERIFIERS", with_verifier("bv", with_first_path_accepted)),
    ("2.2", budgets, "target_matching_violation", lambda *_: "a violation that is none"),
    ("2.2", budgets, "target_matching_violation", lambda *_: None),
    ("2.3", verifiers, "VERIFIERS", with_verifier("token", without_residual)),
    ("2.3", verifiers, "residual_law", lambda instance, _, node: instance.target_law(node)),
    ("3.1", budgets, "transport_stop_mass", always_complete),
    ("3.1", budgets, "hit_probability", lambda mass, paths: min(1, paths * mass)),
    ("3.2", budgets, "violated_antichains", lambda *_: []),
    ("3.3", budgets, "count_antichains", lambda tree: count_antichains(tree) + 1),
    ("3.3", budgets, "enumerate_antichains", lambda tree: list(enumerate_antichains(tree))[1:]),
    ("4.1", programs, "verifier_program", constraints_of_the_simplex_only),
    ("4.1", grid_module, "solve_multi_path", lambda instance, paths: solve_multi_path(instance, paths + 1)),
    ("4.2", programs, "many_paths_limit", lambda instance: many_paths_limit(instance) - Fraction(1, 1000)),
    ("4.2", programs, "many_paths_floor", lambda instance, _: many_paths_limit(instance)),
    ("4.2", grid_module, "solve_multi_path", lambda instance, k: solve_multi_path(instance, max(1, 5 - k))),
    ("4.3", programs, "block_coupling", lambda instance: sum(token_budgets(instance)[1:]) - HAIR),
    ("4.4", programs, "depth_one_optimum", lambda instance, k: depth_one_optimum(instance, k) + HAIR),
    ("5.1", verifiers, "VERIFIERS", with_verifier("bv", with_first_path_accepted)),
    ("5.1", verifiers, "VERIFIERS", with_verifier("bv", without_residual)),
    ("5.2", verifiers, "block_budgets", lambda instance, _=None: token_budgets(instance)),
    ("5.2", verifiers, "VERIFIERS", with_verifier("bv", VERIFIERS["nss"].law)),
    ("5.3", grid_module, "block_budgets", lambda instance, _=None: token_budgets(instance)),
    ("5.3", grid_module, "solve_multi_path", lambda instance, paths: solve_multi_path(instance, paths + 1)),
    ("5.4", programs, "token_budgets", lambda instance: instance.joint_target),
    ("6.1", selection, "selection_from_transport", lambda instance, _: instance.joint_draft),
    (
        "6.2", selection, "ranked_skewed_draft",
        lambda tree, mass, ranking, paths: ranked_skewed_draft(tree, mass, ranking[::-1], paths),
    ),
    ("6.3", selection, "greedy_skewed_draft", lambda instance, _: instance.joint_draft),
    ("6.3", verifiers, "VERIFIERS", with_verifier("gbv", with_first_path_accepted)),
    ("6.3", verifiers, "VERIFIERS", with_verifier("gbv", VERIFIERS["bv"].law)),
    (
        "6.4", selection, "stable_greedy_skewed_draft",
        lambda instance, paths: stable_greedy_skewed_draft(instance, paths) * (1 if instance.exact else 1 + 1e-9),
    ),
    (
        "6.4", selection, "stable_greedy_skewed_draft",
        lambda instance, paths: stable_greedy_skewed_draft(instance, paths) * (1 + HAIR if instance.exact else 1),
    ),
    ("7.1", verifier_lp_module, "_on_path_laws", lambda *_: ()),
    ("7.2", verifier_lp_module, "_on_path_laws", lambda *_: object()),
    ("8.1", budgets, "violated_antichains", lambda *_: []),
    ("8.1", budgets, "hit_probability", lambda mass, paths: min(1, paths * mass)),
    ("10.1", verifiers, "VERIFIERS", with_verifier("nss", with_first_path_accepted)),
    ("12.1", mixed, "mixed_verifier", lambda _: replace(VERIFIERS["mixed"], law=with_first_path_accepted)),
    ("12.1", mixed, "skewed_draft", lambda instance, paths, _=None: skewed_draft(instance, paths)),
    ("12.2", mixed, "ratio_ranking", neutral),
    ("12.2", mixed, "neutral", ratio_ranking),
    ("12.3", mixed, "depth_one_optimum", lambda instance, k: depth_one_optimum(instance, k) + HAIR),
    (
        "13.1", drafts, "transport_to_trees",
        lambda instance, budgets, drafting: transport_to_trees(instance, budgets, IidPaths(1)),
    ),
    ("13.5", drafts, "path_law_from_transport", lambda instance, carried: instance.joint_draft),
    ("13.2", drafts, "draftings", only(Union)),
    ("13.3", drafts, "solve_multi_path", of_one_chain),
    ("13.4", drafts, "solve_multi_path", of_one_chain),
    ("13.6", drafts, "verifier_program", constraints_of_the_simplex_only),
    ("13.6", drafts, "solve_multi_path", lambda instance, _: solve_multi_path(instance, 1)),
    (
        "13.7", drafts, "solve_multi_path",
        lambda instance, drafting, method="cuts":
            solve_multi_path(instance, drafting if method == "enumerate" else 1, method=method),
    ),
    ("14.1", tree_verifiers, "get_verifier", as_if_with_replacement),
    ("14.2", tree_verifiers, "get_verifier", as_if_with_replacement),
    ("14.2", tree_verifiers, "get_verifier", not_lifted),
    ("14.3", tree_verifiers, "get_verifier", not_lifted),
    ("14.4", tree_verifiers, "get_verifier", not_lifted),
    ("15.1", tree_verifiers, "get_verifier", as_if_with_replacement),
    ("15.2", tree_verifiers, "get_verifier", as_if_with_replacement),
    ("15.3", tree_verifiers, "get_verifier", as_if_with_replacement),
    ("15.5", tree_verifiers, "get_verifier", as_if_with_replacement),
    ("16.1", races, "race_law", looking_down),
    ("16.1", races, "race_law", with_copies_merged),
    (
        "16.1", races, "raced_draft",
        lambda instance, drafting, rule, levels: raced_draft(instance, drafting, fair_order, levels),
    ),
    ("16.2", races, "race", with_uneven_scores),
    ("16.2", races, "race", with_other_ranks),
    ("16.3", races, "fair_order", lambda *numbers: fair_order(*numbers)[::-1]),
    ("16.4", races, "by_ratio", fair_order),
    ("12.4", mixed, "mixed_value", lambda grid, case, paths: 2.0 * case.instance.depth),
]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "module", "name", "broken"),
    BROKEN,
    ids=[f"{number}-{name}-{k}" for k, (number, _, name, _) in enumerate(BROKEN)],
)
def test_a_statement_fails_when_what_it_checks_is_broken(
    number: str, module: ModuleType, name: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, broken)
    outcome = outcome_of(number)
    assert not outcome.passed
    assert outcome.failures


def test_every_statement_has_a_negative_control() -> None:
    assert {number for number, *_ in BROKEN} >= NUMBERS
    assert {statement.number for statement in STATEMENTS} >= NUMBERS


def test_a_value_that_is_not_certified_checks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_floats(instance: Instance, paths: int) -> Any:
        return solve_multi_path(instance, paths, certify=False)

    monkeypatch.setattr(grid_module, "solve_multi_path", in_floats)
    for number in ("4.1", "4.2", "5.3"):
        outcome = outcome_of(number)
        assert not outcome.passed
        assert "not certified" in outcome.failures[0]


def test_a_check_that_breaks_down_is_a_failure() -> None:
    def breaks(_: Grid) -> Outcome:
        raise ArithmeticError("the reason")

    results = run_checks(small_grid(), [Statement("9.9", "breaks", breaks)])
    assert not results.passed
    assert results.outcomes[0][1].failures == ["could not be checked: the reason"]


def test_a_check_that_tries_nothing_does_not_pass() -> None:
    results = run_checks(small_grid(), [Statement("9.9", "nothing", lambda _: Outcome())])
    assert not results.passed


def test_an_outcome_keeps_the_worst_deviation_and_every_failure() -> None:
    outcome = Outcome(instances=2)
    outcome.equal(Fraction(1, 3), Fraction(1, 3), "same")
    assert outcome.passed
    outcome.equal(Fraction(1, 3), Fraction(1, 2), "first")
    outcome.equal(Fraction(1, 2), Fraction(1, 2) + HAIR, "second")
    assert outcome.deviation == Fraction(1, 6)
    assert outcome.failures[0] == "first: got 1/3, expected 1/2"
    assert len(outcome.failures) == 2
    assert not outcome.passed


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_a_statement_that_fails_is_told_and_the_exit_code_is_one(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = Outcome(instances=3)
    failing.equal(Fraction(1, 3), Fraction(1, 2), "the place")
    statements = [Statement("4.3", "words", lambda _: failing), *[s for s in STATEMENTS if s.number == "3.3"]]
    results = run_checks(small_grid(), statements)
    monkeypatch.setattr(run_module, "run_checks", lambda **_: results)
    monkeypatch.setattr(sys, "argv", ["nodebudget", "check", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 1
    printed = capsys.readouterr()
    assert "the place: got 1/3, expected 1/2" in printed.out
    if arguments:
        document = json.loads(printed.out)
        assert document["passed"] is False
        assert [entry["passed"] for entry in document["statements"]] == [False, True]
        assert document["statements"][0]["worst_deviation"] == "1/6"
    else:
        assert "1 of 2 statements hold" in printed.out
