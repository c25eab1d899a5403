"""Block efficiency and speed against the draft length on the small real pair (SmolLM2, K = 3, temperature 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .needs import DECODE_STUDY, Needs
from .pair_lines import COLUMNS, PLAIN, pair_lines

NEEDS = Needs(
    "pairs/lengths.parquet", COLUMNS, DECODE_STUDY, verifiers=(PLAIN,), single=("temperature", "paths")
)


def draw(results: Path) -> Any:
    """The speed is that of the machine of the stored results."""
    return pair_lines(NEEDS, results, "length", "draft length L")
