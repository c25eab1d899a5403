"""Is each row of a batch answered by itself?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .requests import Drawn, Source
from .sampler_calls import PAD, Caller

CALLS = 16
"""Batches that are permuted and padded on each instance."""

ROWS = 5
"""Most requests in such a batch."""

COMPANY = 600
"""Requests that are judged in each of two kinds of company, at least."""

Continuation = Callable[[tuple[int, ...]], int]


def rows_are_separate(
    caller: Caller, source: Source, rng: np.random.Generator, seed: int, threshold: float
) -> str | None:
    """What shows that rows influence each other, or None. A batch of one must be answered rightly by itself.

    Two ways. Target rows with all their mass on one token fix a row's output, up to its length, whatever the
    coins: so rows can be permuted and padded, and each output still be checked alone. And the accepted length of
    a request must have the same law whether the other rows are accepted or rejected: the two samples' largest
    distance of distribution functions is compared with the bound of Dvoretzky, Kiefer, Wolfowitz and Massart.
    """
    return _by_certain_targets(caller, source, rng, seed) or _by_company(caller, source, rng, seed, threshold)


def _by_certain_targets(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> str | None:
    rows = min(caller.batch or 1, ROWS)
    for i in range(CALLS):
        drawn = source.draw(rows, rng, caller.backend.generator(seed + i), renamed=1.0)
        certain = [_with_certain_target(one, rng) for one in drawn]
        for order in ([0], list(range(rows)), rng.permutation(rows).tolist(), [0] * rows):
            given = caller.request([certain[b][0] for b in order])
            emitted = caller(given, caller.backend.generator(seed + i))
            for place, b in enumerate(order):
                tokens = emitted[place][emitted[place] != PAD]
                if np.array_equal(tokens, [certain[b][1](tuple(tokens[:j])) for j in range(len(tokens))]):
                    continue
                if len(order) == 1:
                    return None  # wrong by itself: a matter of the law, not of the batch
                return (
                    f"row {place} of a batch of {len(order)} emitted {tokens.tolist()}, although its target rows "
                    "have all their mass on other tokens; expected each row to be answered by itself"
                )
    return None


def _by_company(
    caller: Caller, source: Source, rng: np.random.Generator, seed: int, threshold: float
) -> str | None:
    generator = caller.backend.generator(seed)
    judged = max(1, min(caller.batch or 1, 2 * ROWS) // 2)
    size = min(caller.batch or 1, 2 * judged)
    counts = np.zeros((2, source.depth + 1))
    for _, accepted in itertools.product(range(math.ceil(COMPANY / judged)), (0, 1)):
        drawn = source.draw(size, rng, generator)
        batch = [
            *drawn[:judged],
            *(_with_target(one, _along(one) if accepted else _beside(one)) for one in drawn[judged:]),
        ]
        order = rng.permutation(size)
        tokens = caller(caller.request([batch[b] for b in order]), generator)[order < judged]
        counts[accepted] += np.bincount((tokens != PAD).sum(1) - 1, minlength=source.depth + 1)
    total = counts[0].sum()
    distributions = counts.cumsum(1) / total
    apart = float(np.abs(distributions[0] - distributions[1]).max())
    # Each empirical distribution is within the bound of its own but for exp(-threshold) / 2, twice two-sided.
    bound = 2 * math.sqrt((threshold + math.log(4)) / (2 * total))
    if apart <= bound:
        return None
    means = counts @ np.arange(source.depth + 1) / total
    return (
        f"a request keeps {means[1]:.3f} drafted tokens on average when the other rows of its batch are accepted and "
        f"{means[0]:.3f} when they are rejected; expected each row to be answered by itself"
    )


def _with_certain_target(drawn: Drawn, rng: np.random.Generator) -> tuple[Drawn, Continuation]:
    """The request with a target that always continues a context in one way, and that continuation."""
    vocab, salt = drawn.target.shape[-1], int(rng.integers(1 << 30))
    path = drawn.paths[rng.integers(len(drawn.paths))]
    follows = int(rng.integers(len(path) + 1))  # tokens of a drafted path that the target agrees with

    def continuation(context: tuple[int, ...]) -> int:
        if len(context) < follows and tuple(path[: len(context)]) == context:
            return int(path[len(context)])
        return int((salt + 7 * len(context) + 3 * sum(context)) % vocab)

    return _with_target(drawn, continuation), continuation


def _along(drawn: Drawn) -> Continuation:
    """Always the first drafted path."""
    path = drawn.paths[0]
    return lambda context: int(path[min(len(context), len(path) - 1)])


def _beside(drawn: Drawn) -> Continuation:
    """A token that no path begins with, if there is one."""
    vocab = drawn.target.shape[-1]
    free = [y for y in range(vocab) if y not in drawn.paths[:, 0]]
    return lambda context: free[0] if free else int(drawn.paths[0, 0] + 1) % vocab


def _with_target(drawn: Drawn, continuation: Continuation) -> Drawn:
    rows: Any = np.zeros_like(drawn.target)
    for k, i in np.ndindex(*drawn.target.shape[:2]):
        rows[k, i, continuation(tuple(int(y) for y in drawn.paths[k, :i]))] = 1.0
    return drawn._replace(target=rows)
