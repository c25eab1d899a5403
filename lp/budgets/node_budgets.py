"""Node budgets: how often each node is a prefix of the accepted string (sections 2 and 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..instances.arguments import check_array
from ..instances.instance import Instance, check_instance
from ..instances.trees import PrefixTree, check_tree, format_context, maximum
from ..numbers.rationals import Array, fast, settled, shown, to_fraction


@dataclass(frozen=True)
class Violation:
    """A constraint that node budgets break.

    Attributes:
        kind: "root", "sign", "target-matching" or "antichain".
        nodes: the nodes concerned.
        left, right: the two sides; the constraint asks for left <= right (for the root, left == right).
    """

    kind: str
    nodes: tuple[int, ...]
    left: Any
    right: Any

    def describe(self, tree: PrefixTree) -> str:
        """One line that names the nodes by their token strings."""
        names = ", ".join(repr(format_context(tree.path(node))) for node in self.nodes)
        return f"{self.kind} constraint at {names}: {shown(self.left)} should not exceed {shown(self.right)}"


def accepted_tokens(budgets: Array) -> Any:
    """E|Z|: the sum of the budgets of all nodes but the root. A Fraction where the budgets are exact."""
    check_array("budgets", budgets)
    total = fast(budgets).sum() - fast(budgets[:1])[0]
    return settled(np.array([total], dtype=budgets.dtype))[0]


def stop_mass(tree: PrefixTree, budgets: Array) -> Array:
    """array (n,): Pr[Z = z] = D(z) minus the budgets of the children of z."""
    check_tree(tree)
    check_array("budgets", budgets)
    return settled(fast(budgets) - tree.sum_children_everywhere(fast(budgets)))


def residual_law(instance: Instance, budgets: Array, node: int) -> Array:
    """array (V,): the law of the next token when a target-matching algorithm stops at `node`.

    It is proportional to D(z) p(y|z) - D(zy), and forced by the budgets (statement 2.3).

    Raises ValueError where the algorithm never stops at `node`: then the law is not defined.
    """
    check_instance(instance)
    check_array("budgets", budgets)
    left = instance.target_law(node) * budgets[node]
    for child in instance.tree.children(node):
        left[instance.tree.token[child]] -= budgets[child]
    total = left.sum()
    if total <= 0:
        raise ValueError(
            f"no mass stops at {format_context(instance.tree.path(node))!r}; its residual is undefined"
        )
    return left / total


def token_budgets(instance: Instance) -> Array:
    """array (n,): budgets of token verification, D(zy) = D(z) min(p(y|z), q(y|z)) (statement 5.4)."""
    check_instance(instance)
    least = -maximum(-fast(instance.target), -fast(instance.draft))
    return settled(instance.tree.multiply_down(least))


def block_budgets(instance: Instance, skewed_draft: Array | None = None) -> Array:
    """array (n,): budgets of block verification, D(zy) = min(nu(zy), p(y|z) D(z)) (statement 5.2).

    Args:
        instance: target and draft laws.
        skewed_draft: array (n,), nu(z) = Pr[the selected path passes z], the joint probabilities under a
            selection rule (section 6); the draft's own joint probabilities when left out.
    """
    check_instance(instance)
    if skewed_draft is not None:
        check_array("skewed_draft", skewed_draft)
    joint = fast(instance.joint_draft if skewed_draft is None else skewed_draft)
    target = fast(instance.target)
    return _down(
        instance.tree, joint[:1], lambda nodes, above: -maximum(-joint[nodes], -target[nodes] * above)
    )


def _down(tree: PrefixTree, root: Array, rule: Callable[[slice, Array], Array]) -> Array:
    """Budgets level by level: rule(nodes of a level, budgets of their parents) -> budgets of the nodes."""
    out = np.empty(len(tree), dtype=root.dtype)
    out[0] = root[0]
    for d in range(1, tree.depth + 1):
        nodes = tree.level(d)
        out[nodes] = rule(nodes, out[tree.parent[nodes]])
    return settled(out)


def target_matching_violation(instance: Instance, budgets: Array) -> Violation | None:
    """The first node where D(root) = 1 and 0 <= D(zy) <= p(y|z) D(z) fails (statement 2.2), or None.

    Exact budgets are compared exactly. Floats are compared as they are, without a tolerance.

    Raises ValueError for a wrong number of budgets.
    """
    check_instance(instance)
    check_array("budgets", budgets)
    tree = instance.tree
    if budgets.shape != (len(tree),):
        raise ValueError(f"budgets: got shape {budgets.shape}; expected one entry per node, {len(tree)}")
    if budgets[0] != 1:
        return Violation("root", (0,), budgets[0], 1)
    values = fast(budgets)
    ceiling = fast(instance.target)[1:] * values[tree.parent[1:]]
    negative = np.flatnonzero(np.asarray(values[1:] < 0, dtype=bool))
    if len(negative):
        node = int(negative[0]) + 1
        return Violation("sign", (node,), -budgets[node], 0)
    above = np.flatnonzero(np.asarray(values[1:] > ceiling, dtype=bool))
    if len(above):
        node = int(above[0]) + 1
        right = to_fraction(ceiling[node - 1]) if instance.exact else float(ceiling[node - 1])
        return Violation("target-matching", (node,), budgets[node], right)
    return None
