"""Random families of instances, each reproducible from its seed; `FAMILIES` says what they are."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from importlib import import_module

import numpy as np

from ..numbers.rationals import shortened
from .arguments import check_integer
from .family import Context, Family
from .instance import Instance
from .laws import Law
from .tables import Catalogue
from .trees import check_shape, full_size

CANDIDATES = 256
"""Tokens per context that can be among the top k."""

FILES = (
    "exact_families",
    "logit_families",
)
"""The files of this folder with families, each by name in its `FAMILIES`: a new file is one line here."""

FAMILIES: Catalogue[Family] = Catalogue(
    {
        name: family
        for file in FILES
        for name, family in import_module(f"{__package__}.{file}").FAMILIES.items()
    }
)
"""The families by name."""


def families_with(option: str) -> list[str]:
    """The families that use a parameter of `random_instance`."""
    return [name for name, family in FAMILIES.items() if option in family.options]


def random_instance(
    family: str,
    vocab: int,
    depth: int,
    seed: int,
    *,
    zeros: float | None = None,
    similarity: float | None = None,
    concentration: float | None = None,
) -> Instance:
    """Draw one instance of a family.

    Args:
        family: one of `FAMILIES`.
        vocab: vocabulary size V.
        depth: draft length L.
        seed: any non-negative integer; the same seed gives the same instance.
        zeros: for the exact families, the probability that a token's weight is zero (at least one stays); 0 when
            None.
        similarity: for `logits`, the correlation of the draft's logits with the target's, 0 (independent)
            to 1 (equal); 0.9 when None.
        concentration: for `logits`, the scale of the logits; 1 is mild, 15 is nearly one-hot; 1 when None.

    Raises ValueError for an unknown family, a parameter out of range, and one that the family does not use.

    >>> random_instance("iid", 3, 2, seed=0)
    Instance(vocab=3, depth=2, nodes=13, exact)
    """
    check_shape(vocab, depth)
    if not isinstance(family, str) or family not in FAMILIES:
        raise ValueError(f"family: got {shortened(family)}; expected one of {', '.join(FAMILIES)}")
    options = {"zeros": zeros, "similarity": similarity, "concentration": concentration}
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if name not in FAMILIES[family].options:
            raise ValueError(
                f"{name}: the family {family!r} does not use it; expected one of {', '.join(families_with(name))}, "
                f"or no {name}"
            )
        _check_number(name, value)
    check_integer("seed", seed, 0)
    full_size(vocab, depth)
    laws = FAMILIES[family].laws(np.random.default_rng(seed), vocab, **given)
    drawn: dict[Context, tuple[Law, Law]] = {}
    target: dict[Context, Law] = {}
    draft: dict[Context, Law] = {}
    for context in itertools.chain.from_iterable(
        itertools.product(range(vocab), repeat=length) for length in range(depth + 1)
    ):
        kind = FAMILIES[family].depends_on(context)
        if kind not in drawn:
            drawn[kind] = laws()
        target[context] = drawn[kind][0]
        if len(context) < depth:
            draft[context] = drawn[kind][1]
    return Instance.from_laws(vocab, depth, target, draft)


def random_top_k_instance(
    vocab: int,
    depth: int,
    seed: int,
    *,
    top_k: int,
    similarity: float = 0.9,
    concentration: float = 3.0,
) -> Instance:
    """Draw a sparse float instance as top-k sampling makes them: few tokens of a large vocabulary have mass.

    In every context some candidates out of the vocabulary get Gaussian logits, the draft's correlated with the
    target's; both models keep their own top k. Only tokens that both keep have a node.

    Args:
        vocab, depth, seed, similarity, concentration: as in `random_instance`.
        top_k: tokens with mass in each law.

    Raises ValueError for a parameter out of range.
    """
    check_shape(vocab, depth)
    if isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= vocab:
        raise ValueError(f"top_k: got {top_k!r}; expected an integer from 1 to the vocabulary size, {vocab}")
    check_integer("seed", seed, 0)
    _check_number("similarity", similarity)
    _check_number("concentration", concentration)
    rng = np.random.default_rng(seed)
    candidates = min(vocab, max(CANDIDATES, top_k))
    target: dict[Context, Law] = {}
    draft: dict[Context, Law] = {}
    level: list[Context] = [()]
    for _ in range(depth):
        below: list[Context] = []
        for context in level:
            tokens = rng.choice(vocab, candidates, replace=False)
            own, other = rng.standard_normal((2, candidates))
            near = similarity * own + math.sqrt(1 - similarity**2) * other
            for laws, logits in ((target, own), (draft, near)):
                kept = np.argsort(-logits)[:top_k]
                weights = np.exp(concentration * (logits[kept] - logits[kept[0]]))
                laws[context] = dict(
                    zip(tokens[kept].tolist(), (weights / weights.sum()).tolist(), strict=True)
                )
            below += [(*context, y) for y in sorted(set(target[context]) & set(draft[context]))]
        level = below
    return Instance.from_laws(vocab, depth, target, draft, sparse=True)


def _check_number(name: str, value: object) -> None:
    """ValueError for a parameter of a family that is no number, or out of its range."""
    number = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    if name == "concentration":
        right, expected = number and 0 < value < math.inf, "a positive number"  # type: ignore[operator]
    else:
        right, expected = number and 0 <= value <= 1, "a number from 0 to 1"  # type: ignore[operator]
    if not right:
        raise ValueError(f"{name}: got {shortened(value)}; expected {expected}")
