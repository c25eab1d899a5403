"""Generators whose uniform numbers are the extreme ones: 0, and the largest below 1."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .requests import Backend

Pattern = Callable[[int], np.ndarray[Any, Any]]
"""From a count to booleans: which of the next coins are high."""


COIN_LIMIT = 1_000
"""Coins after which a call is given up: a loop that waits for another coin would never end."""


class CoinsExhaustedError(Exception):
    """A sampler asked for more coins than `COIN_LIMIT`: it cannot be tested with constant ones."""


def patterns(rng: np.random.Generator, random_ones: int) -> Iterator[tuple[str, Pattern]]:
    """All low, all high, alternating from either end, and random mixtures."""
    yield "every coin 0", lambda count: np.zeros(count, dtype=bool)
    yield "every coin just below 1", lambda count: np.ones(count, dtype=bool)
    for name, start in (("coins 0 and just below 1 in turn", 0), ("coins just below 1 and 0 in turn", 1)):
        yield name, _alternating(start)
    for _ in range(random_ones):
        yield "a random mixture of coins 0 and just below 1", lambda count: rng.random(count) < 0.5


@contextlib.contextmanager
def extreme_generator(backend: Backend, pattern: Pattern) -> Iterator[Any]:
    """A generator of the library whose uniform numbers follow a pattern.

    In numpy these are `random`, `uniform` and `choice` of the generator that is handed over. In torch they are
    `torch.rand`, `torch.rand_like` and `Tensor.uniform_` between 0 and 1, whichever generator they are given. Other
    draws, such as exponential, integer or multinomial ones, stay random.
    """
    drawn = 0

    def limited(count: int) -> np.ndarray[Any, Any]:
        nonlocal drawn
        drawn += count
        if drawn > COIN_LIMIT:
            raise CoinsExhaustedError(f"it asked for more than {COIN_LIMIT} coins")
        return pattern(count)

    if backend.library == "numpy":
        yield _ExtremeGenerator(limited)
    else:
        with _torch_mode(limited):
            yield backend.generator(0)


class _ExtremeGenerator(np.random.Generator):
    def __init__(self, pattern: Pattern) -> None:
        super().__init__(np.random.PCG64(0))
        self._pattern = pattern

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        shape = () if size is None else (tuple(size) if np.iterable(size) else (size,))
        if out is not None:
            shape, dtype = out.shape, out.dtype
        high = np.nextafter(np.array(1, dtype=dtype), np.array(0, dtype=dtype))
        coins = np.where(self._pattern(int(np.prod(shape))), high, high * 0).reshape(shape)
        if out is not None:
            out[...] = coins
            return out
        return coins if shape else coins[()]

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if size is None and (np.ndim(low) or np.ndim(high)):
            size = np.broadcast_shapes(np.shape(low), np.shape(high))
        return low + (np.asarray(high) - low) * self.random(size)

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        items = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        weights = np.ones(len(items)) if p is None else np.asarray(p, dtype=float)
        if not replace or not np.isclose(weights.sum(), 1 if p is not None else len(items)):
            return super().choice(a, size, replace, p, axis, shuffle)
        cumulative = np.cumsum(weights)
        return items[np.searchsorted(cumulative / cumulative[-1], self.random(size), side="right")]


def _alternating(start: int) -> Pattern:
    drawn = start

    def pattern(count: int) -> np.ndarray[Any, Any]:
        nonlocal drawn
        drawn += count
        return (np.arange(drawn - count, drawn) % 2).astype(bool)

    return pattern


def _torch_mode(pattern: Pattern) -> Any:
    import torch
    from torch.overrides import TorchFunctionMode

    class ExtremeCoins(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            drawn = func(*args, **kwargs)
            bounds = (*args[1:3], *(kwargs[key] for key in ("from", "to") if key in kwargs))
            unit = func is not torch.Tensor.uniform_ or bounds in ((), (0,), (1,), (0, 1))
            if func in (torch.rand, torch.rand_like, torch.Tensor.uniform_) and unit:
                with torch._C.DisableTorchFunction():
                    below_one = torch.nextafter(torch.ones_like(drawn), torch.zeros_like(drawn))
                    high = torch.from_numpy(pattern(drawn.numel())).reshape(drawn.shape).to(drawn.device)
                    drawn.copy_(torch.where(high, below_one, torch.zeros_like(drawn)))
            return drawn

    return ExtremeCoins()
