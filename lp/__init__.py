"""Linear programs for lossless verification: instances, budgets, LP_1, LP_K, exact certificates.

Everything here is independent of any particular verifier. `solve_multi_path(instance, paths)` gives the largest
expected number of accepted tokens that any valid verifier can reach with that many i.i.d. drafted paths.
"""

from .antichains import (
    Antichain,
    best_antichains,
    count_antichains,
    enumerate_antichains,
    hit_probability,
    is_antichain,
    violated_antichains,
)
from .budgets import (
    Violation,
    accepted_tokens,
    block_budgets,
    residual_law,
    stop_mass,
    target_matching_violation,
    token_budgets,
)
from .certificates import Certificate, TightAntichain, Verdict, dual_bound
from .closed_forms import block_coupling, depth_one_optimum, many_paths_floor, many_paths_limit
from .exact_simplex import ExactOptimum, NotCertified, exact_optimum
from .families import FAMILIES, random_instance, random_top_k_instance
from .instance_json import instance_from_json, instance_to_json, load_instance, save_instance
from .instances import Instance
from .mixed_rule import MixedRule
from .mixed_selection import Selection, mixed_selection, skewed_draft
from .multi_path import enumerated_program, starting_program
from .node_rules import NodeRule, in_floats, neutral, ratio_ranking
from .optimum import Optimum, solve_multi_path, solve_single_path
from .programs import LinearProgram, Row
from .proven import proven_lower_bound, proven_upper_bound
from .scores import OnPath
from .selection import (
    Transport,
    greedy_skewed_draft,
    ranked_skewed_draft,
    selection_from_transport,
    stable_greedy_skewed_draft,
    transport_stop_mass,
)
from .single_path import single_path_program
from .solvers import Basis, Solution, SolverFailure, Status, solve
from .trees import PrefixTree
from .verifier_lp import verifier_budgets, verifier_program

__all__ = [
    "FAMILIES",
    "Antichain",
    "Basis",
    "Certificate",
    "ExactOptimum",
    "Instance",
    "LinearProgram",
    "MixedRule",
    "NodeRule",
    "NotCertified",
    "OnPath",
    "Optimum",
    "PrefixTree",
    "Row",
    "Selection",
    "Solution",
    "SolverFailure",
    "Status",
    "TightAntichain",
    "Transport",
    "Verdict",
    "Violation",
    "accepted_tokens",
    "best_antichains",
    "block_budgets",
    "block_coupling",
    "count_antichains",
    "depth_one_optimum",
    "dual_bound",
    "enumerate_antichains",
    "enumerated_program",
    "exact_optimum",
    "greedy_skewed_draft",
    "hit_probability",
    "in_floats",
    "instance_from_json",
    "instance_to_json",
    "is_antichain",
    "load_instance",
    "many_paths_floor",
    "many_paths_limit",
    "mixed_selection",
    "neutral",
    "proven_lower_bound",
    "proven_upper_bound",
    "random_instance",
    "random_top_k_instance",
    "ranked_skewed_draft",
    "ratio_ranking",
    "residual_law",
    "save_instance",
    "selection_from_transport",
    "single_path_program",
    "skewed_draft",
    "solve",
    "solve_multi_path",
    "solve_single_path",
    "stable_greedy_skewed_draft",
    "starting_program",
    "stop_mass",
    "target_matching_violation",
    "token_budgets",
    "transport_stop_mass",
    "verifier_budgets",
    "verifier_program",
    "violated_antichains",
]
