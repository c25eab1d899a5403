"""All antichains of a small tree with their hit probabilities: the separation oracle where there is no better one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..instances.instance import Instance
from ..instances.trees import approximately
from ..numbers.rationals import Array, fast, is_exact, to_fraction
from .antichains import Antichain, count_antichains
from .supports import support

if TYPE_CHECKING:
    from .grown import GrownTree

TABLE_LIMIT = {True: 100_000, False: 600_000}
"""Most antichains of a table, of an exact instance and of a float one."""

AT_ONCE = 50
"""Violated antichains that are handed out together."""


def antichains_listed(instance: Instance) -> int:
    """How many antichains the table of an instance has: those of its live nodes, without the root's own."""
    return count_antichains(instance.tree.restrict(instance.live)[0]) - 1


class AntichainTable:
    """The antichains of the live nodes of a tree, below each node in a fixed order: all choices of one antichain for
    each child, the last child's first, and then the node itself.

    Attributes:
        hit: (number of antichains of the whole tree, without the root's own), F(A) of each.
    """

    def __init__(self, instance: Instance, drafting: GrownTree) -> None:
        """Raises ValueError where there are more than `TABLE_LIMIT`."""
        tree, live = instance.tree, instance.live
        self._tree = tree
        self._below = [[c for c in tree.children(z) if live[c]] for z in range(tree.leaves.start)]
        limit, count = TABLE_LIMIT[instance.exact], antichains_listed(instance)
        if count > limit:
            raise ValueError(
                f"drafting {drafting}: the tree has {approximately(count)} antichains; at most {limit} are listed"
            )
        sizes = [2] * len(tree)
        for z in range(tree.leaves.start - 1, -1, -1):
            sizes[z] = 1
            for child in self._below[z]:
                sizes[z] *= sizes[child]
            sizes[z] += z > 0
        self._sizes = sizes
        counts = drafting.counts(instance.depth)
        zero = fast(instance.draft[:1])[0] * 0
        hits: dict[int, Array] = {}
        lengths = tree.lengths
        for z in range(len(tree) - 1, -1, -1):
            if z and not live[z]:
                continue
            if z in tree.leaves:
                hits[z] = _array([zero, zero + 1])
                continue
            below, shape = support(instance, z), [self._sizes[c] for c in self._below[z]]
            spread = {
                child: hits.pop(child).reshape([-1 if i == axis else 1 for i in range(len(shape))])
                for axis, child in enumerate(self._below[z])
            }
            known = [zero if child is None else spread.get(child, zero) for child in below.children]
            found = np.broadcast_to(_as_array(drafting.hit_at(below, counts[lengths[z]], known)), shape)
            hits[z] = np.concatenate((found.ravel(), _array([zero + 1][: z > 0])))
        self.hit = hits[0]

    @classmethod
    def of(cls, instance: Instance, drafting: GrownTree) -> AntichainTable:
        """The table, remembered as long as the instance is."""
        known = _KNOWN.setdefault(instance, {})
        if drafting not in known:
            known[drafting] = cls(instance, drafting)
        return known[drafting]

    def violated(
        self, budgets: Array, *, tolerance: float = 0.0, relative: float = 0.0, limit: int | None = None
    ) -> list[Antichain]:
        """The most violated antichains, the worst first; the arguments are those of `Drafting.violated`.

        Nodes that are never drafted must have no budget.
        """
        totals = self._totals(fast(budgets))
        exact = is_exact(totals)
        ceiling = self.hit if exact else self.hit * (1 + relative) + tolerance
        broken = np.flatnonzero(np.asarray(totals > ceiling, dtype=bool))
        excess = (totals - ceiling)[broken]
        worst = np.argsort(excess.astype(np.float64) if not exact else _floats(excess), kind="stable")[::-1]
        number = to_fraction if exact else float
        return [
            Antichain(self._nodes(int(i)), number(totals[i]), hit=number(self.hit[i]))
            for i in broken[worst[: AT_ONCE if limit is None else limit]]
        ]

    def _totals(self, budgets: Array) -> Array:
        """D(A) of every antichain."""
        zero = budgets[0] * 0
        sums: dict[int, Array] = {}
        for z in range(len(self._tree) - 1, -1, -1):
            if z in self._tree.leaves:
                sums[z] = _array([zero, budgets[z]])
                continue
            total = _array([zero])
            for child in self._below[z]:
                total = (total[:, None] + sums.pop(child)[None, :]).ravel()
            sums[z] = np.concatenate((total, budgets[z : z + 1])) if z else total
        return sums[0]

    def _nodes(self, place: int, z: int = 0) -> tuple[int, ...]:
        """The antichain at a place of the table of a node."""
        if z in self._tree.leaves:
            return (z,) if place else ()
        if z and place == self._sizes[z] - 1:
            return (z,)
        found: tuple[int, ...] = ()
        for child in reversed(self._below[z]):
            place, own = divmod(place, self._sizes[child])
            found += self._nodes(own, child)
        return tuple(sorted(found))


_KNOWN: WeakKeyDictionary[Instance, dict[Any, AntichainTable]] = WeakKeyDictionary()


def _array(values: list[Any]) -> Array:
    exact = bool(values) and not isinstance(values[0], float | np.floating)
    out = np.empty(len(values), dtype=object if exact else np.float64)
    out[:] = values
    return out


def _as_array(value: Any) -> Array:
    return value if isinstance(value, np.ndarray) else _array([value]).reshape(())


def _floats(values: Array) -> Array:
    return np.array([float(to_fraction(value)) for value in values])
