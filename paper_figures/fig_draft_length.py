"""Block efficiency against the draft length, with two paths, on unlike and on similar models (V = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .common import values_of
from .lines import COLUMNS, block_efficiency
from .needs import SWEEP, Needs

NEEDS = Needs("lengths.parquet", COLUMNS, SWEEP, single=("paths",))


def draw(results: Path) -> Any:
    """Mean tokens per target pass over the stored instances, the bonus token counted."""
    (paths,) = values_of(NEEDS.rows(results), "paths")
    words = "path" if paths == 1 else "paths"
    return block_efficiency(NEEDS, results, "depth", f"draft length L, with K = {paths} {words}")
