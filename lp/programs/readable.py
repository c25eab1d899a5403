"""LP_1 and LP_K as a dozen lines of cvxpy each: to read, to show, and to check the plain data against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..drafting.antichains import enumerate_antichains
from ..drafting.iid_paths import check_paths, hit_probability
from ..instances.instance import Instance
from ..numbers.rationals import float_array

if TYPE_CHECKING:
    import cvxpy


def single_path(instance: Instance) -> tuple[cvxpy.Problem, cvxpy.Variable]:
    """LP_1 (section 4) in cvxpy: the problem and its variable D, one entry per node of the tree."""
    import cvxpy as cp

    tree, target = instance.tree, float_array(instance.target)
    draft = float_array(instance.joint_draft)
    D = cp.Variable(len(tree), nonneg=True)
    constraints = [D[0] == 1]
    for z in range(1, len(tree)):
        constraints.append(D[z] <= target[z] * D[tree.parent[z]])  # target-matching
        constraints.append(D[z] <= draft[z])  # prefix-matching
    return cp.Problem(cp.Maximize(cp.sum(D[1:])), constraints), D


def multi_path(instance: Instance, paths: int) -> tuple[cvxpy.Problem, cvxpy.Variable]:
    """LP_K (section 4) in cvxpy with every antichain written out: for small trees, to read."""
    import cvxpy as cp

    check_paths(paths)
    tree, target = instance.tree, float_array(instance.target)
    draft = float_array(instance.joint_draft)
    D = cp.Variable(len(tree), nonneg=True)
    constraints = [D[0] == 1]
    for z in range(1, len(tree)):
        constraints.append(D[z] <= target[z] * D[tree.parent[z]])  # target-matching
    for A in map(list, enumerate_antichains(tree)):
        if A:
            constraints.append(cp.sum(D[A]) <= hit_probability(draft[A].sum(), paths))  # f(q(A))
    return cp.Problem(cp.Maximize(cp.sum(D[1:])), constraints), D
