"""Instances that bring faults to light: small enough to enumerate, with V >= 3, ties, zeros and unlike contexts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from nodebudget.lp import Instance, random_instance


@dataclass(frozen=True, eq=False)
class TrialInstance:
    """An exact instance to audit a verifier on, with a number of drafted paths."""

    name: str
    instance: Instance
    paths: int


@cache
def default_instances() -> tuple[TrialInstance, ...]:
    """The instances on which a verifier should be audited at least.

    With two tokens the residual has one token left after a rejection, and faults of its normalisation do not
    show; so every instance has three or more. Laws differ from context to context, the bonus token's law
    included, so that a row taken from the wrong node shows. Small weights give ties of p/q.
    """
    half, fifth = Fraction(1, 2), Fraction(1, 5)
    return (
        TrialInstance(
            "three paths, one token",
            _depth_one([half, 3 * fifth / 2, fifth], [fifth, 3 * fifth / 2, half]),
            3,
        ),
        TrialInstance(
            "ties of p/q",
            _depth_one([fifth, fifth, fifth, fifth, fifth], [fifth / 2, fifth / 2, 2 * fifth, fifth, fifth]),
            3,
        ),
        TrialInstance("unlike contexts", random_instance("flat", 3, 2, seed=4), 2),
        TrialInstance("zero probabilities", random_instance("flat", 3, 2, seed=8, zeros=0.3), 2),
        TrialInstance("the same law everywhere", random_instance("iid", 3, 2, seed=4, zeros=0.3), 3),
        TrialInstance("one path, three tokens", random_instance("flat", 3, 3, seed=5), 1),
        TrialInstance(
            "zeros at the root",
            _depth_one([0 * half, 3 * fifth, 2 * fifth, 0 * half], [fifth, 2 * fifth, fifth, fifth]),
            1,
        ),
        TrialInstance("equal models", random_instance("identical", 3, 2, seed=3), 2),
    )


def _depth_one(target: list[Fraction], draft: list[Fraction]) -> Instance:
    """One drafted token; the bonus token's law is the target's, turned by one token more in each context."""
    vocab = len(target)
    laws: dict[tuple[int, ...], list[Fraction]] = {(y,): target[y:] + target[:y] for y in range(vocab)}
    laws[()] = target
    return Instance.from_laws(vocab, 1, laws, {(): draft})
