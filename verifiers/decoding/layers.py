"""Models made of some of another model's layers: self-speculative drafts, and students before training."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from nodebudget.lp.numbers.rationals import shortened
from torch import nn
from transformers import PreTrainedModel

_SPAN = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
MAX_SPAN = 1000  # no model has as many layers


def keep_layers(model: PreTrainedModel, kept: Sequence[int], *, share_layers: bool = True) -> PreTrainedModel:
    """A model of the same kind with only the given layers, in the order given.

    Everything outside the layers (embeddings, final norm, head) is always the very tensors of `model`. So are
    the layers' own with `share_layers`, which then costs no memory; without it they are copies that may be
    trained.

    Args:
        model: a decoder-only model of transformers.
        kept: positions of layers, from 0, without repetition.

    Raises:
        ValueError: for no layer at all, a repeated one or one that is not there, and for a model whose list of
            layers cannot be told.

    Reference:
        arXiv:2309.08168 (drafting by skipping layers of the target).
    """
    path, layers = _layer_list(model)
    if not kept:
        raise ValueError("a draft needs at least one of the target's layers; none is left")
    if len(set(kept)) < len(kept):
        raise ValueError(f"each layer can be kept once; got {', '.join(map(str, kept))}")
    absent = [layer for layer in kept if not 0 <= layer < len(layers)]
    if absent:
        raise ValueError(f"the target has the layers 0 to {len(layers) - 1}; there is no layer {absent[0]}")

    inside = {id(tensor) for tensor in [*layers.parameters(), *layers.buffers()]}
    memo: dict[int, Any] = {
        id(tensor): tensor
        for tensor in [*model.parameters(), *model.buffers()]
        if share_layers or id(tensor) not in inside
    }
    # Layers that are left out are not worth a copy.
    memo |= {id(layer): nn.Identity() for number, layer in enumerate(layers) if number not in set(kept)}
    smaller = copy.deepcopy(model, memo)
    _, copied = _layer_list(smaller)
    chosen = nn.ModuleList([copied[number] for number in kept])
    for number, layer in enumerate(chosen):
        modules: list[Any] = list(layer.modules())
        for module in modules:
            if hasattr(module, "layer_idx"):  # the layer's place in the key-value cache
                module.layer_idx = number
    parent, _, name = path.rpartition(".")
    setattr(smaller.get_submodule(parent), name, chosen)
    config = smaller.config
    config.num_hidden_layers = len(kept)
    types = getattr(config, "layer_types", None)
    if types is not None:
        config.layer_types = [types[number] for number in kept]
    return smaller


def layer_count(model: PreTrainedModel) -> int:
    """Number of layers; ValueError as `keep_layers`."""
    return len(_layer_list(model)[1])


def is_layer_spec(source: str) -> bool:
    """Whether the source of a draft speaks of the target's layers."""
    return source.startswith(("first:", "without:", "layers:"))


def parse_layers(spec: str, count: int) -> tuple[int, ...]:
    """The layers kept of `count` by `first:27`, `without:10-13` or `layers:0-2,29`; ValueError for others."""
    kind, _, text = spec.partition(":")
    if kind == "first":
        if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= count:
            raise ValueError(f"{spec}: write first:N with N from 1 to {count}, the target's number of layers")
        return tuple(range(int(text)))
    numbers = parse_spans(text)
    absent = [number for number in numbers if number >= count]
    if absent:
        raise ValueError(f"{spec}: the target has the layers 0 to {count - 1}; there is no layer {absent[0]}")
    if kind == "layers":
        return numbers
    kept = tuple(number for number in range(count) if number not in set(numbers))
    if not kept:
        raise ValueError(f"{spec}: this leaves out every layer of the target")
    return kept


def parse_spans(text: str) -> tuple[int, ...]:
    """The numbers of `0-2,29`, in the order given; ValueError for anything else."""
    numbers: list[int] = []
    for part in text.split(","):
        span = _SPAN.fullmatch(part.strip())
        start, end = (int(span[1]), int(span[2] or span[1])) if span else (1, 0)
        if start > end or end - start > MAX_SPAN:
            raise ValueError(
                f"{shortened(part.strip())} is no layer or span of layers; write them as 0-2,29, counted from 0"
            )
        numbers += range(start, end + 1)
    return tuple(numbers)


def _layer_list(model: PreTrainedModel) -> tuple[str, nn.ModuleList]:
    count = model.config.num_hidden_layers
    found = [
        (name, module)
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == count
    ]
    if len(found) != 1:
        raise ValueError(
            f"{type(model).__name__}: the list of its {count} layers cannot be told, "
            f"there are {len(found)} lists of that length; name a draft model instead"
        )
    return found[0]
