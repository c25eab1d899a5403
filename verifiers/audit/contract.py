"""What callers rely on besides the law: pure inputs, reproducible output, no impossible token, NaN refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .extreme_coins import CoinsExhaustedError, extreme_generator, patterns
from .findings import Fault
from .requests import Source
from .sampler_calls import PAD, Caller, OutputError
from .separate_rows import rows_are_separate

CALLS = 16
"""Calls that each property is tried with on each instance."""

ROWS = 8
"""Most requests in a call of a sampler of batches."""


def check_contract(caller: Caller, source: Source, seed: int, threshold: float) -> list[Fault]:
    """All broken properties on one instance, each reported once.

    Args:
        threshold: logarithm of the odds against a false alarm, for the one property that is tested by counting.
    """
    faults = []
    for name, check in _CHECKS.items():
        rng = np.random.default_rng([seed, 1])
        message = next(check(caller, source, rng, seed), None)
        if message is not None:
            faults.append(Fault(name, source.trial.name, message))
    if caller.batch is not None and caller.batch > 1:
        message = rows_are_separate(caller, source, np.random.default_rng([seed, 3]), seed, threshold)
        if message is not None:
            faults.append(Fault("batch rows", source.trial.name, message))
    return faults


def _draw(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> list[Any]:
    count = min(caller.batch or 1, ROWS)
    return source.draw(count, rng, caller.backend.generator(seed), renamed=1.0)


def _inputs_unchanged(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> Iterator[str]:
    generator = caller.backend.generator(seed)
    for i in range(CALLS):
        drawn = _draw(caller, source, rng, seed + i)
        given, kept = caller.request(drawn), caller.request(drawn)
        caller(given, generator)
        for name, mine in kept.parts.items():
            if not bool((mine == given.parts[name]).all()):
                yield f"the {name} were changed in place; expected inputs to be left alone"


def _repeatable(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> Iterator[str]:
    for i in range(CALLS):
        drawn = _draw(caller, source, rng, seed + i)
        first, second = (caller(caller.request(drawn), caller.backend.generator(seed + i)) for _ in range(2))
        if not np.array_equal(first, second):
            yield (
                f"two calls with generators in the same state returned {_shown(first)} and {_shown(second)}; "
                "expected every random number to come from the generator that is passed"
            )


def _extreme_coins(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> Iterator[str]:
    for i in range(CALLS):
        drawn = _draw(caller, source, rng, seed + i)
        for name, pattern in patterns(rng, 8):
            with extreme_generator(caller.backend, pattern) as generator:
                try:
                    emitted = caller(caller.request(drawn), generator)
                except OutputError as error:
                    if not isinstance(
                        error.__cause__, CoinsExhaustedError
                    ):  # a loop that waits for other coins
                        yield f"with {name}: {error}"
                    continue
            for one, tokens in zip(drawn, emitted, strict=True):
                tokens = tokens[tokens != PAD]
                if source.prefix_mass(one.original(tokens)) <= 0:
                    yield (
                        f"with {name} it emitted {tokens.tolist()} for the drafted {one.text}, "
                        "which has target probability 0; expected never to"
                    )


def _nan_rows(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> Iterator[str]:
    """NaN must be refused, or not looked at: then the output is what it is without."""
    if not caller.backend.device.startswith("cpu"):
        return  # on CUDA a NaN can end in a device assertion, after which nothing runs any more
    for i in range(CALLS):
        drawn = _draw(caller, source, rng, seed + i)
        for which in ("target", "draft"):
            for whole in (True, False):
                clean, spoiled = caller.request(drawn), caller.request(drawn)
                rows = spoiled.parts[f"{which} rows"]
                if whole:
                    rows[...] = float("nan")
                elif rows.shape[-2]:
                    rows[..., 0, int(rng.integers(rows.shape[-1]))] = float("nan")
                expected = caller(clean, caller.backend.generator(seed + i))
                try:
                    emitted = caller(spoiled, caller.backend.generator(seed + i))
                except OutputError:
                    continue
                if not np.array_equal(emitted, expected):
                    extent = "only NaN" if whole else "one NaN in the first row"
                    yield (
                        f"{which} rows with {extent} were answered by {_shown(emitted)}; expected an error "
                        "(ValueError) rather than tokens from a law that is none"
                    )


_CHECKS: dict[str, Callable[[Caller, Source, np.random.Generator, int], Iterator[str]]] = {
    "inputs unchanged": _inputs_unchanged,
    "same state, same output": _repeatable,
    "extreme coins": _extreme_coins,
    "NaN rows": _nan_rows,
}


def _shown(emitted: np.ndarray[Any, Any]) -> str:
    listed = [tokens[tokens != PAD].tolist() for tokens in emitted]
    return str(listed[0] if len(listed) == 1 else listed)
