"""Families of float instances: softmax of random logits, the draft's correlated with the target's."""

from __future__ import annotations

import math

import numpy as np

from .family import Family, Pair, whole
from .laws import Law


def logit_laws(
    rng: np.random.Generator, vocab: int, similarity: float = 0.9, concentration: float = 1.0
) -> Pair:
    """Softmax of heavy-tailed logits.

    Args:
        rng: all randomness.
        vocab: vocabulary size V.
        similarity: the correlation of the draft's logits with the target's.
        concentration: the scale of the logits.
    """

    def softmax(logits: np.ndarray) -> list[float]:
        weights = np.exp(logits - logits.max())
        return list((weights / weights.sum()).tolist())

    def pair() -> tuple[Law, Law]:
        # Student's t with 4 degrees of freedom, scaled to variance 1: a few tokens dominate, as in real models.
        own, other = rng.standard_t(4, size=(2, vocab)) / math.sqrt(2)
        near = similarity * own + math.sqrt(1 - similarity**2) * other
        return softmax(concentration * own), softmax(concentration * near)

    return pair


FAMILIES = {
    "logits": Family(
        "float; softmax of heavy-tailed logits, the draft's correlated with the target's",
        whole,
        logit_laws,
        ("similarity", "concentration"),
    ),
}
