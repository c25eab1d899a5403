"""What a selection by scores is: a node rule, and families of orderings (section 12)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import array_api_compat

from ..numbers.rationals import shortened, to_fmpq
from .cells import CELLS
from .depth_one_mixture import depth_one_mixture
from .mixed_rule import MixedRule
from .node_rules import NodeRule
from .rule_answers import ask, ask_twice
from .scores import OnPath

GRADED = (1 / 16,) * 8 + (1 / 32,) * 8 + (1 / 64,) * 16
"""Probabilities of 32 families: a few large ones that do most of the work, small ones that even it out."""

DEPTH_ONE_STEPS = 64
"""Frank-Wolfe steps for a node whose children are leaves, at the root."""


@dataclass(frozen=True)
class Selection:
    """A selection by scores.

    Attributes:
        rule: the node rule.
        families: the probabilities of the R families of orderings, one of which is drawn beforehand; Fractions, or
            floats as the binary fractions that they are.
        depth_one_steps: at depth one the probabilities of the orderings are found by as many Frank-Wolfe
            steps instead (`depth_one_mixture`); 0 leaves it to the rule.
        least_stake: below the root the rule is used where w times the chance that several paths are in play is at
            least so much; elsewhere all cells are in one class, which costs nothing. What is accepted below z is at
            most w nu(z) for each level, and orderings matter only where there are several paths to choose from.
    """

    rule: NodeRule
    families: tuple[float, ...] = (1.0,)
    depth_one_steps: int = 0
    least_stake: float = 0.0

    def __repr__(self) -> str:
        rule = getattr(self.rule, "__name__", None) or shortened(self.rule)
        return (
            f"Selection({rule}, families={len(self.families)}, depth_one_steps={self.depth_one_steps}, "
            f"least_stake={self.least_stake:g})"
        )

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "families", tuple(self.families))
            even = all(share > 0 for share in self.families) and sum(map(Fraction, self.families)) == 1
        except (TypeError, ValueError):
            even = False
        if not even:
            raise ValueError(
                f"families: got {self.families}; expected positive probabilities that sum to one exactly, such as "
                "(0.5, 0.25, 0.25) or Fractions"
            )
        if not callable(self.rule) or getattr(self.rule, "__hash__", None) is None:
            raise ValueError(
                f"rule: got {self.rule!r}; expected a function from OnPath to the classes of the cells, hashable, "
                "since exact audits remember its answers"
            )
        if not isinstance(self.depth_one_steps, int) or self.depth_one_steps < 0:
            raise ValueError(
                f"depth_one_steps: got {self.depth_one_steps}; expected a whole number, at least 0"
            )

    def weights(self, data: OnPath) -> tuple[Any, Any]:
        """(R,) probabilities of the families and (1, R, C) their orderings, at the root with its one state."""
        xp = array_api_compat.array_namespace(data.draft)
        if data.remaining == 1 and self.depth_one_steps:
            return depth_one_mixture(data, self.depth_one_steps)
        one = data.state[0, :1, -1]
        exact = data.draft.dtype == object
        shares = xp.concat(
            [one * (to_fmpq(Fraction(share)) if exact else float(share)) for share in self.families]
        )
        # Exact audits remember answers, so that one that is drawn anew each time would not be seen there.
        asked = ask_twice if exact else ask
        return shares, asked(self.rule, replace(data, state=by_family(data.state, shares)))


MIXED = Selection(MixedRule(), GRADED, DEPTH_ONE_STEPS)
"""The selection of mixed multi-path block verification."""

QUICK = Selection(
    MixedRule(caps=(float("inf"), 1.0)),
    families=(1 / 4,) * 2 + (1 / 8,) * 2 + (1 / 16,) * 4,
    depth_one_steps=16,
    least_stake=0.02,
)
"""The same for large vocabularies, where a block is short of time: a quarter of the families, two supplies looked for,
and only where there is something to gain."""


def mixed_selection(vocab: int) -> Selection:
    """The selection of mixed multi-path block verification for a vocabulary."""
    return MIXED if vocab <= CELLS else QUICK


def by_family(state: Any, weights: Any) -> Any:
    """(1, R, K): a state of one family, split by the families' probabilities."""
    return state * weights[None, :, None]
