"""Naive speculative sampling: emit the target's token, keep the draft while it agrees."""

from __future__ import annotations

from ..arithmetic.arrays import Arrays
from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from .topdown import Continuations, Emission, top_down


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node emit a token drawn from the target.

    The walk goes on while some path continues with the emitted token, and stops with it otherwise (see
    `top_down`). Lossless, for drafted paths of any law.

    To be read: `nodebudget.verifiers.plain.nss`, the same in Fractions.
    Reference: the naive sampling of arXiv:2305.09781; statement 10.1.
    """
    return top_down(tree, rule)


def rule(arrays: Arrays, here: Continuations) -> Emission:
    """Emit a token drawn from the target, whatever the continuations are (`topdown.Rule`)."""
    nodes = len(here.wanted)
    return Emission([], arrays.ones(nodes), arrays.zeros(nodes))
