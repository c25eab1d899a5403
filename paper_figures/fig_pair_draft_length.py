"""Block efficiency and speed against the draft length on the small real pair (SmolLM2, K = 3, temperature 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .common import pair_rows
from .pair_lines import pair_lines


def draw(results: Path) -> Any:
    """The speed is that of the machine of the stored results."""
    return pair_lines(pair_rows(results, "lengths"), "length", "draft length L")
