"""Draftings with replacement: every draw is a copy with a subtree of its own; K i.i.d. paths are the first of them."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from ..instances.instance import Instance
from ..numbers.rationals import Array, exact_array, fast
from .antichains import Antichain, violated_antichains
from .drafting import Limits, Nodes, never_drafted
from .grown import Counted, GrownTree, Places, SetLaw, joined
from .hull_oracle import antichains_on_hull
from .iid_paths import PATHS_LIMIT, check_paths, hit_probability
from .supports import Support, support


class DrawnWithReplacement(GrownTree):
    """Every draw is a copy with a subtree of its own; equal copies are merged only for the target's pass."""

    def hit_at(self, below: Support, count: int, hits: Sequence[Any]) -> Any:
        """1 - (1 - sum of q h)^k."""
        return hit_probability(sum(q * h for q, h in zip(below.shares, hits, strict=True)), count)

    def most_drawn(self, below: Support, count: int) -> int:
        """As many as are asked for."""
        return count

    def drawn(self, below: Support, count: int) -> Iterator[tuple[Places, Any]]:
        """Every sequence, with the product of its probabilities."""
        for places in itertools.product(range(len(below.tokens)), repeat=count):
            yield (
                places,
                math.prod((below.shares[place] for place in places[1:]), start=below.shares[places[0]]),
            )

    def grown_sets(self, below: Support, count: int, children: Sequence[SetLaw]) -> SetLaw:
        """That of one draw, joined with itself by doubling."""
        doubled: SetLaw = {}
        for share, law in zip(below.shares, children, strict=True):
            for nodes, mass in law.items():
                doubled[nodes] = doubled.get(nodes, 0) + share * mass
        found: SetLaw | None = None
        while count:
            if count % 2:
                found = doubled if found is None else joined(found, doubled)
            count //= 2
            if count:
                doubled = joined(doubled, doubled)
        assert found is not None
        return found

    def count_drawn(self, below: Support, count: int, ways: Sequence[int]) -> int:
        """Each draw in all ways."""
        return int(sum(ways)) ** count

    def iid_paths(self, depth: int) -> int | None:
        """As many as are drawn at the root, where nothing branches below it."""
        first, *others = self.counts(depth)
        return first if set(others) <= {1} else None

    def draw_children(self, below: Support, count: int, rng: np.random.Generator) -> Places:
        """Independent draws."""
        return tuple(rng.choice(len(below.tokens), size=count, p=below.law()).tolist())

    def violated(self, instance: Instance, budgets: Array, **limits: Unpack[Limits]) -> list[Antichain]:
        """By the hull of what subtrees miss and are worth, exact at any size (statement 13.7)."""
        never = never_drafted(self, instance, budgets, **limits)
        return never or antichains_on_hull(instance, budgets, self.counts(instance.depth), **limits)

    def most_nodes(self, instance: Instance) -> int:
        """By the most nodes below c copies of each node, c = 0, 1, ..: draws go to children as is best."""
        tree, counts = instance.tree, self.counts(instance.depth)
        copies = [1, *itertools.accumulate(counts, operator.mul)]
        most: dict[int | None, Array] = {None: np.zeros(2, dtype=np.int64)}
        for node in range(len(tree) - 1, -1, -1):
            length = int(tree.lengths[node])
            if length == tree.depth:
                most[node] = most[None]
                continue
            best = np.zeros(1, dtype=np.int64)
            for child in support(instance, node).children:
                worth = most[child] + 1
                worth[0] = 0
                wider = np.zeros(len(best) + len(worth) - 1, dtype=np.int64)
                for spent, nodes in enumerate(worth):
                    here = wider[spent : spent + len(best)]
                    np.maximum(here, best + nodes, out=here)
                best = wider[: copies[length + 1] + 1]
            # As many copies as there are strings below reach all of them; more add nothing.
            draws = np.arange(min(copies[length], len(best) - 1) + 1) * counts[length]
            most[node] = best[np.minimum(draws, len(best) - 1)]
        return int(most[0][-1])


class WithReplacement(DrawnWithReplacement, Counted):
    """k_1, .., k_L draws from the draft at each node, with replacement.

    Raises ValueError for more than `PATHS_LIMIT` copies at the last length.

    >>> str(WithReplacement(2, 1))
    'with:2,1'
    """

    name = "with"

    def __init__(self, *children: int) -> None:
        super().__init__(*children)
        if (copies := math.prod(self.children)) > PATHS_LIMIT:
            raise ValueError(
                f"{self}: got {copies} copies at the last length; expected at most {PATHS_LIMIT}"
            )


@dataclass(frozen=True)
class Delayed(DrawnWithReplacement):
    """A trunk of single draws, then several continuations that are drawn independently and do not branch again.

    Attributes:
        trunk: tokens before the tree branches.
        paths: the number K of continuations.

    >>> str(Delayed(1, 4)), Delayed(1, 4).counts(3)
    ('delayed:1,4', (1, 4, 1))
    """

    trunk: int
    paths: int

    def __post_init__(self) -> None:
        if isinstance(self.trunk, bool) or not isinstance(self.trunk, int) or self.trunk < 0:
            raise ValueError(f"trunk: got {self.trunk!r}; expected an integer of at least 0")
        check_paths(self.paths)

    def __str__(self) -> str:
        return f"delayed:{self.trunk},{self.paths}"

    def counts(self, depth: int) -> tuple[int, ...]:
        """One draw along the trunk, K at its end, one below; ValueError where the trunk is as long as the depth."""
        if self.trunk >= depth:
            raise ValueError(
                f"drafting {self}: the trunk is as long as the depth, {depth}; expected a shorter one"
            )
        return (1,) * self.trunk + (self.paths,) + (1,) * (depth - self.trunk - 1)


@dataclass(frozen=True)
class IidPaths(DrawnWithReplacement):
    """K paths of the instance's depth, drawn independently from the draft.

    Attributes:
        paths: their number K.

    Raises ValueError as `check_paths` does.
    """

    paths: int

    def __post_init__(self) -> None:
        check_paths(self.paths)

    def __str__(self) -> str:
        return f"iid:{self.paths}"

    def counts(self, depth: int) -> tuple[int, ...]:
        """K draws at the root, one below."""
        return (self.paths,) + (1,) * (depth - 1)

    def hit_probability(self, instance: Instance, nodes: Nodes) -> Any:
        """f(q(A)), f(t) = 1 - (1 - t)^K."""
        joint = instance.joint_draft
        return hit_probability(sum((joint[node] for node in nodes), joint[0] * 0), self.paths)

    def single_hits(self, instance: Instance) -> Array:
        """array (n,): f(q(z))."""
        hits = [hit_probability(mass, self.paths) for mass in fast(instance.joint_draft)]
        return exact_array(hits) if instance.exact else np.array(hits)

    def violated(self, instance: Instance, budgets: Array, **limits: Unpack[Limits]) -> list[Antichain]:
        """By slopes, which f being a function of q(A) alone makes quicker than hulls (statement 8.1)."""
        return violated_antichains(instance.tree, budgets, instance.joint_draft, self.paths, **limits)
