"""E|Z| of a verifier on a sparse instance: by one pass over the tree, or from random drafts."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from nodebudget.lp import Instance
from nodebudget.verifiers import VERIFIERS, Verifier
from nodebudget.verifiers.expected_tokens import given

from ..sweep.values import Value, mean_and_variance, one_pass

CONTROLS = ("gbv", "specinfer")
"""Verifiers that others are like on the same drafts: traversal of one path is block verification, and so is GBV."""


def evaluate_sparse(
    verifier: Verifier, instance: Instance, paths: int, *, samples: int, seed: list[int]
) -> Value:
    """The value of a verifier on a float instance; an estimate where it takes no single pass.

    Args:
        verifier: from the registry or a user's own.
        instance: float, full or sparse; over local tokens, so that rows are short.
        paths: number K of drafted paths.
        samples: drafted tuples of an estimate. The law of each is used in full (E|Z| given the tuple), so the
            error is that of the drafts only. Where the difference to one of `CONTROLS`, whose value is known,
            varies less than the value itself, the difference is estimated instead.
        seed: of the tuples drawn; verifiers with the same seed are shown the same tuples.

    Raises ValueError for a user's verifier that does not return the law of the tree it was given.
    """
    if (value := one_pass(verifier, instance, paths)) is not None:
        return value
    shown = paths if verifier.multipath else 1
    drawn = [tuple(path) for path in instance.draw_paths(samples * shown, seed).tolist()]
    tuples = [tuple(drawn[i : i + shown]) for i in range(0, len(drawn), shown)]
    if not verifier.ordered:
        tuples = [tuple(sorted(each)) for each in tuples]
    times = Counter(tuples)  # equal ones are evaluated once
    weights = np.array(list(times.values())) / samples
    values = np.array([given(verifier, instance, drafted) for drafted in times])
    choices = [mean_and_variance(values, weights)]
    for name in CONTROLS:
        control = VERIFIERS[name]
        exact = one_pass(control, instance, shown)
        if exact is not None:
            known = np.array([given(control, instance, drafted) for drafted in times])
            mean, variance = mean_and_variance(values - known, weights)
            choices.append((float(exact.accepted) + mean, variance))
    mean, variance = min(choices, key=lambda choice: choice[1])
    return Value(mean, math.sqrt(variance / (samples - 1)), "sampled", samples)
