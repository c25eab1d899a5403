"""The law that a model samples from: temperature, top-k and top-p applied to its logits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class SamplingLaw:
    """How logits become the law of the next token, the same for the target and the draft.

    Applied in this order: temperature, top-k, top-p; what is left is renormalised. Ties are never broken by
    position: every token tied with the last one kept is kept, too, by top-k (so that more than `top_k` tokens
    may stay) and by top-p. At temperature 0 the law is one-hot at the largest logit, the lowest id of those
    tied.

    Attributes:
        temperature: at least 0, finite.
        top_k: keep the `top_k` largest logits, at least 1; None or more than the vocabulary keeps all.
        top_p: keep the fewest most likely tokens with at least this probability together, 0 < top_p <= 1;
            None or 1 keeps all.

    Raises:
        ValueError: for a parameter out of its range.

    Example:
        >>> law = SamplingLaw(top_k=2)
        >>> law.rows(torch.tensor([0.0, 0.0, -1.0]))
        tensor([0.5000, 0.5000, 0.0000], dtype=torch.float64)
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not _is_number(self.temperature) or not 0 <= self.temperature < math.inf:
            raise ValueError(
                f"temperature must be a finite number, at least 0 (0 is greedy); got {self.temperature!r}"
            )
        if self.top_k is not None and (
            isinstance(self.top_k, bool) or not isinstance(self.top_k, int) or self.top_k < 1
        ):
            raise ValueError(f"top_k must be a whole number, at least 1, or None; got {self.top_k!r}")
        if self.top_p is not None and (not _is_number(self.top_p) or not 0 < self.top_p <= 1):
            raise ValueError(f"top_p must be above 0 and at most 1, or None; got {self.top_p!r}")

    def rows(self, logits: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
        """The laws of rows of logits.

        Nothing is read back from the device. Logits are cast up before anything is computed, because a softmax
        in the models' own half precision is no law to 1e-3.

        Args:
            logits: shape (..., V) in any float dtype; minus infinity excludes a token.
            dtype: of the result; float64 or float32.

        Returns:
            Shape (..., V), each row a law.
        """
        if self.temperature == 0:
            largest, best = logits.to(dtype).amax(-1, keepdim=True), logits.argmax(-1, keepdim=True)
            # One, or NaN where a logit is none: such a row is no law at any temperature.
            return torch.zeros_like(logits, dtype=dtype).scatter_(-1, best, largest - largest + 1)
        scores = logits.to(dtype)
        # The maximum goes first: dividing by a small temperature may otherwise overflow to inf - inf.
        # One below the smallest normal number would be taken as 0; it leaves no other law.
        temperature = max(self.temperature, torch.finfo(dtype).tiny)
        scores = (scores - scores.amax(-1, keepdim=True)) / temperature
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            last_kept = scores.topk(self.top_k, dim=-1).values[..., -1:]
            scores = scores.masked_fill(scores < last_kept, -math.inf)
        laws = scores.softmax(-1)
        if self.top_p is not None and self.top_p < 1:
            ordered = laws.sort(-1, descending=True).values
            before = ordered.cumsum(-1) - ordered
            last_kept = ordered.masked_fill(before >= self.top_p, math.inf).amin(-1, keepdim=True)
            laws = laws.masked_fill(laws < last_kept, 0.0)
            laws = laws / laws.sum(-1, keepdim=True)
        return laws


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
