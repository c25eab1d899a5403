"""Block efficiency and speed against temperature on the small real pair (SmolLM2, K = 3, L = 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .needs import DECODE_STUDY, Needs
from .pair_lines import COLUMNS, PLAIN, pair_lines

NEEDS = Needs(
    "pairs/temperatures.parquet", COLUMNS, DECODE_STUDY, verifiers=(PLAIN,), single=("length", "paths")
)


def draw(results: Path) -> Any:
    """Both models at the same temperature; the speed is that of the machine of the stored results."""
    return pair_lines(NEEDS, results, "temperature", "temperature of both models")
