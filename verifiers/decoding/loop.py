"""Speculative decoding of one prompt: draft, tree pass, verify, tidy both caches, again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch
from nodebudget.verifiers.arithmetic.arrays import Arrays
from nodebudget.verifiers.drafts.laws import AcceptanceLaw
from nodebudget.verifiers.drafts.nodes import PathNodes
from nodebudget.verifiers.drafts.paths import DraftTree
from nodebudget.verifiers.drafts.tree_nodes import TreeNodes
from nodebudget.verifiers.registry import VERIFIERS
from nodebudget.verifiers.sampling import draw, sample
from nodebudget.verifiers.verifier import Verifier
from torch import Tensor

from .caches import CachedModel
from .drafters import Drafted, Drafter, Paths, Start, parse_drafter
from .models import ModelPair
from .records import Block, Generation
from .sampling_laws import SamplingLaw
from .timing import PhaseTimer
from .tree_pass import keep_path, prepare, tree_logits
from .warm_up import warm_up

OnTokens = Callable[[tuple[int, ...]], object]
"""Called with the new tokens of the output after each block."""


class Decoder:
    """A model pair with a verifier, ready to generate.

    The output has the law of sampling from the target, whatever the draft, for every lossless verifier.
    Everything stays on the models' devices: in a block the host reads the drafted token ids, and what the
    verifier sampled.

    Attributes:
        context: tokens that prompt and output may have together, None where unknown.
        tree_mask: for target and draft, whether a tree is read with a mask or as a batch of paths.
    """

    def __init__(
        self,
        pair: ModelPair,
        verifier: Verifier | None,
        *,
        paths: int = 1,
        length: int | None = None,
        drafting: str | None = None,
        sampling: SamplingLaw | None = None,
        dtype: str = "float64",
        end_tokens: Collection[int] | None = None,
    ) -> None:
        """Prepare; both models are put in evaluation mode.

        Args:
            pair: target and draft.
            verifier: from `get_verifier`; None decodes plainly with the target, the baseline.
            paths: K, drafted paths per block. For a verifier that looks at the first path only, one is drawn.
            length: L, tokens per path, 1 by default.
            drafting: what is drafted instead of K paths, as `parse_drafter` takes it; `length` then only where it does
                not say it.
            sampling: temperature, top-k and top-p of both models; temperature 1 by default.
            dtype: of the laws, "float64" or "float32", whatever the models run in.
            end_tokens: ids that end the output; None for those of the target's generation config and of the
                tokenizer.

        Raises:
            ValueError: for K or L below 1, another dtype, a drafting that is none or for which the verifier is not
                defined, or a model whose cache cannot be cropped.
        """
        for name, value in (("paths", paths), ("length", 1 if length is None else length)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}: got {value!r}; expected a whole number, at least 1")
        if dtype not in ("float64", "float32"):
            raise ValueError(f"dtype: got {dtype!r}; expected float64 or float32")
        self.pair, self.verifier = pair, verifier
        self.drafter: Drafter | None = None
        if verifier is not None:
            self.drafter = Paths(paths, length or 1) if drafting is None else parse_drafter(drafting, length)
            if isinstance(self.drafter, Paths) and not verifier.multipath:
                self.drafter = Paths(1, self.drafter.length)
            if not verifier.needs.met(self.drafter.drafting):
                raise ValueError(f"{verifier.name} needs {verifier.needs.text}; got {self.drafter}")
        self.sampling = sampling or SamplingLaw()
        self.dtype = dtype
        self.end_tokens = frozenset(_end_tokens(pair) if end_tokens is None else end_tokens)
        models = (pair.target, pair.draft) if self.drafter and self.drafter.uses_model else (pair.target,)
        self.context, self.tree_mask = prepare(*models)
        if verifier is not None and VERIFIERS.get(verifier.name) is verifier:
            warm_up(self)

    def decode(
        self,
        prompt: Sequence[int],
        *,
        max_new_tokens: int,
        seed: int | Sequence[int] = 0,
        on_tokens: OnTokens | None = None,
    ) -> Generation:
        """Generate for one prompt.

        Args:
            prompt: token ids, at least one.
            max_new_tokens: the output has exactly so many, unless an end token comes first.
            seed: of this prompt; the same seed gives the same output.
            on_tokens: called with the new tokens after each block.

        Raises:
            ValueError: for an empty prompt, an id outside the vocabulary, `max_new_tokens` below 1, prompt and
                output longer than the context, and rows of a model that are no laws (NaN).
        """
        self.check(prompt, max_new_tokens)
        with torch.inference_mode():
            return _Run(self, list(prompt), np.random.SeedSequence(seed)).generate(max_new_tokens, on_tokens)

    def check(self, prompt: Sequence[int], max_new_tokens: int) -> None:
        """Raise ValueError for a prompt that `decode` would refuse."""
        if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int) or max_new_tokens < 1:
            raise ValueError(f"max_new_tokens: got {max_new_tokens!r}; expected a whole number, at least 1")
        if not len(prompt):
            raise ValueError("prompt: got no tokens; expected at least one")
        for place, token in enumerate(prompt):
            if not 0 <= token < self.pair.vocab:
                raise ValueError(
                    f"prompt: token {place} is {token}; expected an id of the vocabulary, "
                    f"0..{self.pair.vocab - 1}"
                )
        if self.context is not None and len(prompt) + max_new_tokens > self.context:
            raise ValueError(
                f"prompt: {len(prompt)} tokens and {max_new_tokens} new ones do not fit into the context of "
                f"{self.context} tokens of {self.pair.name}"
            )


class _Run:
    """One generation: the committed tokens, both caches, and what is recorded."""

    def __init__(self, decoder: Decoder, prompt: list[int], seed: np.random.SeedSequence) -> None:
        self.decoder, self.tokens, self.prompt = decoder, prompt, len(prompt)
        self.drafting_rng, self.verifying_rng = (np.random.default_rng(child) for child in seed.spawn(2))
        models = (decoder.pair.target, decoder.pair.draft)
        cached = [
            CachedModel(model, decoder.pair.vocab, tree_mask=tree_mask)
            for model, tree_mask in zip(models, decoder.tree_mask, strict=False)
        ]
        self.target, self.draft = cached[0], cached[1] if len(cached) > 1 else None
        self.timer = PhaseTimer()
        self.counts: list[tuple[int, int, int, int, int, int, int]] = []
        self.expected: list[Tensor] = []

    def generate(self, max_new_tokens: int, on_tokens: OnTokens | None) -> Generation:
        start = time.perf_counter()
        for cached in (self.target, self.draft):
            if cached is not None and self.prompt > 1:
                cached.read(self.tokens[:-1])
        for cached in (self.target, self.draft):
            if cached is not None and cached.device.type == "cuda":
                torch.cuda.synchronize(cached.device)
        prompt_seconds = time.perf_counter() - start
        end = self.prompt + max_new_tokens
        ended = False
        while not ended and len(self.tokens) < end:
            before = len(self.tokens)
            self.timer.next_block()
            counts, new = self._block()
            stops = [place for place, token in enumerate(new) if token in self.decoder.end_tokens]
            new = new[: min([end - before, *(place + 1 for place in stops)])]
            ended = bool(stops) and new[-1] in self.decoder.end_tokens
            self.tokens += new
            self.counts.append((before, *counts, len(new)))
            if on_tokens is not None:
                on_tokens(tuple(new))
        seconds = time.perf_counter() - start
        draft = self.draft
        return Generation(
            prompt_tokens=self.prompt,
            tokens=tuple(self.tokens[self.prompt :]),
            ended="end of sequence" if ended else "max_new_tokens",
            blocks=self._blocks(),
            prompt_seconds=prompt_seconds,
            seconds=seconds,
            target_cache_bytes=self.target.peak_bytes,
            draft_cache_bytes=draft.peak_bytes if draft is not None else 0,
            target_flops=self.target.flops,
            draft_flops=draft.flops if draft is not None else 0.0,
        )

    def _block(self) -> tuple[tuple[int, int, int, int, int], list[int]]:
        """(paths, length, drawn, nodes, accepted) of one block, and the tokens that it emits."""
        decoder, verifier = self.decoder, self.decoder.verifier
        drafted = self._drafted()
        if drafted is None or verifier is None:
            return (0, 0, 0, 0, 0), [self._plain_token()]
        nodes, dtype = drafted.nodes, getattr(torch, decoder.dtype)
        with self.timer.phase("target", self.target.device):
            target_laws = decoder.sampling.rows(tree_logits(self.target, self.tokens[-1], nodes), dtype)
        with self.timer.phase("verify", target_laws.device):
            draft_laws = drafted.laws.to(target_laws.device, non_blocking=True)
            tree = DraftTree(nodes, target_laws, draft_laws, drafting=drafted.drafting, dtype=decoder.dtype)
            law = _law(verifier, tree)
            accepted, token = sample(law, self.verifying_rng)
        node = _node(nodes, accepted)
        with self.timer.phase("cache", self.target.device):
            keep_path(self.target, nodes, node)
            drafted.keep(node)
        starts = nodes.level_start
        levels = [law.stop[starts[d] : starts[d + 1]].sum() for d in range(nodes.depth + 1)]
        self.expected.append(torch.stack(levels))
        paths = nodes.paths if isinstance(nodes, PathNodes) else 0
        drawn = int(nodes.counts[1:].sum())
        return (paths, nodes.depth, drawn, len(nodes) - 1, len(accepted)), [*accepted, token]

    def _drafted(self) -> Drafted | None:
        """What is drafted in a block; None where nothing is."""
        decoder, drafter = self.decoder, self.decoder.drafter
        if drafter is None:
            return None
        length = drafter.length
        if decoder.context is not None:  # the tree may not reach beyond the last position
            length = min(length, decoder.context - len(self.tokens))
        device = self.target.device if self.draft is None else self.draft.device
        with self.timer.phase("draft", device):
            return drafter.draft(
                Start(
                    self.draft,
                    self.tokens,
                    length,
                    decoder.sampling,
                    getattr(torch, decoder.dtype),
                    device,
                    decoder.pair.vocab,
                    self.drafting_rng,
                )
            )

    def _plain_token(self) -> int:
        """One token of the target itself."""
        with self.timer.phase("target", self.target.device):
            law = self.decoder.sampling.rows(
                self.target.read(self.tokens[-1:])[None], getattr(torch, self.decoder.dtype)
            )
        with self.timer.phase("verify", law.device):
            arrays = Arrays(law, self.decoder.dtype)
            uniforms = arrays.uniforms(self.verifying_rng.random(1))[:, None]
            drawn, total = arrays.read([draw(arrays, law, uniforms), arrays.sum(law)])
        if not abs(total - 1) < 1e-3:
            raise ValueError(f"the target's law sums to {total}; expected 1: its logits are not finite")
        self.expected.append(law.new_ones(1))
        return int(drawn)

    def _blocks(self) -> tuple[Block, ...]:
        rows = torch.cat(self.expected).tolist()
        blocks, place = [], 0
        for counts, seconds in zip(self.counts, self.timer.seconds(), strict=True):
            context, paths, length, drawn, nodes, accepted, emitted = counts
            by_length = tuple(rows[place : place + length + 1])
            place += length + 1
            blocks.append(
                Block(context, paths, length, drawn, nodes, accepted, emitted, by_length, **seconds)
            )
        return tuple(blocks)


def _law(verifier: Verifier, tree: DraftTree) -> AcceptanceLaw:
    """The verifier's law of a tree; ValueError where it is of another, or where a verifier of the user's fails."""
    try:
        law = verifier.law(tree)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"verifier {verifier.name!r}: {type(error).__name__}: {error}") from error
    if isinstance(law, AcceptanceLaw) and law.tree.nodes is not tree.nodes:
        raise ValueError(
            f"verifier {verifier.name!r}: got the law of another tree; expected that of {tree!r}"
        )
    return law


def _node(nodes: TreeNodes, tokens: Sequence[int]) -> int:
    """The node of accepted tokens."""
    node = 0
    for token in tokens:
        node = next(child for child in nodes.children[node] if nodes.token[child] == token)
    return node


def _end_tokens(pair: ModelPair) -> set[int]:
    sources: tuple[Any, ...] = (pair.target.generation_config, pair.tokenizer)
    found: set[int] = set()
    for source in sources:
        ids = getattr(source, "eos_token_id", None)
        found.update([ids] if isinstance(ids, int) else ids or [])
    return found
