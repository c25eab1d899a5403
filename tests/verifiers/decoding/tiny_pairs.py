"""Tiny random-weight models of two architectures, unlike enough that every fault shows."""

from __future__ import annotations

from collections.abc import Callable

import torch
from nodebudget.verifiers.decoding import ModelPair
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedModel

NO_TOKENS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def llama(seed: int, *, vocab: int = 8, layers: int = 2, sharpness: float = 3.0) -> PreTrainedModel:
    """A Llama with grouped-query attention; logits of about `sharpness` in spread."""
    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        initializer_range=0.4,
        tie_word_embeddings=False,
        **NO_TOKENS,
    )
    return _made(LlamaForCausalLM, config, seed, sharpness)


def gpt2(seed: int, *, vocab: int = 8, layers: int = 2, sharpness: float = 3.0) -> PreTrainedModel:
    """A GPT-2: learned absolute positions."""
    config = GPT2Config(
        vocab_size=vocab,
        n_embd=16,
        n_layer=layers,
        n_head=2,
        n_positions=128,
        initializer_range=0.4,
        tie_word_embeddings=False,
        **NO_TOKENS,
    )
    return _made(GPT2LMHeadModel, config, seed, sharpness)


def pair(target: PreTrainedModel, draft: PreTrainedModel) -> ModelPair:
    return ModelPair("tiny", target, draft, None, int(target.config.vocab_size))


def alike(make: Callable[..., PreTrainedModel]) -> ModelPair:
    """A target, and a draft that has part of its weights: some tokens are accepted, some are not."""
    target, draft = make(0), make(0)
    with torch.inference_mode():
        for weight, other in zip(draft.parameters(), make(1).parameters(), strict=True):
            weight.lerp_(other, 0.3)
    return pair(target, draft)


def _made(kind: type, config: object, seed: int, sharpness: float) -> PreTrainedModel:
    torch.manual_seed(seed)
    model = kind(config).double().eval()
    with torch.inference_mode():
        head = model.get_output_embeddings().weight
        head *= sharpness / model(torch.arange(config.vocab_size)[None]).logits.std()  # type: ignore[attr-defined]
    return model
