"""The exact audit of a sampler that takes its uniform numbers as an argument and compares them with thresholds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from nodebudget.lp import Instance, Problem, solve_problem
from nodebudget.lp.drafting import IidPaths
from nodebudget.lp.drafting.drafting import require_full
from nodebudget.lp.drafting.specs import Drafted, which_drafting
from nodebudget.lp.drafting.tuples import (
    check_count,
    checked_count,
    count_drafted_tuples,
    drafted_tuples,
    prefixes,
)
from nodebudget.lp.instances.instance import check_instance
from nodebudget.lp.instances.progress import watched
from nodebudget.lp.instances.trees import format_context
from nodebudget.lp.numbers.rationals import exact_array, to_fmpq

from .coins import Coin, NotAThresholdRuleError, boxes
from .exact import INSTEAD, certified_value, shown_paths
from .judgement import ExactAudit, judge
from .requests import Backend, Drawn
from .sampler_calls import PAD, OutputError, read_emitted, sampler_name
from .tree_requests import DrawnTree

FLOAT_ROUNDING = Fraction(1, 10**9)
"""Deviation that is put down to rounding where the sampler computes in floats."""

ROWS = ("exact", "numpy", "torch")


def audit_threshold_sampler(
    sampler: Callable[..., Any],
    instance: Instance,
    paths: Drafted | None = None,
    *,
    coins: int,
    drafting: Drafted | None = None,
    rows: str = "exact",
    name: str | None = None,
) -> ExactAudit:
    """Judge a sampler exactly: its law is integrated over the breakpoints of its coins (statements 2.1, 10.1).

    `sampler(paths, target_rows, draft_rows, coins)` is as in `audit_sampler`, with an array of `coins` uniform
    numbers in place of the generator; `sampler(tree, coins)` where something else than K i.i.d. paths is drafted.
    The coins may be scaled, shifted, and compared with numbers, one by one or as arrays, and searched for in
    sorted arrays: then the emitted tokens are constant on boxes of coins, and the volumes of these boxes are found
    by running the sampler once for each, for everything that can be drafted. Each comparison with a coin at
    exactly its threshold counts either way: that has probability zero.

    Args:
        sampler: the function under audit.
        instance: on the full tree; a float instance is audited on its rational reading.
        paths: number K of drafted paths.
        coins: how many uniform numbers the sampler is given.
        drafting: instead of `paths`, what is drafted: a `Drafting`, or its text form such as "without:2,1".
        rows: what the rows are: "exact" for object arrays of Fractions (then the verdict is exact), "numpy" for
            float64 arrays or "torch" for float64 tensors (then the law is that of the float program, and a total
            variation of at most 1e-9 is put down to rounding). Coins are an object array, or `TorchCoins`.
        name: of the sampler, for the report; its __name__ when None.

    Raises ValueError for paths or coins out of range, what cannot be drafted on the instance, a sparse instance, too
    many outcomes or boxes, an optimum without a certificate, a sampler that raises or returns something else than
    tokens, and, with the reason, a sampler that does something else with a coin than compare it.
    """
    check_instance(instance)
    drafted = which_drafting(paths, drafting)
    if not isinstance(coins, int) or coins < 0:
        raise ValueError(
            f"coins: got {coins!r}; expected how many uniform numbers the sampler takes, at least 0"
        )
    if rows not in ROWS:
        raise ValueError(f"rows: got {rows!r}; expected one of {', '.join(ROWS)}")
    problem = Problem(instance.to_exact(), drafted)
    instance, tree = problem.instance, problem.instance.tree
    require_full(instance, "the audit of a threshold sampler")
    outcomes, count = _outcomes(problem)
    best = certified_value(solve_problem(problem))
    total = np.full((len(tree), tree.vocab), fmpq(0), dtype=object)
    faults: list[str] = []
    for drawn, text, mass in watched(outcomes, "tuple" if problem.paths else "tree", count):
        for volume, emitted in _outputs(sampler, drawn, text, coins, rows):
            node = tree.find(emitted[:-1])
            total[node, emitted[-1]] += to_fmpq(mass * volume)
            if not faults and not drawn.has(emitted[:-1]):
                faults.append(
                    f"for the drafted {text} it emitted {format_context(emitted)}; expected all tokens but the last to "
                    f"{drawn.accepted}"
                )
    joint = exact_array(total.ravel()).reshape(total.shape)
    rounding = Fraction(0) if rows == "exact" else FLOAT_ROUNDING
    label = sampler_name(sampler, name)
    return judge(label, problem, joint, faults, best, rounding)


def _outcomes(problem: Problem) -> tuple[Iterator[tuple[Drawn | DrawnTree, str, Fraction]], int]:
    """All that can be drafted, each with its text and its probability, and how much that is."""
    instance, drafting = problem.instance, problem.drafting
    if isinstance(drafting, IidPaths):
        count = count_drafted_tuples(instance, drafting.paths)
        check_count(count, drafting.paths, INSTEAD)
        tuples = drafted_tuples(instance, drafting.paths)
        return (
            (_paths(instance, leaves), f"paths {shown_paths(instance, leaves)}", mass)
            for leaves, mass in tuples
        ), count
    count = checked_count(drafting, instance)
    trees = (
        (DrawnTree.of(instance, map(instance.tree.path, nodes), drafting), mass)
        for nodes, mass in drafting.outcomes(instance)
    )
    return ((tree, tree.text, mass) for tree, mass in trees), count


def _paths(instance: Instance, leaves: tuple[int, ...]) -> Drawn:
    nodes = [prefixes(instance, (leaf,)) for leaf in leaves]
    return Drawn(
        np.array([instance.tree.path(leaf) for leaf in leaves]),
        np.array([[instance.target_law(z) for z in path] for path in nodes]),
        np.array([[instance.draft_law(z) for z in path[:-1]] for path in nodes]),
    )


class _Fractions(Backend):
    """Rows of Fractions."""

    def rows(self, values: Any) -> Any:
        return np.array(values, dtype=object)


def _outputs(
    sampler: Callable[..., Any], drawn: Drawn | DrawnTree, text: str, coins: int, rows: str
) -> list[tuple[Fraction, tuple[int, ...]]]:
    """What the sampler emits for what was drafted, each output with its probability."""
    backend = _Fractions() if rows == "exact" else Backend(rows)

    def program(tossed: list[Any]) -> tuple[int, ...]:
        array: Any = np.empty(coins, dtype=object)
        array[:] = tossed
        if rows == "torch":
            from .torch_coins import TorchCoins

            array = TorchCoins(array)
        request = drawn.request(backend)
        tokens = read_emitted(sampler(*request.arguments, array), request.depth, request.vocab)
        return tuple(tokens[tokens != PAD].tolist())

    try:
        return [(volume, emitted) for volume, emitted in boxes(program, coins)]
    except NotAThresholdRuleError:
        raise
    except Exception as error:  # whatever a user's function does
        if (reason := _refusal(error)) is not None:
            raise reason from error
        if Coin.__name__ in str(error):
            raise NotAThresholdRuleError(
                f"a coin was used in another way than compared with a number: {error}"
            ) from error
        what = error if isinstance(error, OutputError) else f"it raised {type(error).__name__}: {error}"
        raise ValueError(f"on the drafted {text}: {what}") from error


def _refusal(error: BaseException) -> NotAThresholdRuleError | None:
    """The coin's own refusal, where numpy has wrapped it into an error of its own."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, NotAThresholdRuleError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None
