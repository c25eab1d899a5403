"""What is recorded of a generation: one `Block` per target pass."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """One target pass.

    Attributes:
        context: committed tokens before the block.
        paths: drafted i.i.d. paths, 0 for trees and in plain decoding.
        length: tokens of the longest drafted string, 0 in plain decoding.
        drawn: drafted tokens, copies of equal nodes counted.
        nodes: distinct drafted nodes, the root not counted.
        accepted: drafted tokens that the verifier accepted.
        emitted: tokens that went into the output: accepted + 1, or fewer at the end of the output.
        expected_by_length: probabilities that the verifier's law gives to 0, 1, ..., length accepted tokens,
            given what was drafted.
        draft, target, verify, cache: seconds.
    """

    context: int
    paths: int
    length: int
    drawn: int
    nodes: int
    accepted: int
    emitted: int
    expected_by_length: tuple[float, ...]
    draft: float
    target: float
    verify: float
    cache: float

    @property
    def expected_accepted(self) -> float:
        """The law's own expectation of `accepted`: the same mean over many blocks, with far less variance."""
        return sum(length * mass for length, mass in enumerate(self.expected_by_length))


@dataclass(frozen=True)
class Generation:
    """What was generated for one prompt.

    Attributes:
        prompt_tokens: tokens of the prompt.
        tokens: generated token ids, the end-of-sequence token included.
        ended: "end of sequence" or "max_new_tokens".
        blocks: one per target pass after the prompt's.
        prompt_seconds: reading the prompt, with both models.
        seconds: everything, the prompt included.
        target_cache_bytes, draft_cache_bytes: the largest size of keys and values.
        target_flops, draft_flops: estimated floating-point operations (see `ForwardCost`).
    """

    prompt_tokens: int
    tokens: tuple[int, ...]
    ended: str
    blocks: tuple[Block, ...]
    prompt_seconds: float
    seconds: float
    target_cache_bytes: int
    draft_cache_bytes: int
    target_flops: float
    draft_flops: float
