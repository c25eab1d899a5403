"""Folders of tiny random models with a tokenizer, as `load_pair` reads them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

LETTERS = "abcdefghijklmnopqrstuvwxyz ()=+\n"


def letter_tokenizer(letters: str = LETTERS) -> PreTrainedTokenizerFast:
    """One token for each letter, then `?` for all others and `<end>`."""
    tokens = {token: number for number, token in enumerate([*letters, "?", "<end>"])}
    tokenizer = Tokenizer(models.WordLevel(tokens, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?", eos_token="<end>")


def tiny_llama(vocab: int, *, seed: int = 0, layers: int = 4, width: int = 32) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocab,
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            initializer_range=0.3,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=33,
            pad_token_id=None,
        )
    ).eval()


def tiny_gpt2(vocab: int, *, seed: int = 0, layers: int = 4) -> GPT2LMHeadModel:
    torch.manual_seed(seed)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab,
            n_positions=128,
            n_embd=32,
            n_layer=layers,
            n_head=4,
            initializer_range=0.3,
            bos_token_id=None,
            eos_token_id=33,
        )
    ).eval()


def save_checkpoint(
    folder: Path, model: LlamaForCausalLM | GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast | None
) -> str:
    """Write a model, with its tokenizer if there is one, and return the folder's name."""
    model.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return str(folder)


def save_pair(folder: Path, prompts: Sequence[str]) -> None:
    """Write two unlike models with one tokenizer, `target` and `draft`, and `prompts.jsonl`."""
    tokenizer = letter_tokenizer()
    for seed, name in enumerate(("target", "draft")):
        save_checkpoint(folder / name, tiny_llama(len(tokenizer), seed=seed), tokenizer)
    lines = [json.dumps({"prompt": text}) for text in prompts]
    (folder / "prompts.jsonl").write_text("\n".join(lines) + "\n")
