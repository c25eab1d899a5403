"""What one more token costs: forward passes with a cache, timed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import torch
from transformers import DynamicCache, PreTrainedModel


@torch.no_grad()
def forward_seconds(
    passes: Sequence[tuple[PreTrainedModel, int]], *, context: int = 128, repeats: int = 20
) -> list[float]:
    """Median seconds of forward passes over a few new tokens behind a cached context.

    The passes take turns, so that whatever else the machine is doing slows them alike: ratios are to be taken
    within one call.

    Args:
        passes: a model and its number of new tokens, for each pass to be timed.
        context: cut to what every model has room for.

    Raises:
        ValueError: if the new tokens leave no room for a context.
    """
    for model, tokens in passes:
        room = getattr(model.config, "max_position_embeddings", None)
        if room is not None:
            context = min(context, room - tokens)
        if context < 1:
            raise ValueError(f"{tokens} new tokens leave no room for others in the context of {room}")
    caches = [DynamicCache(config=model.config) for model, _ in passes]
    seconds: list[list[float]] = [[] for _ in passes]
    for (model, _), cache in zip(passes, caches, strict=True):
        model(torch.zeros(1, context, dtype=torch.long, device=model.device), cache=cache, use_cache=True)
    for repeat in range(repeats + 2):
        for (model, tokens), cache, measured in zip(passes, caches, seconds, strict=True):
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
