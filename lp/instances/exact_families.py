"""Families of exact instances: laws from integer weights, with and without zeros."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from .family import Family, Pair, whole
from .laws import Law

LARGEST_WEIGHT = 9


def flat_laws(rng: np.random.Generator, vocab: int, zeros: float = 0.0, *, identical: bool = False) -> Pair:
    """Laws from weights 1 to 9; each is 0 with probability `zeros`, but one token always keeps its weight.

    Args:
        rng: all randomness.
        vocab: vocabulary size V.
        zeros: from 0 to 1.
        identical: whether the draft is the target.
    """

    def law() -> list[Fraction]:
        weights = rng.integers(1, LARGEST_WEIGHT + 1, size=vocab)
        kept = rng.random(vocab) >= zeros
        kept[rng.integers(vocab)] = True
        weights = np.where(kept, weights, 0)
        total = int(weights.sum())
        return [Fraction(int(w), total) for w in weights]

    def pair() -> tuple[Law, Law]:
        target = law()
        return target, target if identical else law()

    return pair


FAMILIES = {
    "flat": Family(
        "exact; every law from integer weights 0..9 or 1..9, independent in every context",
        whole,
        flat_laws,
        ("zeros",),
    ),
    "identical": Family(
        "exact; flat laws, the draft equal to the target",
        whole,
        partial(flat_laws, identical=True),
        ("zeros",),
    ),
    "iid": Family(
        "exact; one flat law for the target and one for the draft, the same in every context",
        lambda context: (),
        flat_laws,
        ("zeros",),
    ),
    "markov": Family(
        "exact; flat laws that depend on the last token only",
        lambda context: context[-1:],
        flat_laws,
        ("zeros",),
    ),
}
