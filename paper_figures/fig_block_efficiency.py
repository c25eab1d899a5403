"""Block efficiency against the number of drafted paths, on unlike and on similar models (V = 3, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .common import rows_of
from .lines import block_efficiency


def draw(results: Path) -> Any:
    """Mean tokens per target pass over the stored instances, the bonus token counted."""
    return block_efficiency(rows_of(results, "paths"), "paths", "drafted paths K")
