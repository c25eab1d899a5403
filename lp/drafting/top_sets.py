"""The last level of LP_K in cumulated budgets of siblings, best ratio of target to draft first (statement 8.2)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..instances.trees import PrefixTree
from ..numbers.rationals import Array


def rank_key(target: Array, draft: Array) -> Array:
    """What siblings are sorted by, rising: the best ratio of target to draft comes first."""
    return -target / draft


class TopSets:
    """Variables and fixed rows of LP_K when siblings on the last level are monotone.

    Nodes above the last level keep their budget as variable. The children of a node z on the last level are
    sorted by p(y|z)/q(y|z), falling, and the j-th variable is the sum of the first j budgets: an antichain that
    takes a *top set* of the children of z then has one entry for it. Variable k belongs to node k + 1, or to the
    place k + 1 in the sorted order.

    Attributes:
        order: int array (number of leaves,): the leaf at each place.
        mass: float array (n,): draft mass of each node or top set; 1 at the root.
        costs: float array (n - 1,): costs of the variables.
        monotone: slice of the fixed rows that ask for monotone siblings.
    """

    def __init__(self, tree: PrefixTree, target: Array, draft: Array, joint_draft: Array) -> None:
        """All arrays are float (n,); every node must have both target and draft mass."""
        self.tree, self._target, self._draft, self._joint_draft = tree, target, draft, joint_draft
        count, self.inner = len(tree), tree.leaves.start
        leaves = np.arange(self.inner, count)
        parent = tree.parent[leaves]
        self.order = leaves[np.lexsort((rank_key(target[leaves], draft[leaves]), parent))]
        self._place = np.empty(count, dtype=np.int64)
        self._place[self.order] = leaves
        self._first = tree.first_child[parent] == leaves
        self._last = np.append(parent[1:] != parent[:-1], True)[: len(leaves)]
        self.mass = np.concatenate((joint_draft[: self.inner], self._cumulate(joint_draft[self.order])))
        self.costs = np.concatenate((np.ones(self.inner - 1), self._last.astype(np.float64)))

    def _cumulate(self, values: Array) -> Array:
        """Sums of the first j entries among siblings, in the sorted order."""
        return _sums_within(values, self._first)

    def _cumulate_backwards(self, values: Array) -> Array:
        """Sums of the j-th entry and all after it among siblings, in the sorted order."""
        return _sums_within(values[::-1], self._last[::-1])[::-1]

    def fixed_rows(self) -> tuple[sparse.csr_array, Array]:
        """Target-matching (2.2) and monotone siblings (8.2): matrix and upper bounds of the rows."""
        tree, inner, parent = self.tree, self.inner, self.tree.parent
        leaves = np.arange(inner, len(tree))
        above, later = parent[self.order], ~self._first
        node = np.arange(1, len(tree))
        entries: list[tuple[Array, Array, Array]] = []  # row, node or place, coefficient

        share = self._target[np.concatenate((np.arange(1, inner), self.order))]
        parents = np.concatenate((parent[1:inner], above))
        below_root = parents == 0
        entries.append((node - 1, node, np.ones(len(node))))
        entries.append((leaves[later] - 1, leaves[later] - 1, -np.ones(later.sum())))
        entries.append((node[~below_root] - 1, parents[~below_root], -share[~below_root]))
        bounds = [np.where(below_root, share, 0.0)]
        rows = len(node)

        # D_j q_(j-1) <= D_(j-1) q_j in the sums, divided by q_j + q_(j-1)
        j = np.flatnonzero(later)
        before, own = self._draft[self.order[j - 1]], self._draft[self.order[j]]
        number, third = rows + np.arange(len(j)), later[j - 1]
        entries.append((number, inner + j, before / (before + own)))
        entries.append((number, inner + j - 1, -np.ones(len(j))))
        entries.append((number[third], inner + j[third] - 2, (own / (before + own))[third]))
        bounds.append(np.zeros(len(j)))
        self.monotone = slice(rows, rows + len(j))
        rows += len(j)

        # the last budget of a family is not negative; by monotony none is
        end = np.flatnonzero(later & self._last)
        number = rows + np.arange(len(end))
        entries.append((number, inner + end - 1, np.ones(len(end))))
        entries.append((number, inner + end, -np.ones(len(end))))
        bounds.append(np.zeros(len(end)))
        row, place, value = (np.concatenate([entry[k] for entry in entries]) for k in range(3))
        shape = (rows + len(end), len(node))
        return sparse.csr_array((value, (row, place - 1)), shape=shape), np.concatenate(bounds)

    def budgets(self, values: Array) -> Array:
        """float array (n,): the budgets of all nodes from the values of the variables.

        Of a last family only the sum counts: it is shared out as in statement 8.2, min(p(y|z) D(z), level q(zy)).
        The solver's own differences are not monotone where draft probabilities are smaller than its tolerance.
        """
        out = np.concatenate(([1.0], np.maximum(values[: self.inner - 1], 0.0), np.empty(len(self.order))))
        ceiling = self._target[self.order] * out[self.tree.parent[self.order]]
        family = np.cumsum(self._first) - 1
        total = np.maximum(values[self.inner - 1 :][self._last], 0.0)
        # the sum of min(c, level q) is the least, over j, of level Q_j and all c after j: solved for the level
        after = self._cumulate_backwards(ceiling) - ceiling
        levels = (total[family] - after) / self.mass[self.inner :]
        level = np.maximum.reduceat(levels, np.flatnonzero(self._first)) if len(levels) else levels
        out[self.order] = np.minimum(ceiling, np.maximum(level, 0.0)[family] * self._joint_draft[self.order])
        return out

    def places(self, nodes: Array) -> Array:
        """The antichain's nodes above the last level, then one place per family: its least top set that covers
        the family's nodes."""
        leaves = nodes[nodes >= self.inner]
        place = np.sort(self._place[leaves])  # families are contiguous
        parent = self.tree.parent[place]  # a place lies in the range of its own family
        last = np.append(parent[1:] != parent[:-1], True)[: len(place)]
        return np.concatenate((nodes[nodes < self.inner], place[last]))

    def weights(self, multipliers: Array) -> Array:
        """float array (n,): the sum of the multipliers of all rows D(A) <= .. that contain a node.

        Args:
            multipliers: float array (n,), the sums of the multipliers of the rows with an entry at each place.
        """
        out = multipliers.copy()
        # a leaf is in every top set that reaches its place
        out[self.order] = self._cumulate_backwards(multipliers[self.inner :])
        return out

    def ratio_multipliers(self, multipliers: Array) -> Array:
        """float array (n,): for each leaf, the multiplier of D/q <= D/q of the sibling before it, else 0.

        Args:
            multipliers: float array, the multipliers of the `monotone` rows.
        """
        out = np.zeros(len(self.tree))
        j = np.flatnonzero(~self._first)
        before, own = self._draft[self.order[j - 1]], self._draft[self.order[j]]
        out[self.order[j]] = multipliers * before * own / (before + own)
        return out


def _sums_within(values: Array, first: Array) -> Array:
    """Cumulated sums that start anew wherever `first` holds (differences of long sums would cancel)."""
    out = np.array(values, dtype=np.float64)
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(out)))
    for step in range(1, int(sizes.max(initial=0))):
        there = starts[sizes > step] + step
        out[there] += out[there - 1]
    return out
