"""Contexts after prompts: a prompt, and a random number of tokens of the target's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from nodebudget.verifiers.decoding import ModelPair, Prompt, SamplingLaw


class Prompted:
    """The contexts after prompts, each by itself, in any order."""

    def __init__(self, pair: ModelPair, sampling: SamplingLaw, *, continued: int, seed: int) -> None:
        """`continued`: at most so many tokens follow, sampled from the target under `sampling`.

        Raises ValueError for a pair without a tokenizer.
        """
        from nodebudget.verifiers.decoding import Decoder

        if pair.tokenizer is None:
            raise ValueError(f"{pair.name}: there is no tokenizer with these models, to read prompts with")
        self.tokenizer: Any = pair.tokenizer
        self.plain = Decoder(pair, None, sampling=sampling)
        self.continued, self.seed = continued, seed

    def ids(self, number: int, prompt: Prompt) -> tuple[list[int], int]:
        """Token ids, and how many of them the target added; an end token is never part of a context."""
        ids = list(self.tokenizer(prompt.text).input_ids)
        seed = (self.seed, number)
        wanted = int(np.random.default_rng(seed).integers(self.continued + 1))
        if not wanted:
            return ids, 0
        generation = self.plain.decode(ids, max_new_tokens=wanted, seed=seed)
        added = [token for token in generation.tokens if token not in self.plain.end_tokens]
        return [*ids, *added], len(added)
