"""K i.i.d. drafted paths: how likely one of them passes a set of nodes (section 3)."""

from __future__ import annotations

from typing import Any

import numpy as np

PATHS_LIMIT = 10_000
"""Most drafted paths: f(t) = 1 - (1 - t)^K is a power in rationals."""


def hit_probability(draft_mass: Any, paths: int) -> Any:
    """f(t) = 1 - (1 - t)^K: the probability that one of K i.i.d. paths passes a set of mass t.

    Exact for rationals; accurate for small and large t in floats. Masses above one (float rounding) count
    as one.
    """
    if isinstance(draft_mass, float | np.floating):
        if draft_mass >= 1:
            return 1.0
        return float(-np.expm1(paths * np.log1p(-draft_mass)))
    return 1 - (1 - draft_mass) ** paths


def check_paths(paths: int) -> None:
    """Raise ValueError unless the number of drafted paths is an integer from 1 to `PATHS_LIMIT`."""
    if isinstance(paths, bool) or not isinstance(paths, int) or paths < 1:
        raise ValueError(f"paths: got {paths!r}; expected an integer of at least 1")
    if paths > PATHS_LIMIT:
        raise ValueError(f"paths: got {paths}; expected at most {PATHS_LIMIT}")
