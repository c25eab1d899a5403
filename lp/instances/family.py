"""What a family of random instances is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .laws import Law

Context = tuple[int, ...]

Pair = Callable[[], tuple[Law, Law]]
"""Draws a law of the target and one of the draft, another pair at every call."""


@dataclass(frozen=True)
class Family:
    """A family of random instances.

    Attributes:
        about: what its laws are.
        depends_on: from a context to the part of it on which its laws depend; one pair of laws is drawn for each part.
        laws: from a numpy `Generator`, V and the options by name (those that were given) to a `Pair`.
        options: the parameters of `random_instance` that it uses.
    """

    about: str
    depends_on: Callable[[Context], Context]
    laws: Callable[..., Pair]
    options: tuple[str, ...] = ()


def whole(context: Context) -> Context:
    """For `depends_on`: laws of their own in every context."""
    return context
