"""What one more token costs: forward passes with a cache, timed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import torch
from transformers import DynamicCache, PreTrainedModel


@torch.no_grad()
def forward_seconds(
    models: Sequence[PreTrainedModel], *, tokens: int = 1, context: int = 128, repeats: int = 20
) -> list[float]:
    """Median seconds of a forward pass over a few new tokens behind a cached context, for each model.

    The models take turns, so that whatever else the machine is doing slows them alike. The context is cut to
    what every model has room for.
    """
    rooms = [getattr(model.config, "max_position_embeddings", None) for model in models]
    context = min([context, *(room - tokens for room in rooms if room is not None)])
    if context < 1:
        raise ValueError(f"{tokens} new tokens leave no room in the context of {context + tokens}")
    caches = [DynamicCache(config=model.config) for model in models]
    seconds: list[list[float]] = [[] for _ in models]
    for model, cache in zip(models, caches, strict=True):
        model(torch.zeros(1, context, dtype=torch.long, device=model.device), cache=cache, use_cache=True)
    for repeat in range(repeats + 2):
        for model, cache, measured in zip(models, caches, seconds, strict=True):
            ids = torch.zeros(1, tokens, dtype=torch.long, device=model.device)
            _wait(model)
            start = time.perf_counter()
            model(ids, cache=cache, use_cache=True)
            _wait(model)
            if repeat >= 2:  # the first passes allocate
                measured.append(time.perf_counter() - start)
            cache.crop(-tokens)
    return [statistics.median(measured) for measured in seconds]


def _wait(model: PreTrainedModel) -> None:
    if model.device.type == "cuda":
        torch.cuda.synchronize(model.device)
