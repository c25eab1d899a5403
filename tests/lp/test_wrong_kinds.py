"""Public functions that are given something of another kind say what they got and what would be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nodebudget.lp as lp
import pytest
from strategies import motivating

INSTANCE = motivating()
TREE, LAWS = INSTANCE.tree, INSTANCE.target

OF_AN_INSTANCE: dict[str, Callable[[Any], Any]] = {
    "token_budgets": lp.token_budgets,
    "block_budgets": lp.block_budgets,
    "block_coupling": lp.block_coupling,
    "many_paths_limit": lp.many_paths_limit,
    "many_paths_floor": lambda given: lp.many_paths_floor(given, 2),
    "depth_one_optimum": lambda given: lp.depth_one_optimum(given, 2),
    "residual_law": lambda given: lp.residual_law(given, LAWS, 3),
    "target_matching_violation": lambda given: lp.target_matching_violation(given, LAWS),
    "instance_to_json": lp.instance_to_json,
    "save_instance": lambda given: lp.save_instance(given, "never.json"),
    "single_path_program": lp.single_path_program,
    "starting_program": lambda given: lp.starting_program(given, 2),
    "enumerated_program": lambda given: lp.enumerated_program(given, 2),
    "verifier_program": lambda given: lp.verifier_program(given, 1),
    "solve_multi_path": lambda given: lp.solve_multi_path(given, 2),
    "solve_single_path": lp.solve_single_path,
}

OF_A_TREE: dict[str, Callable[[Any], Any]] = {
    "stop_mass": lambda given: lp.stop_mass(given, LAWS),
    "count_antichains": lp.count_antichains,
    "enumerate_antichains": lambda given: list(lp.enumerate_antichains(given)),
    "is_antichain": lambda given: lp.is_antichain(given, (1,)),
    "best_antichains": lambda given: lp.best_antichains(given, LAWS, LAWS, [1]),
    "violated_antichains": lambda given: lp.violated_antichains(given, LAWS, LAWS, 2),
    "Instance": lambda given: lp.Instance(given, LAWS, LAWS),
}

OF_AN_ARRAY: dict[str, Callable[[Any], Any]] = {
    "budgets: accepted_tokens": lp.accepted_tokens,
    "budgets: stop_mass": lambda given: lp.stop_mass(TREE, given),
    "budgets: residual_law": lambda given: lp.residual_law(INSTANCE, given, 3),
    "budgets: target_matching_violation": lambda given: lp.target_matching_violation(INSTANCE, given),
    "budgets: best_antichains": lambda given: lp.best_antichains(TREE, given, LAWS, [1]),
    "joint_draft: violated_antichains": lambda given: lp.violated_antichains(TREE, LAWS, given, 2),
    "target: Instance": lambda given: lp.Instance(TREE, given, LAWS),
}


@pytest.mark.parametrize("name", OF_AN_INSTANCE)
def test_what_is_no_instance(name: str) -> None:
    for wrong in ("x", None, TREE, {"vocab": 2}):
        with pytest.raises(ValueError, match=r"^instance: got .*; expected an Instance"):
            OF_AN_INSTANCE[name](wrong)


def test_a_second_wrong_argument_of_block_budgets() -> None:
    with pytest.raises(ValueError, match="skewed_draft: got the int 2; expected a numpy array"):
        lp.block_budgets(INSTANCE, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OF_A_TREE)
def test_what_is_no_tree(name: str) -> None:
    with pytest.raises(ValueError, match=r"^tree: got Instance\(vocab=2.*; expected a PrefixTree"):
        OF_A_TREE[name](INSTANCE)
    with pytest.raises(ValueError, match=r"^tree: got None; expected a PrefixTree"):
        OF_A_TREE[name](None)


@pytest.mark.parametrize("name", OF_AN_ARRAY)
def test_what_is_no_array(name: str) -> None:
    argument = name.split(":")[0]
    for wrong, said in (("x", "the str 'x'"), (None, "None"), ([1, 0], r"the list \[1, 0\]")):
        with pytest.raises(
            ValueError, match=f"^{argument}: got {said}; expected a numpy array with one entry"
        ):
            OF_AN_ARRAY[name](wrong)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: lp.solve(INSTANCE), r"program: got Instance\(.*; expected a LinearProgram"),  # type: ignore[arg-type]
        (lambda: lp.load_instance(3), "path: got the int 3; expected the name of a JSON file"),  # type: ignore[arg-type]
    ],
)
def test_other_arguments(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("x", "target: got the str 'x'; expected a mapping from contexts"),
        ({0: [1, 0]}, "target: a context: got the int 0; expected a tuple of tokens"),
        ({(): 3}, r"target law at context \(\): got the int 3; expected a list of V numbers"),
        ({(): ["1/3", "2/3"]}, "target law at context '': got '1/3' for token 0; expected a number"),
        ({(): {"0": 1}}, "target law at context '': got 1 for token '0'; expected a number for a token id"),
    ],
)
def test_laws_of_another_kind(target: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        lp.Instance.from_laws(2, 1, target, {(): [1, 0]})


def test_right_kinds_pass() -> None:
    """The checks do not refuse everything."""
    for name, call in OF_AN_INSTANCE.items():
        if name not in ("save_instance", "depth_one_optimum"):
            call(INSTANCE)
    for call in OF_A_TREE.values():
        call(TREE)
    for call in OF_AN_ARRAY.values():
        call(LAWS)
