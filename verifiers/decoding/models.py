"""A target and a draft model that may be used together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from nodebudget.lp.numbers.rationals import shortened
from transformers import PreTrainedModel

from .checkpoints import load_checkpoint
from .layers import is_layer_spec, keep_layers, layer_count, parse_layers
from .presets import get_preset

# Texts on which tokenizers with the same tokens but different merges or splits differ.
PROBES = (
    "def f(x1, y_2):\n    return x1 + 3.14159\n",
    "  Naïve café, 東京, Москва, 1234567 isn't 'it'?\t!",
)


@dataclass(frozen=True)
class ModelPair:
    """A target and a draft over one vocabulary.

    Attributes:
        name: the preset's, or `TARGET + DRAFT`.
        target, draft: models in evaluation mode; a draft made of the target's layers shares its weights.
        tokenizer: that of both; None if neither model came with one.
        vocab: size of the common vocabulary. Logits from this index on are padding, and are cut from both.
        notes: what a reader of the results has to know: what was cut, what the draft is made of.
    """

    name: str
    target: PreTrainedModel
    draft: PreTrainedModel
    tokenizer: Any | None
    vocab: int
    notes: tuple[str, ...] = ()


def load_pair(
    spec: str | None = None,
    *,
    target: str | None = None,
    draft: str | None = None,
    dtype: torch.dtype | str = "auto",
    device: torch.device | str | None = None,
    device_map: Any = None,
) -> ModelPair:
    """Load a target and a draft model, and see that they fit.

    Args:
        spec: the name of a preset, instead of `target` and `draft`.
        target: a local folder, a .gguf file, a repository of the hub, or `smollm2`.
        draft: as `target`, or `first:27`, `without:10-13` or `layers:0-2,29` for the target's own layers.
        dtype: of the weights, as a torch dtype or its name; "auto" is what the checkpoint says.
        device: "cpu", "cuda", ...; None takes a GPU if there is one.
        device_map: passed on to transformers, for models larger than one device; excludes `device`.

    Raises:
        ValueError: for a pair, model, dtype or device that is not there, and for models whose tokenizers or
            vocabularies differ.
    """
    if (spec is None) == (target is None and draft is None) or (target is None) != (draft is None):
        raise ValueError("name either a pair, or both a target and a draft")
    if spec is not None:
        preset = get_preset(spec)
        target, draft = preset.target, preset.draft
    assert target is not None
    assert draft is not None
    name = spec or f"{target} + {draft}"
    if device is not None and device_map is not None:
        raise ValueError("give a device or a device_map, not both")
    place = {
        "dtype": parse_dtype(dtype),
        "device": parse_device(device),
        "device_map": device_map,
    }
    target_model, tokenizer = load_checkpoint(target, **place)
    notes = []
    if is_layer_spec(draft):
        count = layer_count(target_model)
        kept = parse_layers(draft, count)
        draft_model, draft_tokenizer = keep_layers(target_model, kept), tokenizer
        notes.append(
            f"the draft is {len(kept)} of the target's {count} layers ({draft}), sharing its weights"
        )
    elif draft == target:
        draft_model, draft_tokenizer = target_model, tokenizer
        notes.append("the draft is the target itself")
    else:
        draft_model, draft_tokenizer = load_checkpoint(draft, **place)
    vocab = common_vocabulary(target_model, tokenizer, draft_model, draft_tokenizer)
    for role, model in (("target", target_model), ("draft", draft_model)):
        padding = output_size(model) - vocab
        if padding:
            notes.append(
                f"{padding} rows of padding beyond the tokenizer's {vocab} tokens cut from the {role}"
            )
    return ModelPair(name, target_model, draft_model, tokenizer, vocab, tuple(notes))


def common_vocabulary(
    target: PreTrainedModel, tokenizer: Any | None, draft: PreTrainedModel, draft_tokenizer: Any | None
) -> int:
    """The size of the vocabulary of both.

    Raises:
        ValueError: if the tokenizers differ in a token or in how they split a text, if only one of the models
            has one, if a model has fewer rows than its tokenizer tokens, or, without tokenizers, if the models'
            vocabularies differ in size.
    """
    if (tokenizer is None) != (draft_tokenizer is None):
        without = "target" if tokenizer is None else "draft"
        raise ValueError(
            f"the {without} has no tokenizer, so that nothing shows that the vocabularies are the same"
        )
    sizes = {"target": output_size(target), "draft": output_size(draft)}
    if tokenizer is None or draft_tokenizer is None:
        if sizes["target"] != sizes["draft"]:
            raise ValueError(
                f"the vocabularies differ: {sizes['target']} tokens in the target, {sizes['draft']} in the draft"
            )
        return sizes["target"]
    _compare_tokenizers(tokenizer, draft_tokenizer)
    vocab = len(tokenizer)
    for role, size in sizes.items():
        if size < vocab:
            raise ValueError(f"the tokenizer has {vocab} tokens, but the {role} model has only {size} rows")
    return vocab


def _compare_tokenizers(tokenizer: Any, draft_tokenizer: Any) -> None:
    if tokenizer is draft_tokenizer:
        return
    ours, theirs = tokenizer.get_vocab(), draft_tokenizer.get_vocab()
    if ours != theirs:
        differing = [token for token in ours.keys() | theirs.keys() if ours.get(token) != theirs.get(token)]
        example = min(differing, key=lambda token: (ours.get(token, len(ours)), token))
        raise ValueError(
            f"the tokenizers differ: {len(ours)} tokens in the target, {len(theirs)} in the draft, "
            f"{len(differing)} of them unlike; {example!r} has id {ours.get(example, 'none')} in the target, "
            f"{theirs.get(example, 'none')} in the draft"
        )
    for text in PROBES:
        pieces = [each.encode(text, add_special_tokens=False) for each in (tokenizer, draft_tokenizer)]
        if pieces[0] != pieces[1]:
            raise ValueError(
                f"the tokenizers differ: the same tokens, but they split {text!r} in different ways"
            )


def output_size(model: PreTrainedModel) -> int:
    """The number of logits of a model, padding included."""
    head = model.get_output_embeddings()
    return int(model.config.vocab_size if head is None else head.weight.shape[0])


def parse_dtype(dtype: torch.dtype | str) -> torch.dtype | str:
    """A floating-point dtype of torch, or "auto"; ValueError for anything else."""
    if dtype == "auto":
        return dtype
    found = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if not isinstance(found, torch.dtype) or not found.is_floating_point:
        raise ValueError(f"dtype must be auto, float32, bfloat16, float16 or float64; got {shortened(dtype)}")
    return found


def parse_device(device: torch.device | str | None) -> torch.device:
    """A device that is there: a GPU if there is one for None; ValueError for one that is not."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        parsed = torch.device(device)
        torch.empty(0, device=parsed)
    except (RuntimeError, AssertionError, ValueError) as error:
        # The assertion is how a build of torch without CUDA refuses.
        reason = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise ValueError(
            f"device {shortened(str(device))} cannot be used on this machine; {reason}"
        ) from error
    return parsed
