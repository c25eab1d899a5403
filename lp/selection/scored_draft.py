"""The skewed draft and the budgets of a selection by scores, in one pass over the tree (section 12)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..drafting.iid_paths import check_paths
from ..instances.instance import Instance
from ..numbers.rationals import Array, fast, settled
from .node_choices import NodeChoice, choose, choose_exactly, root_state
from .ratio_order import ROUNDING
from .scores import OnPath
from .selections import Selection, mixed_selection


def skewed_draft(instance: Instance, paths: int, selection: Selection | None = None) -> tuple[Array, Array]:
    """nu and the budgets of block verification under it, in one pass over the tree (statements 12.1 and 6.1).

    Args:
        instance: exact or float, full or sparse.
        paths: number K of drafted paths.
        selection: the node rule with its families of orderings; by default `mixed_selection`.

    Returns:
        array (n,): nu(z), the probability that the selected path passes z.
        array (n,): D(z), the budgets; their sum without the root is the expected number of accepted tokens.
    """
    check_paths(paths)
    if selection is not None and not isinstance(selection, Selection):
        raise ValueError(f"selection: got {selection!r}; expected a Selection, such as Selection(rule)")
    tree = instance.tree
    selection = selection or mixed_selection(tree.vocab)
    target = fast(instance.target)
    nu, budgets = target * 0 + 1, target * 0 + 1
    state = root_state(target[:1, None], paths)
    for d in range(tree.depth):
        nodes, below = tree.level(d), tree.level(d + 1)
        if nodes.stop == nodes.start:
            break
        target_rows, draft_rows = (
            fast(np.concatenate([law(z) for z in range(nodes.start, nodes.stop)])).reshape((-1, tree.vocab))
            for law in (instance.target_law, instance.draft_law)
        )
        weight = _ratio(budgets[nodes], nu[nodes])
        data = OnPath(
            target_rows, draft_rows, weight, state, tree.depth - d, 0 if instance.exact else ROUNDING
        )
        places, tokens = tree.parent[below] - nodes.start, tree.token[below]
        if instance.exact:
            choice = NodeChoice.joined(choose_exactly(selection, data, root=d == 0))
        else:
            choice = choose(selection, data, root=d == 0)
        state = choice.next_states(places, tokens, fast(instance.draft)[below])
        passing = state.sum(axis=(1, 2))
        nu[below] = nu[tree.parent[below]] * passing
        wanted = target[below] * budgets[tree.parent[below]]
        budgets[below] = np.where(np.asarray(wanted < nu[below], dtype=bool), wanted, nu[below])
        state = _ratio(state, np.broadcast_to(passing[:, None, None], state.shape))
    return settled(nu), settled(budgets)


def _ratio(numerator: Any, denominator: Any) -> Any:
    empty = np.asarray(denominator == 0, dtype=bool)
    return np.where(empty, numerator * 0, numerator / np.where(empty, denominator * 0 + 1, denominator))
