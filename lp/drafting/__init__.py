"""Drafting: what can be drafted, and how likely an antichain is to be hit.

Read first: `antichains.py`, with the separation oracle. `iid_paths.py` lists everything that K i.i.d. paths can
be; `top_sets.py` has the last level of a tree in few variables.
"""

from .antichains import (
    Antichain,
    best_antichains,
    check_paths,
    count_antichains,
    enumerate_antichains,
    hit_probability,
    is_antichain,
    violated_antichains,
)
from .iid_paths import count_drafted_tuples, drafted_leaves, drafted_tuples

__all__ = [
    "Antichain",
    "best_antichains",
    "check_paths",
    "count_antichains",
    "count_drafted_tuples",
    "drafted_leaves",
    "drafted_tuples",
    "enumerate_antichains",
    "hit_probability",
    "is_antichain",
    "violated_antichains",
]
