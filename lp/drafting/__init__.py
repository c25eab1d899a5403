"""Drafting: what can be drafted, and how likely an antichain is to be hit.

Read first: `iid_paths.py`, what is drafted today, and `antichains.py`, with the separation oracle. `problem.py` puts an
instance and a drafting together; `tuples.py` lists everything that can be drafted; `top_sets.py` has the last level
of a tree in few variables.
"""

from .antichains import (
    Antichain,
    best_antichains,
    count_antichains,
    enumerate_antichains,
    is_antichain,
    violated_antichains,
)
from .distinct import LikeliestAndSample, WithoutReplacement
from .drafting import Drafting
from .fixed_trees import FixedTree, GivenTree, Likeliest, best_tree
from .grown import GrownTree
from .iid_paths import check_paths, hit_probability
from .listed_trees import ListedTrees
from .problem import Problem
from .replacement import Delayed, IidPaths, WithReplacement
from .specs import parse_drafting
from .tuples import count_drafted_tuples, drafted_leaves, drafted_tuples

__all__ = [
    "Antichain",
    "Delayed",
    "Drafting",
    "FixedTree",
    "GivenTree",
    "GrownTree",
    "IidPaths",
    "Likeliest",
    "LikeliestAndSample",
    "ListedTrees",
    "Problem",
    "WithReplacement",
    "WithoutReplacement",
    "best_antichains",
    "best_tree",
    "check_paths",
    "count_antichains",
    "count_drafted_tuples",
    "drafted_leaves",
    "drafted_tuples",
    "enumerate_antichains",
    "hit_probability",
    "is_antichain",
    "parse_drafting",
    "violated_antichains",
]
