"""How near verifiers come to OPT_K on real contexts of a model pair: `nodebudget optimality`."""

from __future__ import annotations

from .config import OptimalityConfig
from .run import OptimalityResult, run_optimality

__all__ = ["OptimalityConfig", "OptimalityResult", "run_optimality"]
