"""Array operations on one kind of number, so that a verifier is written once.

Laws are computed in flint rationals (exact trees), numpy floats, or torch tensors on any device. Only what
`array_api_compat` does not settle between them lives here. Nothing in this file reads a device value on the
host except `Arrays.read` and `Arrays.on_host`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import array_api_compat
import array_api_compat.numpy
import numpy as np
from flint import fmpq
from nodebudget.lp.numbers.rationals import fmpq_array, to_fraction

Array = Any
"""A numpy array (float, or object holding rationals) or a torch tensor."""

IN_CACHE = 2**16
"""Numbers of a row, or of a few rows, that are worked on together in this machine's memory: half a megabyte."""

DTYPES = ("float64", "float32")
"""What float laws may be computed in; anything shorter loses the law."""


class Arrays:
    """The operations that laws need, on rationals, numpy floats or torch tensors of one device.

    Attributes:
        xp: the array namespace.
        exact: True for rationals; then `dtype` is object.
        precision: "exact", "float64" or "float32".
        dtype: the dtype that laws are computed in.
        device: the torch device, or None.
    """

    def __init__(self, like: Array, dtype: str) -> None:
        """Take namespace and device from `like`, an array of rows."""
        self.exact = bool(like.dtype == object)
        self.torch = array_api_compat.is_torch_array(like)
        self.xp: Any = array_api_compat.array_namespace(like) if self.torch else array_api_compat.numpy
        self.device: Any = like.device if self.torch else None
        self.precision = "exact" if self.exact else dtype
        self.dtype: Any = np.dtype(object) if self.exact else getattr(self.xp, dtype)
        self.zero: Any = fmpq(0) if self.exact else 0.0
        self.one: Any = fmpq(1) if self.exact else 1.0

    @property
    def hosted(self) -> bool:
        """True for floats in this machine's own memory, where cache matters and launches cost nothing."""
        return not self.exact and (not self.torch or self.device.type == "cpu")

    @property
    def numpy(self) -> bool:
        """True for numpy's floats, which may be looked at at any time."""
        return not (self.exact or self.torch)

    def slices(self, count: int, vocab: int) -> list[slice]:
        """How to go through so many rows (count, V): as many together as stay in cache, or all on a device."""
        together = max(1, IN_CACHE // vocab) if self.hosted else max(1, count)
        return [slice(start, min(start + together, count)) for start in range(0, count, together)]

    def in_slices(self, count: int, vocab: int, part: Callable[[slice], Array]) -> Array:
        """(count,): numbers of so many rows (count, V), at least one, from those of each of `slices`."""
        found = [part(some) for some in self.slices(count, vocab)]
        return found[0] if len(found) == 1 else self.xp.concat(found)

    def laws(self, rows: Array, totals: Array) -> Array:
        """Given rows (g, V) over their totals (g,), in the numbers that laws are computed in.

        In the rows' own memory where that is possible; pass a copy.
        """
        if not self.exact:
            rows = self.xp.astype(rows, self.dtype, copy=False)
            with np.errstate(divide="ignore", invalid="ignore"):
                rows /= totals[:, None]
        return rows

    def numbers(self, values: Array) -> Array:
        """A copy of any rationals or floats in the numbers that laws are computed in."""
        if self.exact:
            return fmpq_array(values.ravel()).reshape(values.shape)
        if self.torch:
            return values.detach().to(self.dtype, copy=True)
        return np.array(values, dtype=self.dtype)

    def from_host(self, values: Any) -> Array:
        """A vector of host numbers, sent to the device without waiting for it."""
        if self.exact:
            return fmpq_array(to_fraction(value) for value in values)
        return self._send(np.asarray(values, dtype=np.float64), self.dtype)

    def on_host(self, values: Array) -> Array:
        """Numbers of laws in numpy's memory: rationals as they are, floats in double precision. Waits for a device."""
        if self.exact:
            return values
        return np.asarray(values.detach().cpu() if self.torch else values, dtype=np.float64)

    def from_rows(self, values: Array) -> Array:
        """What was computed from `on_host`, of any shape, in the numbers of laws again."""
        return values if self.exact else self._send(values, self.dtype)

    def uniforms(self, values: Any) -> Array:
        """Uniform numbers of the host, in double precision or as the rationals that they are."""
        return self.from_host(values) if self.exact else self.double(values)

    def double(self, values: Any) -> Array:
        """Host floats in double precision, sent to the device without waiting for it."""
        return self._send(np.asarray(values, dtype=np.float64), self.xp.float64)

    def index(self, values: Any) -> Array:
        """Host integers as an index array, not to be written to; sent to the device without waiting for it.

        Those of a tree's shape are sent once: the next tree of the same shape finds them there.
        """
        values = np.asarray(values, dtype=np.int64)
        if not self.torch:
            return values
        # Another stream must not read what is still on its way in this one.
        stream = self.xp.cuda.current_stream(self.device).cuda_stream if self.device.type == "cuda" else None
        return _sent(values.tobytes(), values.shape, self.device, stream)

    def _send(self, values: Any, dtype: Any) -> Array:
        if self.torch:
            # A blocking copy would make the host wait for the device's queue.
            return self.xp.tensor(values, dtype=dtype).to(self.device, non_blocking=True)
        return values.astype(dtype, copy=False)

    def read(self, values: Sequence[Array]) -> list[float]:
        """One-element arrays of indices or floats as host floats, in a single transfer."""
        if self.numpy:
            return [float(value[0]) for value in values]
        stacked = self.xp.concat([self.xp.astype(value, self.dtype) for value in values])
        return [float(value) for value in stacked.tolist()]

    def zeros(self, *shape: int) -> Array:
        """Zeros of the laws' kind."""
        return self._constant(shape, self.zero)

    def ones(self, *shape: int) -> Array:
        """Ones of the laws' kind."""
        return self._constant(shape, self.one)

    def empty(self, *shape: int) -> Array:
        """Memory of the laws' kind, to be written to."""
        return self.xp.empty(shape, dtype=self.dtype, **({"device": self.device} if self.torch else {}))

    def _constant(self, shape: tuple[int, ...], value: Any) -> Array:
        if self.torch:
            return self.xp.full(shape, value, dtype=self.dtype, device=self.device)
        return np.full(shape, value, dtype=self.dtype)

    def take(self, values: Array, index: Array) -> Array:
        """The entries or rows of `values` at a one-dimensional index array."""
        return values.index_select(0, index) if self.torch else values.take(index, axis=0)

    def pick(self, rows: Array, tokens: Array) -> Array:
        """From each row of (g, V), the entry at its token of (g,)."""
        if self.torch:
            return rows.gather(1, tokens[:, None])[:, 0]
        return np.take_along_axis(rows, tokens[:, None], axis=1)[:, 0]

    def clear(self, rows: Array, tokens: Array) -> None:
        """Set the entries of rows (g, V) at each row's tokens (g, k) to zero, in place."""
        self.put(rows, tokens, self.zeros(*tokens.shape))

    def put(self, rows: Array, tokens: Array, values: Array) -> None:
        """Set the entries of rows (g, V) at each row's tokens (g, k) to values (g, k), in place."""
        if self.torch:
            rows.scatter_(1, tokens, values)
        else:
            np.put_along_axis(rows, tokens, values, axis=1)

    def positions(self, count: int) -> Array:
        """0, 1, ..., count - 1, made on the device."""
        if self.torch:
            return self.xp.arange(count, device=self.device)
        return np.arange(count)

    def in_order(self, rows: Array, orders: Array) -> Array:
        """(g, V): each row's entries in the order of a permutation."""
        if self.torch:
            return rows.gather(1, orders)
        listed = np.empty_like(rows)
        for row, order, out in zip(rows, orders, listed, strict=True):
            row.take(order, out=out, mode="clip")  # with the default mode there would be one more copy
        return listed

    def out_of_order(self, rows: Array, orders: Array, out: Array) -> None:
        """Put each row's entries where `in_order` took them from, into `out` (g, V)."""
        if self.torch:
            out.scatter_(1, orders, rows)
            return
        for row, order, values in zip(out, orders, rows, strict=True):
            row[order] = values

    def find(self, order: Array, tokens: Any) -> Array:
        """(m,): the place of each of m tokens, given on the host, in an order (1, V)."""
        if self.torch:
            found = order == self.index(tokens)[:, None]
            return self.xp.argmax(self.xp.astype(found, self.xp.uint8), axis=1)
        places = {token: int((order[0] == token).argmax()) for token in set(tokens.tolist())}
        return np.array([places[token] for token in tokens.tolist()])

    def sums_before(self, rows: Array) -> Array:
        """(g, V): for each entry of a row the sum of those before it."""
        if self.torch or self.exact:
            rows = self.xp.concat([self.zeros(rows.shape[0], 1), rows[:, :-1]], axis=1)
            return self.xp.astype(self.running_sums(rows), self.dtype, copy=False)
        sums = np.empty(rows.shape)
        sums[:, 0] = 0
        np.cumsum(rows[:, :-1], axis=1, dtype=np.float64, out=sums[:, 1:])
        return sums.astype(self.dtype, copy=False)

    def running_sums(self, values: Array) -> Array:
        """The sums along the last axis up to each entry, of floats in double precision.

        In single precision the many small terms of a large vocabulary would be lost to the sum before them.
        """
        return self.xp.cumsum(values, -1, **({} if self.exact else {"dtype": self.xp.float64}))

    def subtract(self, first: Array, second: Array) -> Array:
        """first - second, in the memory of the second."""
        return self.xp.subtract(first, second, out=second)

    def sum(self, values: Array) -> Array:
        """The sum along the last axis."""
        return values.sum(-1)

    def mass(self, values: Array) -> Array:
        """(1,): the sum of the absolute values, which is above that of the values where one is negative."""
        if self.numpy and values.min() >= 0:
            return values.sum(keepdims=True)  # in one pass and a short one, and without an array in between
        return self.xp.reshape(self.sum(self.xp.abs(values)), (1,))

    def positive(self, values: Array) -> Array:
        """max(0, values), in the memory of values; NaN stays NaN."""
        return values.clamp_(min=0) if self.torch else np.maximum(values, self.zero, out=values)

    def split(self, values: Array) -> list[Any]:
        """The numbers of a vector (n,), to go on with one by one: on the host plain numbers, which cost far less."""
        if self.torch:
            return [values[i : i + 1] for i in range(len(values))]
        return list(values.tolist())

    def join(self, numbers: list[Any]) -> Array:
        """The vector of numbers like those of `split`."""
        return self.xp.concat(numbers) if self.torch else np.array(numbers, dtype=self.dtype)

    def divide(self, numerator: Array, denominator: Array) -> Array:
        """numerator / denominator, and 0 wherever the denominator is 0; of arrays, or of numbers of `split`."""
        if not hasattr(denominator, "shape"):
            return numerator / denominator if denominator else self.zero
        empty = denominator == 0
        if not self.torch:
            denominator = self.xp.where(empty, self.one, denominator)
        return self.xp.where(empty, self.zero, numerator / denominator)

    def normalise(self, rows: Array, fallback: Callable[[], Array]) -> Array:
        """Each row over its sum, maybe in its memory; one without mass becomes the row of `fallback()`."""
        mass = self.sum(rows)[:, None]
        empty = mass == 0
        if not self.torch and not empty.any():
            rows /= mass
            return rows
        return self.xp.where(empty, fallback(), rows / self.xp.where(empty, self.one, mass))

    def products(self, factors: Array) -> Array:
        """(n + 1,): the products of the first 0, 1, ..., n factors."""
        return self.xp.cumprod(self.xp.concat([self.ones(1), factors]), 0)

    @cached_property
    def slack(self) -> Any:
        """What a sum of probabilities that equals one may be off by rounding; 0 in exact arithmetic."""
        return self.zero if self.exact else 16 * float(self.xp.finfo(self.dtype).eps)

    @cached_property
    def largest(self) -> Any:
        """A quarter of the largest finite float: times a probability it does not overflow."""
        return float(self.xp.finfo(self.dtype).max) / 4


@lru_cache(maxsize=4096)
def _sent(values: bytes, shape: tuple[int, ...], device: Any, stream: int | None) -> Array:
    import torch

    return torch.tensor(np.frombuffer(values, dtype=np.int64).reshape(shape)).to(device, non_blocking=True)
