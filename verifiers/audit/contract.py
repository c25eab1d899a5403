"""What callers rely on besides the law: pure inputs, reproducible output, separate rows, no impossible token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .calls import PAD, Caller, OutputError
from .extreme_coins import extreme_generator, patterns
from .findings import Fault
from .requests import Request, Source

CALLS = 16
"""Calls that each property is tried with on each instance."""


def check_contract(caller: Caller, source: Source, seed: int) -> list[Fault]:
    """All broken properties on one instance, each reported once."""
    faults = []
    for name, check in _CHECKS.items():
        rng = np.random.default_rng([seed, 1])
        message = next(check(caller, source, rng, seed), None)
        if message is not None:
            faults.append(Fault(name, source.trial.name, message))
    return faults


def _draw(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> list[tuple[Any, Any, Any]]:
    return source.draw((caller.batch and min(caller.batch, 8)) or 1, rng, caller.backend.generator(seed))


def _inputs_unchanged(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> Iterator[str]:
    generator = caller.backend.generator(seed)
    for i in range(CALLS):
        drawn = _draw(caller, source, rng, seed + i)
        given, kept = caller.request(drawn), caller.request(drawn)
        caller(given, generator)
        for name, mine, theirs in zip(Request._fields, kept, given, strict=True):
            if not _equal(mine, theirs):
                what = "paths" if name == "paths" else f"{name} rows"
                yield f"the {what} were changed in place; expected inputs to be left alone"


def _repeatable(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> Iterator[str]:
    for i in range(CALLS):
        drawn = _draw(caller, source, rng, seed + i)
        first, second = (caller(caller.request(drawn), caller.backend.generator(seed + i)) for _ in range(2))
        if not np.array_equal(first, second):
            yield (
                f"two calls with generators in the same state returned {_shown(first)} and {_shown(second)}; "
                "expected every random number to come from the generator that is passed"
            )


def _batch_rows(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> Iterator[str]:
    """Target rows with all mass on one token fix each row's output, up to its length, whatever the coins.

    So the rows of a batch can be permuted and padded with others, and each output still be checked alone.
    """
    if caller.batch is None:
        return
    for i in range(CALLS):
        certain = [
            _with_certain_target(drawn, rng)
            for drawn in source.draw(5, rng, caller.backend.generator(seed + i))
        ]
        for order in ([0], [0, 1], list(range(5)), rng.permutation(5).tolist()):
            rows = [certain[b] for b in order]
            given = caller.request([(paths, target, draft) for paths, target, draft, _ in rows])
            emitted = caller(given, caller.backend.generator(seed + i))
            for place, (tokens, row) in enumerate(zip(emitted, rows, strict=True)):
                tokens = tokens[tokens != PAD]
                if not np.array_equal(tokens, [row[3](tuple(tokens[:j])) for j in range(len(tokens))]):
                    yield (
                        f"row {place} of a batch of {len(order)} emitted {tokens.tolist()}, although its target "
                        "rows have all their mass on other tokens; expected each row to be answered by itself"
                    )


def _with_certain_target(drawn: tuple[Any, Any, Any], rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """A request whose target always continues a context in one way, and that continuation as a function."""
    paths, target, draft = drawn
    vocab = target.shape[-1]
    salt = int(rng.integers(1 << 30))
    path = paths[rng.integers(len(paths))]
    follows = int(rng.integers(len(path) + 1))  # tokens of a drafted path that the target agrees with

    def continuation(context: tuple[int, ...]) -> int:
        if len(context) < follows and tuple(path[: len(context)]) == context:
            return int(path[len(context)])
        return int((salt + 7 * len(context) + 3 * sum(context)) % vocab)

    rows = np.zeros_like(target)
    for k, i in np.ndindex(*target.shape[:2]):
        rows[k, i, continuation(tuple(int(y) for y in paths[k, :i]))] = 1.0
    return paths, rows, draft, continuation


def _extreme_coins(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> Iterator[str]:
    for i in range(CALLS // 4):
        drawn = _draw(caller, source, rng, seed + i)
        for name, pattern in patterns(rng, 8):
            with extreme_generator(caller.backend, pattern) as generator:
                try:
                    emitted = caller(caller.request(drawn), generator)
                except OutputError as error:
                    yield f"with {name}: {error}"
                    continue
            for tokens in emitted:
                mass = source.prefix_mass(tokens[tokens != PAD])
                if mass <= 0:
                    shown = tokens[tokens != PAD].tolist()
                    yield f"with {name} it emitted {shown}, which has target probability 0; expected never to"


def _nan_rows(caller: Caller, source: Source, rng: np.random.Generator, seed: int) -> Iterator[str]:
    """NaN must be refused, or not looked at: then the output is what it is without."""
    for i in range(CALLS):
        drawn = _draw(caller, source, rng, seed + i)
        for which in ("target", "draft"):
            for whole in (True, False):
                clean, spoiled = caller.request(drawn), caller.request(drawn)
                rows = getattr(spoiled, which)
                if whole:
                    rows[...] = float("nan")
                else:
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
    "batch rows": _batch_rows,
    "extreme coins": _extreme_coins,
    "NaN rows": _nan_rows,
}


def _equal(one: Any, other: Any) -> bool:
    return bool((one == other).all())


def _shown(emitted: np.ndarray[Any, Any]) -> str:
    listed = [tokens[tokens != PAD].tolist() for tokens in emitted]
    return str(listed[0] if len(listed) == 1 else listed)
