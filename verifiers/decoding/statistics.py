"""From recorded generations to the numbers that are compared between verifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from nodebudget.verifiers.arithmetic.bootstrap import ratio_interval

from .records import Block, Generation
from .timing import PHASES


@dataclass(frozen=True)
class Summary:
    """One verifier on a set of prompts.

    Block efficiency is 1 + the mean number of accepted tokens of a block, `expected` from the verifier's own
    law given what was drafted: the same mean as the realised number, with far less variance. Tokens cut off
    at the end of an output count as accepted.

    Attributes:
        verifier: its name, "autoregressive" for plain decoding.
        paths, length: K and L as drafted; K is 0 for trees.
        prompts, blocks, tokens: how many; tokens are those of the outputs.
        accepted, expected_accepted: mean accepted tokens of a block, realised and by the law.
        block_efficiency, expected_block_efficiency: 1 + these.
        interval, expected_interval: bootstrap interval (95%, over prompts) of the block efficiencies; None for
            a single prompt.
        histogram, expected_histogram: share of the blocks with 0, 1, ..., length accepted tokens.
        position_acceptance, expected_position_acceptance: share of the blocks that accept 1, 2, ..., length
            tokens or more.
        tokens_per_second: of the outputs, reading the prompts not counted.
        seconds: {"prompt", "draft", "target", "verify", "cache", "total"}, summed over prompts.
        verify_share: verification over the target's passes, in time.
        target_cache_bytes, draft_cache_bytes: the largest of any prompt.
        drafted, nodes: drafted tokens and distinct nodes, per block.
        flops: estimated floating-point operations of both models per token of the outputs.
    """

    verifier: str
    paths: int
    length: int
    prompts: int
    blocks: int
    tokens: int
    accepted: float
    expected_accepted: float
    block_efficiency: float
    expected_block_efficiency: float
    interval: tuple[float, float] | None
    expected_interval: tuple[float, float] | None
    histogram: tuple[float, ...]
    expected_histogram: tuple[float, ...]
    position_acceptance: tuple[float, ...]
    expected_position_acceptance: tuple[float, ...]
    tokens_per_second: float
    seconds: dict[str, float]
    verify_share: float
    target_cache_bytes: int
    draft_cache_bytes: int
    drafted: float
    nodes: float
    flops: float


def summarise(verifier: str, generations: Sequence[Generation]) -> Summary:
    """Summarise what one verifier generated, one entry per prompt; ValueError for none."""
    if not generations:
        raise ValueError("generations: got none; expected one per prompt")
    blocks = [block for generation in generations for block in generation.blocks]
    tokens = sum(len(generation.tokens) for generation in generations)
    length = max(block.length for block in blocks)
    realised, expected = _histograms(blocks, length)
    seconds = {phase: sum(getattr(block, phase) for block in blocks) for phase in PHASES}
    seconds["prompt"] = sum(generation.prompt_seconds for generation in generations)
    seconds["total"] = sum(generation.seconds for generation in generations)
    accepted = _mean([block.accepted for block in blocks])
    expected_accepted = _mean([block.expected_accepted for block in blocks])
    return Summary(
        verifier=verifier,
        paths=max(block.paths for block in blocks),
        length=length,
        prompts=len(generations),
        blocks=len(blocks),
        tokens=tokens,
        accepted=accepted,
        expected_accepted=expected_accepted,
        block_efficiency=1 + accepted,
        expected_block_efficiency=1 + expected_accepted,
        interval=_bootstrap([[block.accepted for block in each.blocks] for each in generations]),
        expected_interval=_bootstrap(
            [[block.expected_accepted for block in each.blocks] for each in generations]
        ),
        histogram=tuple(realised),
        expected_histogram=tuple(expected),
        position_acceptance=_at_least(realised),
        expected_position_acceptance=_at_least(expected),
        tokens_per_second=tokens / (seconds["total"] - seconds["prompt"]),
        seconds=seconds,
        verify_share=seconds["verify"] / seconds["target"],
        target_cache_bytes=max(generation.target_cache_bytes for generation in generations),
        draft_cache_bytes=max(generation.draft_cache_bytes for generation in generations),
        drafted=_mean([block.drawn for block in blocks]),
        nodes=_mean([block.nodes for block in blocks]),
        flops=sum(each.target_flops + each.draft_flops for each in generations) / tokens,
    )


def _histograms(blocks: Sequence[Block], length: int) -> tuple[list[float], list[float]]:
    realised, expected = np.zeros(length + 1), np.zeros(length + 1)
    for block in blocks:
        realised[block.accepted] += 1
        expected[: block.length + 1] += block.expected_by_length
    return (realised / len(blocks)).tolist(), (expected / len(blocks)).tolist()


def _at_least(histogram: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(sum(histogram[position:])) for position in range(1, len(histogram)))


def _bootstrap(per_prompt: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Interval of 1 + the mean over blocks, when the prompts are drawn anew with replacement."""
    found = ratio_interval([sum(values) for values in per_prompt], [len(values) for values in per_prompt])
    return found and (1 + found[0], 1 + found[1])


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
