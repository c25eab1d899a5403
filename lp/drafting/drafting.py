"""What a drafting is: what can be drafted on an instance, and with what law (statement 13.1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, TypedDict, Unpack

import numpy as np

from ..instances.instance import Instance
from ..numbers.rationals import Array, fill, is_exact
from .antichains import Antichain

TREES_LIMIT = 250_000
"""Most drafted trees that are listed."""

Nodes = tuple[int, ...]
"""Nodes of an instance's tree, by number, rising."""


class Limits(TypedDict, total=False):
    """What a separation oracle takes for violated, and how much of it is wanted; as in `violated_antichains`.

    Attributes:
        tolerance: how far above F(A) a float budget may be.
        relative: the same, relatively.
        limit: at most so many antichains are given.
    """

    tolerance: float
    relative: float
    limit: int | None


class Drafting(ABC):
    """A law of drafted trees: random prefix-closed sets of nodes that do not depend on what the target would say.

    The linear program needs `hit_probability`; the other methods say what is drafted. A drafting of one's own is a
    class with these methods; docs/how-to/bound-an-instance.md has an example.

    Attributes:
        from_draft: whether tokens are drawn from the draft's law, so that none without mass is ever drafted.
    """

    from_draft = True

    @abstractmethod
    def __str__(self) -> str:
        """The text form, as `parse_drafting` reads it; of a fixed tree, its nodes."""

    @abstractmethod
    def check(self, instance: Instance) -> None:
        """Raise ValueError where this cannot be drafted on an instance, as for another depth."""

    @abstractmethod
    def hit_probability(self, instance: Instance, nodes: Nodes) -> Any:
        """F(A): the probability that the drafted tree has a node of an antichain; exact for an exact instance."""

    def single_hits(self, instance: Instance) -> Array:
        """array (n,): F({z}), the probability that z is drafted, for every node."""
        hits = [self.hit_probability(instance, (z,)) for z in range(len(instance.tree))]
        return fill(hits) if instance.exact else np.array(hits)

    def drafted(self, instance: Instance) -> Array:
        """bool array (n,): the nodes that can be drafted, F({z}) > 0."""
        return np.asarray(self.single_hits(instance) > 0, dtype=bool)

    @abstractmethod
    def violated(self, instance: Instance, budgets: Array, **limits: Unpack[Limits]) -> list[Antichain]:
        """The separation oracle: antichains with D(A) > F(A), among them the most violated; [] where there is none.

        Args:
            instance: exact or float.
            budgets: array (n,), of the same kind, that meet (2.2).
            limits: `Limits`, by keyword.

        Raises ValueError where there are too many antichains to be sure.
        """

    @abstractmethod
    def trees(self, instance: Instance) -> Iterator[tuple[Nodes, Any]]:
        """Every tree that can be drafted, as its nodes with the root, with its probability.

        Raises ValueError for a sparse instance, and where there are more than `TREES_LIMIT`.
        """

    def outcomes(self, instance: Instance) -> Iterator[tuple[Nodes, Any]]:
        """Every outcome of `draw`, with its probability: nodes but the root in the order of drawing, copies repeated.

        The default is for draftings without copies, of which a verifier sees the tree alone.

        Raises ValueError as `trees` does.
        """
        for nodes, chance in self.trees(instance):
            yield nodes[1:], chance

    def count_outcomes(self, instance: Instance) -> int:
        """How many outcomes there are; ValueError as for `outcomes`."""
        return sum(1 for _ in self.trees(instance))

    def iid_paths(self, depth: int) -> int | None:
        """The number K where this is K i.i.d. paths of this depth under another name, else None."""
        return None

    @abstractmethod
    def draw(self, instance: Instance, rng: np.random.Generator) -> tuple[tuple[int, ...], ...]:
        """One drafted tree: the token string of each node but the root, a parent before its children.

        Copies of a node are listed as often as they were drawn.
        """

    @abstractmethod
    def most_nodes(self, instance: Instance) -> int:
        """The largest number of different nodes that a drafted tree can have, the root not counted."""

    def expected_nodes(self, instance: Instance) -> Any:
        """The expected number of different nodes, the root not counted: what the target's pass has to read.

        Raises ValueError for a sparse instance that does not know what is drafted off its tree.
        """
        if not knows_drafted(instance):
            raise ValueError(
                "the number of drafted nodes needs all nodes with draft mass; this instance is sparse"
            )
        return sum(self.single_hits(instance)[1:], instance.draft[0] * 0)


def never_drafted(
    drafting: Drafting, instance: Instance, budgets: Array, **limits: Unpack[Limits]
) -> list[Antichain]:
    """Single nodes that have a budget although they are never drafted."""
    zero = budgets[0] * 0
    above = np.asarray(budgets > (zero if is_exact(budgets) else limits.get("tolerance", 0.0)), dtype=bool)
    above[0] = False
    broken = np.flatnonzero(above & ~drafting.drafted(instance)).tolist()
    return [Antichain((z,), budgets[z], hit=zero) for z in broken[: limits.get("limit")]]


def knows_drafted(instance: Instance) -> bool:
    """Whether all tokens with draft mass have a node."""
    return not any(q > 0 for rest in instance.off_tree.values() for _, q in rest.values())


def require_full(instance: Instance, what: str) -> None:
    """Raise ValueError for a sparse instance."""
    tree = instance.tree
    if len(tree.leaves) != tree.vocab**tree.depth:
        raise ValueError(f"{what} needs the full tree; this instance is sparse")
