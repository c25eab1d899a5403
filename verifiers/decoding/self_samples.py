"""A target's own text, with the state that each of its laws came from, sampled once and kept.

A law over 49,152 tokens is too large to keep for each position. The last hidden state is not: the law is the
softmax of the head applied to it. So the target itself is never run again in training.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from tqdm import tqdm
from transformers import DynamicCache, PreTrainedModel

from .files import cache_folder, whole_file
from .models import common_vocabulary
from .prompts import Prompt


@dataclass(frozen=True)
class SampleSettings:
    """What the target's own text is sampled from.

    Attributes:
        target: the target's source, as `load_pair` takes it.
        prompts: their source, as `load_prompts` takes it. The first `held_out` of them are for measuring
            only, and never trained on; the text for training continues the others, in turn.
        held_out: number of prompts kept for measuring, at least 1.
        new_tokens: length of each continuation, ended early by the end of text.
        batch: continuations sampled together.
        seed: of the sampling.
    """

    target: str = "smollm2"
    prompts: str = "human-eval"
    held_out: int = 32
    new_tokens: int = 256
    batch: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("held_out", "new_tokens", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}")

    def folder(self) -> Path:
        """Where text sampled with these settings is kept."""
        key = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]
        return cache_folder() / "samples" / key


@dataclass(frozen=True)
class Samples:
    """Continuations sampled together: B sequences of T tokens, padded on the left to one length of prompt.

    Attributes:
        tokens: shape (B, T), token ids.
        attended: shape (B, T), False for padding.
        states: shape (B, N, width), float16; the last hidden state before each of the last N = `new_tokens`
            tokens. The softmax of the head applied to it, in this very precision, is the law that token was
            sampled from.
        normalisers: shape (B, N), float32; the logarithm of the sum of the exponentials of those logits.
        sampled: shape (B, N), False for what comes after the end of the text.
        mass: shape (V,), float32; the sum of the laws over all that was sampled.
    """

    tokens: Tensor
    attended: Tensor
    states: Tensor
    normalisers: Tensor
    sampled: Tensor
    mass: Tensor

    def __len__(self) -> int:
        return int(self.sampled.sum())

    def to(self, device: torch.device) -> Samples:
        """The same on a device."""
        return Samples(**{name: value.to(device) for name, value in vars(self).items()})

    def take(self, rows: Sequence[int]) -> Samples:
        """Some of the sequences, without the padding that none of them needs."""
        chosen = torch.as_tensor(rows)
        attended = self.attended[chosen]
        start = int(attended.any(0).int().argmax())
        return replace(
            self,
            tokens=self.tokens[chosen, start:],
            attended=attended[:, start:],
            states=self.states[chosen],
            normalisers=self.normalisers[chosen],
            sampled=self.sampled[chosen],
        )


def last_states(model: PreTrainedModel, tokens: Tensor, attended: Tensor, cache: Any = None) -> Tensor:
    """The hidden states that the head is applied to, shape (B, T, width); `attended` also covers the cache."""
    positions = (attended.long().cumsum(-1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
    output = model.base_model(
        input_ids=tokens,
        attention_mask=attended.long(),
        position_ids=positions,
        cache=cache,
        use_cache=cache is not None,
    )
    return output.last_hidden_state


def training_states(model: PreTrainedModel, samples: Samples) -> Tensor:
    """The states of another model before each sampled token, shape (B, N, width), with gradients."""
    count = samples.sampled.shape[1]
    states = last_states(model, samples.tokens[:, :-1], samples.attended[:, :-1])
    return states[:, -count:]


@torch.no_grad()
def sample_continuations(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    *,
    new_tokens: int,
    end: Sequence[int],
    vocab: int,
    generator: torch.Generator,
    padding: int = 0,
) -> Samples:
    """Sample a continuation of each prompt at temperature 1, all together.

    Args:
        prompts: token ids of each prompt, at least one each.
        new_tokens: N, the length of each continuation.
        end: token ids that end a text.
        vocab: logits from this index on are padding, and never sampled.
        generator: of the model's device.
        padding: the id written where nothing is attended to.
    """
    device = model.device
    longest = max(map(len, prompts))
    tokens = torch.full((len(prompts), longest), padding)
    attended = torch.zeros(len(prompts), longest, dtype=torch.bool)
    for row, prompt in enumerate(prompts):
        tokens[row, longest - len(prompt) :] = torch.as_tensor(prompt)
        attended[row, longest - len(prompt) :] = True
    tokens, attended = tokens.to(device), attended.to(device)
    head = model.get_output_embeddings()
    ends = torch.as_tensor(list(end), device=device, dtype=torch.long)
    running = torch.ones(len(prompts), dtype=torch.bool, device=device)
    cache = DynamicCache(config=model.config)
    mass = torch.zeros(vocab, device=device)
    latest = tokens
    states, normalisers, sampled = [], [], []
    for _ in tqdm(range(new_tokens), desc="sampling the target", unit="token", leave=False):
        # Rounded before it is used, so that what is kept is what the token is sampled from.
        state = last_states(model, latest, attended, cache)[:, -1].half()
        logits = head(state.to(head.weight.dtype))[:, :vocab].float()
        normaliser = logits.logsumexp(-1)
        law = (logits - normaliser[:, None]).exp()
        latest = torch.multinomial(law, 1, generator=generator)
        states.append(state)
        normalisers.append(normaliser)
        sampled.append(running)
        mass += law[running].sum(0)
        running = running & ~torch.isin(latest[:, 0], ends)
        tokens = torch.cat([tokens, latest], 1)
        attended = torch.cat([attended, torch.ones_like(attended[:, :1])], 1)
    kept = {"states": states, "normalisers": normalisers, "sampled": sampled}
    columns = {name: torch.stack(each, 1).cpu() for name, each in kept.items()}
    return Samples(tokens=tokens.cpu(), attended=attended.cpu(), mass=mass.cpu(), **columns)


class SampleStore:
    """The text of one `SampleSettings` on disk: `held_out`, then training batches as many as are asked for."""

    def __init__(
        self, settings: SampleSettings, model: PreTrainedModel, tokenizer: Any, prompts: Sequence[Prompt]
    ) -> None:
        """Nothing is sampled yet.

        Raises:
            ValueError: for no prompt left to train on, for a prompt that leaves no room for the continuation
                in the target's context, and for a target whose logits are not its head applied to its last
                hidden state.
        """
        if len(prompts) <= settings.held_out:
            raise ValueError(
                f"{settings.prompts}: {len(prompts)} prompts, of which {settings.held_out} are held out; "
                "none is left to train on"
            )
        self.settings, self.model = settings, model
        self.vocab = common_vocabulary(model, tokenizer, model, tokenizer)
        self._prompts = [tokenizer.encode(prompt.text) for prompt in prompts]
        end = model.generation_config.eos_token_id if model.generation_config else None
        self._end = [] if end is None else end if isinstance(end, list) else [end]
        room = getattr(model.config, "max_position_embeddings", None)
        for prompt, ids in zip(prompts, self._prompts, strict=True):
            if room is not None and len(ids) + settings.new_tokens > room:
                raise ValueError(
                    f"prompt {prompt.name} has {len(ids)} tokens; with {settings.new_tokens} new ones that is "
                    f"more than the target's context of {room}"
                )
        _check_head(model, self._prompts[0])

    def held_out(self) -> Samples:
        """One continuation of each of the held-out prompts."""
        return self._stored("held-out", self._prompts[: self.settings.held_out], seed=0)

    def training(self, number: int) -> Samples:
        """The training batch of that number, from 0."""
        pool = self._prompts[self.settings.held_out :]
        size = self.settings.batch
        chosen = [pool[place % len(pool)] for place in range(number * size, (number + 1) * size)]
        return self._stored(f"training-{number:05d}", chosen, seed=number + 1)

    def _stored(self, name: str, prompts: Sequence[Sequence[int]], seed: int) -> Samples:
        folder = self.settings.folder()
        path = folder / f"{name}.safetensors"
        if path.is_file():
            try:
                return Samples(**load_file(path))
            except (SafetensorError, TypeError) as error:
                raise ValueError(f"{path}: not a file of samples; delete it ({error})") from error
        folder.mkdir(parents=True, exist_ok=True)
        generator = torch.Generator(self.model.device).manual_seed(self.settings.seed * 1_000_003 + seed)
        samples = sample_continuations(
            self.model,
            prompts,
            new_tokens=self.settings.new_tokens,
            end=self._end,
            vocab=self.vocab,
            generator=generator,
        )
        with whole_file(path) as unfinished:
            save_file({key: value.contiguous() for key, value in vars(samples).items()}, unfinished)
        return samples


@torch.no_grad()
def _check_head(model: PreTrainedModel, prompt: Sequence[int]) -> None:
    ids = torch.as_tensor([list(prompt[:8])], device=model.device)
    logits = model(ids, use_cache=False).logits
    rebuilt = model.get_output_embeddings()(last_states(model, ids, torch.ones_like(ids, dtype=torch.bool)))
    if not torch.allclose(rebuilt.float(), logits.float(), rtol=1e-2, atol=1e-2):
        raise ValueError(
            f"{type(model).__name__}: its logits are not its head applied to its last hidden state, which "
            "distillation keeps; such a target cannot be distilled here"
        )
