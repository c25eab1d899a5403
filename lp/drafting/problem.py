"""What the linear programs are about: an instance, and what is drafted on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..instances.instance import Instance, check_instance
from ..numbers.rationals import Array, is_exact
from .antichains import Antichain
from .drafting import Drafting, Nodes
from .replacement import IidPaths
from .specs import as_drafting


@dataclass(frozen=True, eq=False)
class Problem:
    """An instance with a drafting: how many tokens may a lossless verifier accept?

    Attributes:
        instance: the target and the draft, exact or float.
        drafting: what is drafted; a number of i.i.d. paths is taken as `IidPaths`.

    Raises ValueError where that cannot be drafted on the instance.
    """

    instance: Instance
    drafting: Drafting

    def __post_init__(self) -> None:
        check_instance(self.instance)
        object.__setattr__(self, "drafting", as_drafting(self.drafting))
        self.drafting.check(self.instance)

    @property
    def paths(self) -> int | None:
        """The number K of drafted paths where they are i.i.d., else None."""
        return self.drafting.paths if isinstance(self.drafting, IidPaths) else None

    def iid_paths(self) -> int:
        """The number K of drafted paths, for what is known of i.i.d. paths only; ValueError for another drafting."""
        if not isinstance(self.drafting, IidPaths):
            raise ValueError(f"drafting: got {self.drafting}; expected i.i.d. paths, iid:K")
        return self.drafting.paths

    @property
    def program(self) -> str:
        """The name of its linear program."""
        return f"LP_{self.paths}" if self.paths else f"LP of {self.drafting}"

    @cached_property
    def reading(self) -> Problem:
        """The same in rationals: of a float instance the rational reading, without the laws at the leaves.

        These are most of its numbers, and no program depends on them.
        """
        if self.instance.exact:
            return self
        return Problem(self.instance.without_leaf_laws().to_exact(), self.drafting)

    @cached_property
    def floats(self) -> Problem:
        """The same in floats, without the laws at the leaves."""
        if not self.instance.exact:
            return self
        return Problem(self.instance.without_leaf_laws().to_float(), self.drafting)

    @cached_property
    def live(self) -> Array:
        """bool array (n,): the nodes that can have a budget: those with target mass that can be drafted."""
        return np.asarray(self.instance.joint_target > 0, dtype=bool) & self.drafting.drafted(self.instance)

    @cached_property
    def nodes(self) -> int:
        """How many nodes can have a budget, the root included."""
        return int(self.live.sum())

    @cached_property
    def single_hits(self) -> Array:
        """array (n,): F({z}) of every node; the ceilings of budgets."""
        return self.drafting.single_hits(self.instance)

    def hit_probability(self, nodes: Nodes) -> Any:
        """F(A): the probability that what is drafted meets an antichain, exact or float."""
        return self.drafting.hit_probability(self.instance, nodes)

    def violated(self, budgets: Array, **limits: Any) -> list[Antichain]:
        """Antichains with D(A) > F(A): exactly for exact budgets of an exact instance, else in floats.

        Args:
            budgets: array (n,).
            limits: as in `Drafting.violated`.
        """
        problem = self if is_exact(budgets) == self.instance.exact else self.floats
        return self.drafting.violated(problem.instance, budgets, **limits)
