"""Budgets: D(z), how often a node is a prefix of what is accepted, and values known in closed form.

Read first: `node_budgets.py`. `repair.py` makes float budgets feasible.
"""

from .closed_forms import block_coupling, depth_one_optimum, many_paths_floor, many_paths_limit
from .node_budgets import (
    Violation,
    accepted_tokens,
    block_budgets,
    residual_law,
    stop_mass,
    target_matching_violation,
    token_budgets,
)

__all__ = [
    "Violation",
    "accepted_tokens",
    "block_budgets",
    "block_coupling",
    "depth_one_optimum",
    "many_paths_floor",
    "many_paths_limit",
    "residual_law",
    "stop_mass",
    "target_matching_violation",
    "token_budgets",
]
