"""Block efficiency and speed against temperature on the small real pair (SmolLM2, K = 3, L = 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .common import pair_rows
from .pair_lines import pair_lines


def draw(results: Path) -> Any:
    """Both models at the same temperature; the speed is that of the machine of the stored results."""
    return pair_lines(pair_rows(results, "temperatures"), "temperature", "temperature of both models")
