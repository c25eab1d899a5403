"""Next-token laws as callers give them: what is a law, and its rational reading."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..numbers.rationals import Array, shortened, shown, to_fraction
from .arguments import check_kind
from .trees import format_context

SUM_TOLERANCE = 1e-9
"""How far a law given in floats may be from summing to one."""

Law = Sequence[Any] | Mapping[int, Any]
"""A next-token law: all V probabilities in order, or a mapping from token to probability (others zero)."""


def law_of(name: str, context: Sequence[int]) -> str:
    """How a message names the law of the target or the draft at a context."""
    return f"{name} law at context {shortened(format_context(context))}"


def check_tables(tables: Mapping[str, Any]) -> None:
    """Raise ValueError unless each table is a mapping from contexts to laws."""
    for name, table in tables.items():
        check_kind(name, table, Mapping, "a mapping from contexts, tuples of tokens, to laws")
        for ctx, law in table.items():
            check_kind(f"{name}: a context", ctx, tuple, "a tuple of tokens, () for the root")
            check_kind(
                f"{name} law at context {ctx!r}",
                law,
                Collection,
                "a list of V numbers or {token: number}",
            )


def check_law(law: Law, vocab: int, exact: bool, where: str) -> dict[int, Any]:
    """A law as {token: probability} without its zeros, checked; ValueError names `where` and the entry."""
    if isinstance(law, Mapping):
        items = list(law.items())
    else:
        if len(law) != vocab:
            raise ValueError(f"{where}: got {len(law)} entries; expected {vocab}, one per token")
        items = list(enumerate(law))
    for y, value in items:
        try:
            inside, right = 0 <= y < vocab, 0 <= value < float("inf")  # not right for NaN as well
        except TypeError:
            raise ValueError(
                f"{where}: got {shortened(value)} for token {shortened(y)}; expected a number for a token id"
            ) from None
        if not inside:
            raise ValueError(f"{where}: token {y} is outside the vocabulary 0..{vocab - 1}")
        if not right:
            raise ValueError(
                f"{where}, token {y}: got {shown(value)}; expected a finite number of at least 0"
            )
    total = sum((value for _, value in items), Fraction(0) if exact else 0.0)
    if total != 1 if exact else abs(total - 1) > SUM_TOLERANCE:
        raise ValueError(f"{where}: the entries sum to {shown(total)}; expected 1")
    number = Fraction if exact else float
    return {int(y): number(value) for y, value in items if value > 0}


def is_exact_law(law: Law) -> bool:
    """True where every entry is an int or a Fraction."""
    values = law.values() if isinstance(law, Mapping) else law
    return all(isinstance(v, int | Fraction) for v in values)


def check_context(context: tuple[int, ...], vocab: int, depth: int, name: str) -> None:
    """Raise ValueError for a context with a token outside the vocabulary, or of more than `depth` tokens."""
    where = law_of(name, context)
    for y in context:
        if not 0 <= y < vocab:
            raise ValueError(f"{where}: token {y} is outside the vocabulary 0..{vocab - 1}")
    if len(context) > depth:
        raise ValueError(
            f"{where}: the context has {len(context)} tokens; expected at most the depth, {depth}"
        )


def dyadic_law(law: Array) -> dict[int, Fraction]:
    """A float law in rationals: every entry the float that it is, but the largest one 1 minus the others.

    Where that would change the order of the entries, above all a tie, every entry is divided by their sum instead:
    which tokens are the likeliest is part of what is drafted.
    """
    tokens = np.flatnonzero(law)
    support = {y: to_fraction(value) for y, value in zip(tokens.tolist(), law[tokens].tolist(), strict=True)}
    largest = int(np.argmax(law))
    # All denominators are powers of two: sums of integers over the largest of them.
    unit = max(value.denominator for value in support.values())
    rest = sum(value.numerator * (unit // value.denominator) for y, value in support.items() if y != largest)
    moved, others = Fraction(unit - rest, unit), [value for y, value in support.items() if y != largest]
    if others and moved != support[largest] and max(others) >= min(moved, support[largest]):
        total = Fraction(rest, unit) + support[largest]
        return {y: value / total for y, value in support.items()}
    support[largest] = moved
    return support
