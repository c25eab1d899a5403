"""Linear programs for lossless verification: instances, budgets, LP_1, LP_K, exact certificates.

Everything here is independent of any particular verifier. `solve_multi_path(instance, paths)` gives the largest
expected number of accepted tokens that any valid verifier can reach with that many i.i.d. drafted paths.

Read first: `optimum.py`, the front door to the bound. The rooms, each of which imports only those above it:

    numbers/     rationals and exact linear algebra
    instances/   prefix trees, laws, the file format, random families
    drafting/    what can be drafted: antichains, hit probabilities, the separation oracle
    budgets/     node budgets, closed forms
    programs/    the linear programs as plain data; `readable.py` has them in a dozen lines
    solving/     float solvers and cutting planes
    proofs/      certificates and proven bounds, in rationals
    selection/   which drafted path to pick
"""

from .budgets import (
    Violation,
    accepted_tokens,
    block_budgets,
    block_coupling,
    depth_one_optimum,
    many_paths_floor,
    many_paths_limit,
    residual_law,
    stop_mass,
    target_matching_violation,
    token_budgets,
)
from .drafting import (
    Antichain,
    IidPaths,
    Problem,
    best_antichains,
    count_antichains,
    enumerate_antichains,
    hit_probability,
    is_antichain,
    violated_antichains,
)
from .instances import (
    FAMILIES,
    Instance,
    PrefixTree,
    instance_from_json,
    instance_to_json,
    load_instance,
    random_instance,
    random_top_k_instance,
    save_instance,
)
from .optimum import (
    Optimum,
    OptimumStatus,
    solve_multi_path,
    solve_problem,
    solve_single_path,
)
from .programs import (
    LinearProgram,
    Row,
    enumerated_program,
    single_path_program,
    starting_program,
    verifier_budgets,
    verifier_program,
)
from .proofs import (
    Certificate,
    ExactOptimum,
    NotCertified,
    TightAntichain,
    Verdict,
    dual_bound,
    exact_optimum,
    proven_lower_bound,
    proven_upper_bound,
)
from .selection import (
    MixedRule,
    NodeRule,
    OnPath,
    Selection,
    Transport,
    greedy_skewed_draft,
    in_floats,
    mixed_selection,
    neutral,
    ranked_skewed_draft,
    ratio_ranking,
    selection_from_transport,
    skewed_draft,
    stable_greedy_skewed_draft,
    transport_stop_mass,
)
from .solving import (
    Basis,
    Solution,
    SolverFailure,
    Status,
    solve,
)

__all__ = [
    "FAMILIES",
    "Antichain",
    "Basis",
    "Certificate",
    "ExactOptimum",
    "IidPaths",
    "Instance",
    "LinearProgram",
    "MixedRule",
    "NodeRule",
    "NotCertified",
    "OnPath",
    "Optimum",
    "OptimumStatus",
    "PrefixTree",
    "Problem",
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
    "solve_problem",
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
