"""Block efficiency against the number of drafted paths, on unlike and on similar models (V = 3, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .lines import COLUMNS, block_efficiency
from .needs import SWEEP, Needs

NEEDS = Needs("paths.parquet", COLUMNS, SWEEP, single=("depth",))


def draw(results: Path) -> Any:
    """Mean tokens per target pass over the stored instances, the bonus token counted."""
    return block_efficiency(NEEDS, results, "paths", "drafted paths K")
