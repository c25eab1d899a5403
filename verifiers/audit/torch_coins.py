"""Coins for a torch program: an array of them that torch's comparisons accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from .coins import Coin, NotAThresholdRuleError


class TorchCoins:
    """Coins in the shape of a tensor; indexing, reshaping, scaling and comparing work as in torch."""

    def __init__(self, coins: np.ndarray[Any, Any]) -> None:
        self._coins = coins

    @property
    def shape(self) -> torch.Size:
        return torch.Size(self._coins.shape)

    def __len__(self) -> int:
        return len(self._coins)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        keys = tuple(_plain(part) for part in key) if isinstance(key, tuple) else _plain(key)
        return _wrapped(self._coins[keys])

    def reshape(self, *shape: int) -> Any:
        return _wrapped(self._coins.reshape(*shape))

    view = reshape

    def unsqueeze(self, dim: int) -> Any:
        return _wrapped(np.expand_dims(self._coins, dim))

    def __lt__(self, other: Any) -> torch.Tensor:
        return _compared(self._coins, other, lambda coin, number: coin < number)

    def __gt__(self, other: Any) -> torch.Tensor:
        return _compared(self._coins, other, lambda coin, number: coin > number)

    __le__, __ge__ = __lt__, __gt__

    def __add__(self, number: Any) -> Any:
        return _wrapped(self._coins + _numbers(number))

    def __sub__(self, number: Any) -> Any:
        return _wrapped(self._coins - _numbers(number))

    def __rsub__(self, number: Any) -> Any:
        return _wrapped(_numbers(number) - self._coins)

    def __mul__(self, number: Any) -> Any:
        return _wrapped(self._coins * _numbers(number))

    def __truediv__(self, number: Any) -> Any:
        return _wrapped(self._coins / _numbers(number))

    __radd__, __rmul__ = __add__, __mul__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", str(func)).strip("_")
        first, second = (*args, None, None)[:2]
        if name in _AFFINE:
            return _AFFINE[name](first, second)
        if name in ("lt", "le", "less", "less_equal"):
            return first < second if isinstance(first, cls) else second > first
        if name in ("gt", "ge", "greater", "greater_equal"):
            return first > second if isinstance(first, cls) else second < first
        if name == "searchsorted" and isinstance(second, cls) and first.ndim == 1:
            below = _compared(second._coins[..., None], first, lambda coin, number: coin > number)
            return below.sum(-1)
        raise NotAThresholdRuleError(
            f"coins were passed to torch's {name}; expected them to be compared with tensors only (audit other "
            "rules with audit_sampler)"
        )


_AFFINE = {
    "add": lambda first, second: first + second if isinstance(first, TorchCoins) else second + first,
    "mul": lambda first, second: first * second if isinstance(first, TorchCoins) else second * first,
    "sub": lambda first, second: first - second if isinstance(first, TorchCoins) else second.__rsub__(first),
    "rsub": lambda first, second: (
        second - first if isinstance(second, TorchCoins) else first.__rsub__(second)
    ),
    "div": lambda first, second: first / second,
    "truediv": lambda first, second: first / second,
}


def _numbers(value: Any) -> Any:
    """Tensors as arrays of Python numbers, so that coins meet them one by one."""
    return value.detach().cpu().numpy().astype(object) if isinstance(value, torch.Tensor) else value


def _plain(part: Any) -> Any:
    return part.numpy() if isinstance(part, torch.Tensor) else part


def _wrapped(coins: Any) -> Any:
    if isinstance(coins, Coin):
        out = np.empty((), dtype=object)
        out[()] = coins
        return TorchCoins(out)
    return TorchCoins(coins)


def _compared(coins: np.ndarray[Any, Any], other: Any, compare: Any) -> torch.Tensor:
    left, right = np.broadcast_arrays(coins, np.asarray(_numbers(other)))
    sides = [compare(coin, number) for coin, number in zip(left.ravel(), right.ravel(), strict=True)]
    return torch.tensor(sides, dtype=torch.bool).reshape(left.shape)
