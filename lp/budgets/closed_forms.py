"""Values known without solving a program: the limit of many paths, block coupling, and depth one (section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..drafting.iid_paths import check_paths, hit_probability
from ..instances.instance import Instance, check_instance
from ..instances.trees import maximum
from ..numbers.rationals import Array, fast, settled, to_fraction


def many_paths_limit(instance: Instance) -> Any:
    """The limit of OPT_K as K grows: the sum of p(z) over nodes z != root with q(z) > 0 (statement 4.2)."""
    check_instance(instance)
    drafted = np.asarray(instance.joint_draft > 0, dtype=bool)
    drafted[0] = False
    return _total(instance.joint_target[drafted], instance)


def many_paths_floor(instance: Instance, paths: int) -> Any:
    """A lower bound on OPT_K that tends to `many_paths_limit`.

    The budgets D(z) = p(z) f(q_min) on the drafted nodes, q_min the least positive q(z), meet (2.2), and
    D(A) <= f(q_min) <= f(q(A)) for every antichain A that has a drafted node.
    """
    check_instance(instance)
    check_paths(paths)
    positive = [t for t in instance.joint_draft[1:] if t > 0]
    if not positive:
        return instance.target[0] * 0
    return many_paths_limit(instance) * hit_probability(min(positive), paths)


def block_coupling(instance: Instance) -> Any:
    """Expected common prefix if the draft were coupled with a whole target block: sum of min(p(z), q(z)).

    At least OPT_1; the difference is what prefix-matching costs on one path (statement 4.3).
    """
    check_instance(instance)
    least = -maximum(-fast(instance.joint_target), -fast(instance.joint_draft))
    return _total(settled(least)[1:], instance)


def depth_one_optimum(instance: Instance, paths: int) -> Any:
    """OPT_K at depth one: the minimum over token sets S of f(q(S)) + 1 - p(S) (statement 4.4).

    The minimiser is a top set of the order by p/q, so V + 1 sets are enough.

    Raises ValueError unless the depth is one.
    """
    check_instance(instance)
    check_paths(paths)
    if instance.depth != 1:
        raise ValueError(f"got depth {instance.depth}; the closed form is for depth 1")
    live = np.flatnonzero(instance.live)[1:].tolist()
    order = sorted(live, key=lambda node: instance.target[node] / instance.draft[node], reverse=True)
    zero = instance.target[0] * 0
    # Tokens with q = 0 belong to every minimising S (they add nothing to q(S)), so p counts live tokens only.
    total = sum((instance.target[node] for node in live), zero)
    best, target_mass, draft_mass = total, zero, zero
    for node in order:
        target_mass += instance.target[node]
        draft_mass += instance.draft[node]
        best = min(best, hit_probability(draft_mass, paths) + total - target_mass)
    return best


def _total(values: Array, instance: Instance) -> Any:
    total = sum(fast(values).tolist(), fast(instance.target[:1])[0] * 0)
    return to_fraction(total) if instance.exact else float(total)
