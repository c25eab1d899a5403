"""E|Z| of a verifier on an instance: by one pass where there is one, else enumerated, else estimated."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from nodebudget.lp import Instance
from nodebudget.lp.drafting import Drafting
from nodebudget.lp.drafting.tuples import count_drafted_tuples, drafted_leaves, drafted_tuples
from nodebudget.lp.numbers.rationals import float_array
from nodebudget.verifiers import Verifier
from nodebudget.verifiers.expected_tokens import average, from_budgets, given

How = Literal["one pass", "enumerated", "sampled"]


@dataclass(frozen=True)
class Value:
    """Expected accepted tokens.

    Attributes:
        accepted: E|Z|; a Fraction where it is exact.
        standard_error: of an estimate; None otherwise.
        how: "one pass" over the tree, "enumerated" over all that can be drafted, or "sampled".
        tuples: drafted tuples gone through or drawn; 0 for one pass.
    """

    accepted: Any
    standard_error: float | None
    how: How
    tuples: int

    @property
    def exact(self) -> Fraction | None:
        """The value where it is a rational."""
        return self.accepted if isinstance(self.accepted, Fraction) else None


def evaluate(
    verifier: Verifier, instance: Instance, paths: int, *, enumerate_up_to: int, samples: int, seed: list[int]
) -> Value:
    """The value of a verifier, in the cheapest way that is exact; an estimate where none is.

    Args:
        verifier: from the registry or a user's own.
        instance: on the full tree, exact or float.
        paths: number K of drafted paths.
        enumerate_up_to: most drafted tuples to go through.
        samples: drafted tuples of an estimate. The law of each is used in full (E|Z| given the tuple), so the
            error is that of the drafts only.
        seed: of the tuples drawn; verifiers with the same seed are shown the same tuples.

    Raises ValueError for a user's verifier that does not return the law of the tree it was given.
    """
    if (value := one_pass(verifier, instance, paths)) is not None:
        return value
    shown = paths if verifier.multipath else 1
    count = count_drafted_tuples(instance, shown, ordered=verifier.ordered)
    if count <= enumerate_up_to:
        every = drafted_tuples(instance, shown, ordered=verifier.ordered)
        total = average(verifier, instance, every)
        return Value(total, None, "enumerated", count)
    mean, error = _estimate(verifier, instance.to_float(), shown, samples, seed)
    return Value(mean, error, "sampled", samples)


def evaluate_tree(
    verifier: Verifier,
    instance: Instance,
    drafting: Drafting,
    *,
    enumerate_up_to: int,
    samples: int,
    seed: list[int],
) -> Value:
    """The value of a verifier with drafted trees for which it is defined; the other arguments are those of `evaluate`.

    Raises ValueError as `evaluate` does.
    """
    if (found := from_budgets(verifier, instance, drafting)) is not None:
        return Value(found, None, "one pass", 0)
    try:
        count = drafting.count_outcomes(instance)
    except ValueError:  # a sparse instance, or too many to count
        count = enumerate_up_to + 1
    if count <= enumerate_up_to:
        total = average(verifier, instance, drafting.outcomes(instance), drafting)
        return Value(total, None, "enumerated", count)
    rng, floats = np.random.default_rng(seed), instance.to_float()
    times = Counter(drafting.draw(floats, rng) for _ in range(samples))
    mean, error = _mean_and_error(times, [given(verifier, floats, drawn, drafting) for drawn in times])
    return Value(mean, error, "sampled", samples)


def one_pass(verifier: Verifier, instance: Instance, paths: int) -> Value | None:
    """The value by one pass over the tree, where the verifier's budgets have such a form and it is not too large."""
    found = from_budgets(verifier, instance, paths)
    return None if found is None else Value(found, None, "one pass", 0)


def mean_and_variance(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Of values that occur with these shares; the variance is that of the sample, not corrected for its size."""
    mean = float(values @ weights)
    return mean, float(((values - mean) ** 2) @ weights)


def _estimate(
    verifier: Verifier, instance: Instance, paths: int, samples: int, seed: list[int]
) -> tuple[float, float]:
    """Mean and standard error over random drafted tuples; equal ones are evaluated once."""
    leaves = drafted_leaves(instance)
    mass = float_array(instance.joint_draft)[leaves]
    drawn = np.random.default_rng(seed).choice(leaves, size=(samples, paths), p=mass / mass.sum())
    if not verifier.ordered:
        drawn.sort(axis=1)
    times = Counter(map(tuple, drawn.tolist()))
    return _mean_and_error(
        times,
        [given(verifier, instance, [instance.tree.path(leaf) for leaf in drafted]) for drafted in times],
    )


def _mean_and_error(times: Counter[Any], values: list[float]) -> tuple[float, float]:
    """Mean and standard error of values that were seen so often."""
    samples = times.total()
    mean, variance = mean_and_variance(np.array(values), np.array(list(times.values())) / samples)
    return mean, math.sqrt(variance / (samples - 1))
