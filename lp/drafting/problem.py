"""What the linear programs are about: an instance, and what is drafted on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..instances.instance import Instance, check_instance
from ..numbers.rationals import Array, float_array
from .antichains import Antichain, violated_antichains
from .iid_paths import IidPaths, hit_probability


@dataclass(frozen=True, eq=False)
class Problem:
    """An instance with a drafting: how many tokens may a lossless verifier accept?

    Attributes:
        instance: the target and the draft, exact or float.
        drafting: what is drafted, `IidPaths(K)`.
    """

    instance: Instance
    drafting: IidPaths

    def __post_init__(self) -> None:
        check_instance(self.instance)

    @property
    def paths(self) -> int:
        """The number K of drafted paths."""
        return self.drafting.paths

    @cached_property
    def reading(self) -> Problem:
        """The same in rationals: of a float instance the rational reading, without the laws at the leaves.

        These are most of its numbers, and no program depends on them.
        """
        if self.instance.exact:
            return self
        return Problem(self.instance.without_leaf_laws().to_exact(), self.drafting)

    @cached_property
    def nodes(self) -> int:
        """How many nodes can have a budget: those with both target and draft mass, the root included."""
        return int(self.instance.live.sum())

    @cached_property
    def _joint_draft_in_floats(self) -> Array:
        return float_array(self.instance.joint_draft)

    def hit_probability(self, nodes: tuple[int, ...]) -> Any:
        """f(q(A)): the probability that the draft passes one of the nodes of an antichain, exact or float."""
        joint = self.instance.joint_draft
        return hit_probability(sum((joint[node] for node in nodes), joint[0] * 0), self.paths)

    def violated(self, budgets: Array, **options: Any) -> list[Antichain]:
        """Antichains with D(A) > f(q(A)): exactly for exact budgets of an exact instance, else in floats.

        Args:
            budgets: array (n,).
            options: as in `violated_antichains`.
        """
        exact = self.instance.exact and budgets.dtype == object
        joint = self.instance.joint_draft if exact else self._joint_draft_in_floats
        return violated_antichains(self.instance.tree, budgets, joint, self.paths, **options)
