"""Times of the phases of a block, without waiting for a device."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

PHASES = ("draft", "target", "verify", "cache")
"""Drafting with its laws; the tree pass with its laws; from rows to the sampled token; tidying both caches."""


class PhaseTimer:
    """Seconds by block and phase: host time on a CPU, events on a CUDA device.

    Events are put into the device's queue and read only at the end, so that timing makes nobody wait; a phase
    then lasts from when the device has come to its start until it has finished its work.
    """

    def __init__(self) -> None:
        self._blocks: list[dict[str, tuple[torch.cuda.Event, torch.cuda.Event] | float]] = []

    def next_block(self) -> None:
        """What is measured from now on belongs to a new block."""
        self._blocks.append({})

    @contextmanager
    def phase(self, name: str, device: torch.device) -> Iterator[None]:
        """Measure what is done inside as a phase of the current block, on the device that ends it."""
        if device.type != "cuda":
            start = time.perf_counter()
            yield
            self._blocks[-1][name] = time.perf_counter() - start
            return
        with torch.cuda.device(device):
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            yield
            last.record()
        self._blocks[-1][name] = (first, last)

    def seconds(self) -> list[dict[str, float]]:
        """For each block, seconds by phase; 0 for a phase that it had not. Waits for the device."""
        return [{phase: _seconds(block.get(phase, 0.0)) for phase in PHASES} for block in self._blocks]


def _seconds(measured: tuple[torch.cuda.Event, torch.cuda.Event] | float) -> float:
    if isinstance(measured, float):
        return measured
    first, last = measured
    last.synchronize()
    return float(first.elapsed_time(last)) / 1000
