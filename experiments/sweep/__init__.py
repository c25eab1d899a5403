"""Sweeps: a frozen configuration of random instances -> a table of verifiers against OPT_K."""

from __future__ import annotations

from .config import SweepConfig
from .config_file import load_config
from .run import SweepResult, run_sweep

__all__ = ["SweepConfig", "SweepResult", "load_config", "run_sweep"]
