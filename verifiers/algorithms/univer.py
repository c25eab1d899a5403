"""UniVer: the lift of greedy tree sampling."""

from __future__ import annotations

from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from ..verifier import Verifier
from .greedy_tree import LIKELIEST_AND_SAMPLE, one_step
from .lift import lifted


def law(tree: DraftTree) -> AcceptanceLaw:
    """Decide from the leaves up with the answers of greedy tree sampling (`lift.lifted`), the drawn child tried last.

    Lossless.

    Reference: arXiv:2605.04543; statements 14.2 and 15.3.
    """
    return lifted(tree, one_step(tree))


VERIFIER = Verifier(
    "univer",
    law,
    multipath=True,
    reference="arXiv:2605.04543; statements 14.2 and 15.3",
    needs=LIKELIEST_AND_SAMPLE,
)
