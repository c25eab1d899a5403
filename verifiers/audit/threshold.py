"""The exact audit of a sampler that takes its uniform numbers as an argument and compares them with thresholds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from nodebudget.lp import Instance, Problem, solve_problem
from nodebudget.lp.drafting import IidPaths
from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.drafting.tuples import (
    DraftedTuple,
    check_count,
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
from .sampler_calls import PAD, OutputError, read_emitted, sampler_name

FLOAT_ROUNDING = Fraction(1, 10**9)
"""Deviation that is put down to rounding where the sampler computes in floats."""

ROWS = ("exact", "numpy", "torch")


def audit_threshold_sampler(
    sampler: Callable[..., Any],
    instance: Instance,
    paths: int,
    *,
    coins: int,
    rows: str = "exact",
    name: str | None = None,
) -> ExactAudit:
    """Judge a sampler exactly: its law is integrated over the breakpoints of its coins (statements 2.1, 10.1).

    `sampler(paths, target_rows, draft_rows, coins)` is as in `audit_sampler`, with an array of `coins` uniform
    numbers in place of the generator. The coins may be scaled, shifted, and compared with numbers, one by one
    or as arrays, and searched for in sorted arrays: then the emitted tokens are constant on boxes of coins, and
    the volumes of these boxes are found by running the sampler once for each, for every tuple of paths that can
    be drafted. Each comparison with a coin at exactly its threshold counts either way: that has probability zero.

    Args:
        sampler: the function under audit.
        instance: on the full tree; a float instance is audited on its rational reading.
        paths: number K of drafted paths.
        coins: how many uniform numbers the sampler is given.
        rows: what the rows are: "exact" for object arrays of Fractions (then the verdict is exact), "numpy" for
            float64 arrays or "torch" for float64 tensors (then the law is that of the float program, and a total
            variation of at most 1e-9 is put down to rounding). Coins are an object array, or `TorchCoins`.
        name: of the sampler, for the report; its __name__ when None.

    Raises ValueError for paths or coins out of range, too many drafted tuples or boxes, an OPT_K without a
    certificate, a sampler that raises or returns something else than tokens, and, with the reason, a sampler
    that does something else with a coin than compare it.
    """
    check_instance(instance)
    check_paths(paths)
    if not isinstance(coins, int) or coins < 0:
        raise ValueError(
            f"coins: got {coins!r}; expected how many uniform numbers the sampler takes, at least 0"
        )
    if rows not in ROWS:
        raise ValueError(f"rows: got {rows!r}; expected one of {', '.join(ROWS)}")
    instance = instance.to_exact()
    problem = Problem(instance, IidPaths(paths))
    count = count_drafted_tuples(instance, paths)
    check_count(count, paths, INSTEAD)
    best = certified_value(solve_problem(problem))
    tree = instance.tree
    total = np.full((len(tree), tree.vocab), fmpq(0), dtype=object)
    faults: list[str] = []
    for leaves, mass in watched(drafted_tuples(instance, paths), "tuple", count):
        for volume, emitted in _outputs(sampler, instance, leaves, coins, rows):
            node = tree.find(emitted[:-1])
            total[node, emitted[-1]] += to_fmpq(mass * volume)
            if not faults and all(tree.path(leaf)[: len(emitted) - 1] != emitted[:-1] for leaf in leaves):
                faults.append(
                    f"for the drafted paths {shown_paths(instance, leaves)} it emitted {format_context(emitted)}; "
                    "expected all tokens but the last to begin one of the paths"
                )
    joint = exact_array(total.ravel()).reshape(total.shape)
    rounding = Fraction(0) if rows == "exact" else FLOAT_ROUNDING
    label = sampler_name(sampler, name)
    return judge(label, problem, joint, faults, best, rounding)


def _outputs(
    sampler: Callable[..., Any], instance: Instance, leaves: DraftedTuple, coins: int, rows: str
) -> list[tuple[Fraction, tuple[int, ...]]]:
    """What the sampler emits for drafted paths, each output with its probability."""
    tree = instance.tree
    nodes = [prefixes(instance, (leaf,)) for leaf in leaves]
    paths = np.array([tree.path(leaf) for leaf in leaves])
    target = np.array([[instance.target_law(z) for z in path] for path in nodes])
    draft = np.array([[instance.draft_law(z) for z in path[:-1]] for path in nodes])

    def program(tossed: list[Any]) -> tuple[int, ...]:
        array = np.empty(coins, dtype=object)
        array[:] = tossed
        if rows == "torch":
            import torch

            from .torch_coins import TorchCoins

            floats = (torch.from_numpy(part.astype(np.float64)) for part in (target, draft))
            returned = sampler(torch.from_numpy(paths.copy()), *floats, TorchCoins(array))
        else:
            dtype: Any = object if rows == "exact" else np.float64
            returned = sampler(paths.copy(), target.astype(dtype), draft.astype(dtype), array)
        tokens = read_emitted(returned, tree.depth, tree.vocab)
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
        raise ValueError(f"on the drafted paths {shown_paths(instance, leaves)}: {what}") from error


def _refusal(error: BaseException) -> NotAThresholdRuleError | None:
    """The coin's own refusal, where numpy has wrapped it into an error of its own."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, NotAThresholdRuleError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None
