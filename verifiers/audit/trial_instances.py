"""Instances that bring faults to light: small enough to enumerate, with V >= 3, ties, zeros and unlike contexts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from nodebudget.lp import Instance, Problem, random_instance
from nodebudget.lp.drafting import Drafting, IidPaths
from nodebudget.lp.drafting.specs import Drafted, as_drafting, which_drafting

SIZES = (
    (3, 1),
    (3, 2),
    (3, 3),
    (4, 1),
    (4, 2),
    (3, 4),
    (5, 1),
    (5, 2),
    (4, 3),
    (6, 1),
    (6, 2),
    (8, 1),
    (8, 2),
)
"""Vocabulary and depth of the default instances for a drafting: the first that it can be drafted on."""


@dataclass(frozen=True, eq=False)
class TrialInstance:
    """An exact instance to audit a verifier on, with what is drafted: a number of paths, or a drafting instead."""

    name: str
    instance: Instance
    paths: int | None = None
    drafting: Drafted | None = None

    @cached_property
    def problem(self) -> Problem:
        """The instance with what is drafted; ValueError unless exactly one of the two is given, and fits."""
        return Problem(self.instance, which_drafting(self.paths, self.drafting))


def default_instances(drafting: Drafted | None = None) -> tuple[TrialInstance, ...]:
    """The instances on which a verifier should be audited at least.

    Args:
        drafting: what is drafted; when None, K i.i.d. paths, K that of each instance.

    Raises ValueError for a drafting that fits none of them, as one of more than four tokens a path.
    """
    if drafting is None:
        return _for_paths()
    drafted = as_drafting(drafting)
    if isinstance(drafted, IidPaths):
        return tuple(TrialInstance(trial.name, trial.instance, drafted.paths) for trial in _for_paths())
    reason = None
    for vocab, depth in SIZES:
        named = _of_size(vocab, depth)
        try:
            for instance in named.values():
                drafted.check(instance)
        except ValueError as error:
            reason = error
        else:
            others = {
                trial.name: trial.instance
                for trial in _for_paths()
                if trial.instance.depth == depth and _fits(drafted, trial.instance)
            }
            every = others | named
            return tuple(TrialInstance(name, instance, drafting=drafted) for name, instance in every.items())
    raise ValueError(f"no default instance for the drafting {drafted}: {reason}; give instances of your own")


def _fits(drafting: Drafting, instance: Instance) -> bool:
    try:
        drafting.check(instance)
    except ValueError:
        return False
    return True


@cache
def _of_size(vocab: int, depth: int) -> dict[str, Instance]:
    """Four kinds of laws; with three tokens and depth two they are those of i.i.d. paths."""
    return {
        "unlike contexts": random_instance("flat", vocab, depth, seed=4),
        "zero probabilities": random_instance("flat", vocab, depth, seed=8, zeros=0.3),
        "the same law everywhere": random_instance("iid", vocab, depth, seed=4, zeros=0.3),
        "equal models": random_instance("identical", vocab, depth, seed=3),
    }


@cache
def _for_paths() -> tuple[TrialInstance, ...]:
    """With i.i.d. paths.

    With two tokens the residual has one token left after a rejection, and faults of its normalisation do not
    show; so every instance has three or more. Laws differ from context to context, the bonus token's law
    included, so that a row taken from the wrong node shows. Small weights give ties of p/q.
    """
    half, fifth = Fraction(1, 2), Fraction(1, 5)
    small = _of_size(3, 2)
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
        TrialInstance("unlike contexts", small["unlike contexts"], 2),
        TrialInstance("zero probabilities", small["zero probabilities"], 2),
        TrialInstance("the same law everywhere", small["the same law everywhere"], 3),
        TrialInstance("one path, three tokens", random_instance("flat", 3, 3, seed=5), 1),
        TrialInstance(
            "zeros at the root",
            _depth_one([0 * half, 3 * fifth, 2 * fifth, 0 * half], [fifth, 2 * fifth, fifth, fifth]),
            1,
        ),
        TrialInstance("equal models", small["equal models"], 2),
    )


def _depth_one(target: list[Fraction], draft: list[Fraction]) -> Instance:
    """One drafted token; the bonus token's law is the target's, turned by one token more in each context."""
    vocab = len(target)
    laws: dict[tuple[int, ...], list[Fraction]] = {(y,): target[y:] + target[:y] for y in range(vocab)}
    laws[()] = target
    return Instance.from_laws(vocab, 1, laws, {(): draft})
