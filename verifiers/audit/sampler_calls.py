"""Calling a sampler, one request or a batch at a time, and reading the tokens that it returns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .requests import Backend, Drawn, Request

Sampler = Callable[..., Any]
"""From (paths, target rows, draft rows, generator), or (tree, generator), to the emitted tokens: the accepted ones
and one more."""

PAD = -1


def sampler_name(sampler: Sampler, name: str | None) -> str:
    """The name given, or the function's own."""
    return name or str(getattr(sampler, "__name__", type(sampler).__name__))


class OutputError(ValueError):
    """What a sampler returned is not 1 to L + 1 tokens of the vocabulary per request, or it raised."""


class MisuseError(ValueError):
    """A sampler is audited in a way that its adapter does not provide for."""


class Caller:
    """Shows requests to a sampler in the form that it expects.

    Attributes:
        batch: requests per call; None for a sampler that takes one request, without a batch dimension.
    """

    def __init__(self, sampler: Sampler, backend: Backend, batch: int | None) -> None:
        if not callable(sampler):
            raise ValueError(f"sampler: got {sampler!r}; expected a function that returns the emitted tokens")
        if batch is not None and (not isinstance(batch, int) or batch < 1):
            raise ValueError(
                f"batch: got {batch!r}; expected an integer >= 1, or None for one request a call"
            )
        self.sampler, self.backend, self.batch = sampler, backend, batch

    def request(self, drawn: Sequence[Any]) -> Request:
        """Fresh arrays for what was drafted: exactly one request without a batch dimension, any number with it."""
        if self.batch is None:
            one: Request = drawn[0].request(self.backend)
            return one
        stacked = (np.stack(part) for part in list(zip(*drawn, strict=True))[:3])
        return Drawn(*stacked).request(self.backend)

    def __call__(self, request: Request, generator: Any) -> np.ndarray[Any, Any]:
        """(B, L + 1) emitted tokens, padded with -1.

        Raises OutputError with what is wrong.
        """
        depth, vocab = request.depth, request.vocab
        try:
            returned = self.sampler(*request.arguments, generator)
            if self.batch is None:
                return read_emitted(returned, depth, vocab)[None]
            listed = list(returned) if hasattr(returned, "__iter__") else [returned]
            if len(listed) != (batch := len(request.arguments[0])):
                raise OutputError(f"it returned {len(listed)} outputs for a batch of {batch}")
            return np.stack([read_emitted(one, depth, vocab) for one in listed])
        except (OutputError, MisuseError):
            raise
        except (Exception, SystemExit) as error:  # whatever a user's function does
            raise OutputError(f"it raised {type(error).__name__}: {' '.join(str(error).split())}") from error


def read_emitted(returned: Any, depth: int, vocab: int) -> np.ndarray[Any, Any]:
    """(L + 1,) tokens of one output, padded with -1; -1 at the end of an output is padding too.

    Raises OutputError for anything but 1 to L + 1 tokens of the vocabulary.
    """
    expected = f"expected 1 to {depth + 1} token ids in 0..{vocab - 1}, at the end padded with -1 or not"
    try:
        tokens = [operator.index(y) for y in (returned.tolist() if hasattr(returned, "tolist") else returned)]
    except TypeError:
        raise OutputError(f"it returned {returned!r}; {expected}") from None
    while tokens and tokens[-1] == PAD:
        tokens.pop()
    if not 1 <= len(tokens) <= depth + 1 or min(tokens) < 0 or max(tokens) >= vocab:
        raise OutputError(f"it returned {returned!r}; {expected}")
    out = np.full(depth + 1, PAD)
    out[: len(tokens)] = tokens
    return out
