"""Which draft is worth its time: overlap with the target and cost of a token, for several drafts in one run.

    python -m nodebudget.experiments.compare_drafts [--target T] DRAFT ...

Overlap is measured on the target's own text after held-out prompts, as in `nodebudget distill`. The speed is an
estimate from both, for one drafted path under token verification, in multiples of the target's own decoding: were
every drafted token accepted with chance a, the overlap, L drafted tokens would give (1 - a^(L+1)) / (1 - a) tokens
for the time of L forward passes of the draft and one of the target over L + 1 tokens.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nodebudget.experiments.arguments import require_llm

if TYPE_CHECKING:
    from nodebudget.verifiers.decoding.self_samples import SampleSettings

LENGTHS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class DraftCost:
    """One draft against the target.

    Attributes:
        draft: its source.
        overlap: mean of sum min(p, q), at temperature 1.
        relative_time: of a forward pass over one token, in the target's.
        length, speed: the L of `LENGTHS` with the largest estimated speed, and that speed.
    """

    draft: str
    overlap: float
    relative_time: float
    length: int
    speed: float


def estimated_speed(overlap: float, length: int, relative_time: float, target_time: float) -> float:
    """Tokens per time of one target forward pass; `target_time` is that of one over `length` + 1 tokens."""
    tokens = sum(overlap**accepted for accepted in range(length + 1))
    return tokens / (length * relative_time + target_time)


def compare_drafts(
    target: str, drafts: list[str], settings: SampleSettings | None = None
) -> Iterator[DraftCost]:
    """Measure one draft after the other, with the default settings of `nodebudget distill` where none are given.

    Raises ValueError without torch and transformers, and for a source that cannot be loaded.
    """
    require_llm("compare_drafts")
    import torch
    from nodebudget.verifiers.decoding import load_pair, load_prompts
    from nodebudget.verifiers.decoding.forward_time import forward_seconds
    from nodebudget.verifiers.decoding.overlap import mean_overlap
    from nodebudget.verifiers.decoding.self_samples import SampleSettings, SampleStore

    settings = settings or SampleSettings(target)
    for source in drafts:
        pair = load_pair(target=target, draft=source, dtype=torch.float32)
        store = SampleStore(settings, pair.target, pair.tokenizer, load_prompts(settings.prompts))
        overlap = mean_overlap(pair.target, pair.draft, store.held_out())
        passes = [(pair.draft, 1), (pair.target, 1), *((pair.target, length + 1) for length in LENGTHS)]
        draft_time, target_time, *checking = forward_seconds(passes)
        ratio = draft_time / target_time
        speeds = {
            length: estimated_speed(overlap, length, ratio, seconds / target_time)
            for length, seconds in zip(LENGTHS, checking, strict=True)
        }
        length = max(speeds, key=lambda each: speeds[each])
        yield DraftCost(source, overlap, ratio, length, speeds[length])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m nodebudget.experiments.compare_drafts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--target", default="smollm2", help="as in nodebudget distill")
    parser.add_argument("drafts", nargs="+", metavar="DRAFT", help="first:27, without:10-13, a folder, ...")
    given = parser.parse_args(arguments)
    sys.stdout.write(f"{'draft':<24} {'overlap':>8} {'time':>6} {'best L':>6} {'speed':>6}\n")
    try:
        for row in compare_drafts(given.target, given.drafts):
            sys.stdout.write(
                f"{row.draft:<24.24} {row.overlap:8.4f} {row.relative_time:6.3f} {row.length:6d} {row.speed:6.2f}\n"
            )
            sys.stdout.flush()
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
