"""The exact law of a program that compares uniform numbers with thresholds.

Each coin is an object that knows only the interval it lies in. A comparison that the interval decides has one
outcome; any other splits the interval, and the program is run once for each side. The program's output is
then constant on boxes of coins whose volumes are exact.
"""

from __future__ import annotations

import math
import numbers
import random
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

BRANCH_LIMIT = 100_000
"""Most boxes of coins that one program is run for."""

COMPARISON_LIMIT = 10_000
"""Most comparisons of coins in one run of a program."""


class NotAThresholdRuleError(ValueError):
    """A program did something else with a coin than compare it with a number."""


class Coin:
    """A number uniform on [0, 1), scaled and shifted; it can be compared with numbers and nothing else."""

    __slots__ = ("_index", "_run", "_scale", "_shift")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # numpy scalars and arrays leave comparisons to the coin

    def __init__(self, run: _Run, index: int, scale: Fraction, shift: Fraction) -> None:
        self._run, self._index, self._scale, self._shift = run, index, scale, shift

    def __lt__(self, other: Any) -> Any:
        return self._each(other, lambda number: self._below(number))

    def __le__(self, other: Any) -> Any:
        # Equality with a number has probability zero. numpy's searches compare a key with itself.
        return other is self or self.__lt__(other)

    def __gt__(self, other: Any) -> Any:
        return self._each(other, lambda number: number is not self and not self._below(number))

    def __ge__(self, other: Any) -> Any:
        return other is self or self.__gt__(other)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __add__(self, other: Any) -> Coin:
        return self._affine(Fraction(1), self._number(other, "added to"))

    def __sub__(self, other: Any) -> Coin:
        return self._affine(Fraction(1), -self._number(other, "reduced by"))

    def __rsub__(self, other: Any) -> Coin:
        return self._affine(Fraction(-1), self._number(other, "subtracted from"))

    def __mul__(self, other: Any) -> Coin:
        return self._affine(self._number(other, "multiplied by"), Fraction(0))

    def __truediv__(self, other: Any) -> Coin:
        return self._affine(1 / self._number(other, "divided by"), Fraction(0))

    __radd__, __rmul__ = __add__, __mul__

    def __float__(self) -> float:
        raise self._refusal("turned into a float")

    def __int__(self) -> int:
        raise self._refusal("turned into an integer")

    __index__ = __int__

    def __bool__(self) -> bool:
        raise self._refusal("used as a truth value")

    def __copy__(self) -> Coin:
        return self

    def __deepcopy__(self, memo: Any) -> Coin:
        return self

    def __reduce__(self) -> Any:
        raise self._refusal("serialised")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refusal(f"asked for {name!r}")

    def _each(self, other: Any, compare: Callable[[Any], bool]) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return np.array([compare(number) for number in other.ravel()], dtype=bool).reshape(other.shape)
        return compare(other)

    def _below(self, other: Any) -> bool:
        if other is self:
            return False
        if isinstance(other, float | np.floating) and math.isinf(other):
            return bool(other > 0)
        threshold = (self._number(other, "compared with") - self._shift) / self._scale
        below = self._run.below(self._index, threshold)
        return below if self._scale > 0 else not below

    def _affine(self, scale: Fraction, shift: Fraction) -> Coin:
        if scale == 0:
            raise self._refusal("multiplied by 0")
        return Coin(self._run, self._index, self._scale * scale, self._shift * scale + shift)

    def _number(self, other: Any, what: str) -> Fraction:
        if isinstance(other, Coin):
            raise self._refusal(f"{what} coin {other._index}")
        if (isinstance(other, np.ndarray) and other.ndim == 0) or type(other).__module__.split(".")[
            0
        ] == "torch":
            other = other.item()
        if isinstance(other, np.floating):
            other = float(other)
        if isinstance(other, np.integer):
            other = int(other)
        if not isinstance(other, numbers.Rational | float) or (
            isinstance(other, float) and not math.isfinite(other)
        ):
            raise self._refusal(f"{what} {other!r}")
        return Fraction(other)

    def _refusal(self, what: str) -> NotAThresholdRuleError:
        return self._run.refuse(
            f"coin {self._index} was {what}; expected coins to be compared with numbers only, after scaling and "
            "shifting at most (audit other rules with audit_sampler)"
        )


class _Run:
    """One run of the program: what the comparisons so far have decided about each coin."""

    def __init__(self, coins: int, decisions: list[bool]) -> None:
        self.intervals = [(Fraction(0), Fraction(1))] * coins
        self.decisions = decisions
        self.asked = 0
        self.refusal: NotAThresholdRuleError | None = None  # kept: the program may swallow the exception
        self._comparisons = 0

    def below(self, index: int, threshold: Fraction) -> bool:
        self._comparisons += 1
        if self._comparisons > COMPARISON_LIMIT:
            raise self.refuse(
                f"it compared coins more than {COMPARISON_LIMIT} times in one run; expected fewer"
            )
        low, high = self.intervals[index]
        if threshold <= low:
            return False
        if threshold >= high:
            return True
        if self.asked == len(self.decisions):
            self.decisions.append(True)
        below = self.decisions[self.asked]
        self.asked += 1
        self.intervals[index] = (low, threshold) if below else (threshold, high)
        return below

    def refuse(self, reason: str) -> NotAThresholdRuleError:
        self.refusal = NotAThresholdRuleError(reason)
        return self.refusal

    def volume(self) -> Fraction:
        return math.prod((high - low for low, high in self.intervals), start=Fraction(1))


def boxes(program: Callable[[list[Coin]], Any], coins: int) -> Iterator[tuple[Fraction, Any]]:
    """The outputs of a program of uniform coins, each with the volume of a box of coins on which it is constant.

    The volumes sum to one. Every box is run twice: a program that is no function of its coins is refused where
    the two differ, and where it draws from the global generators of random, numpy or torch.

    Raises NotAThresholdRuleError for that, where the program does something else with a coin than compare it, and
    where there are more than `BRANCH_LIMIT` boxes.
    """
    decisions: list[bool] = []
    for _ in range(BRANCH_LIMIT):
        runs = [_Run(coins, decisions) for _ in range(2)]
        before = _global_generators()
        outputs = [_run(program, run, coins) for run in runs]
        if outputs[0] != outputs[1] or runs[0].asked != runs[1].asked or before != _global_generators():
            raise NotAThresholdRuleError(
                "run again on the same coins it returned something else, or it drew random numbers of its own; "
                "expected a function of its arguments alone"
            )
        yield runs[0].volume(), outputs[0]
        del decisions[runs[0].asked :]
        while decisions and not decisions[-1]:
            decisions.pop()
        if not decisions:
            return
        decisions[-1] = False
    raise NotAThresholdRuleError(
        f"its coins fall into more than {BRANCH_LIMIT} boxes; expected fewer comparisons (a smaller instance)"
    )


def _run(program: Callable[[list[Coin]], Any], run: _Run, coins: int) -> Any:
    output = program([Coin(run, i, Fraction(1), Fraction(0)) for i in range(coins)])
    if run.refusal is not None:
        raise run.refusal
    return output


def _global_generators() -> tuple[Any, ...]:
    """The states of the generators that a program can draw from behind the caller's back."""
    legacy: Any = np.random.get_state()  # noqa: NPY002  (the legacy generator is what is watched)
    states = (random.getstate(), legacy[1].tobytes(), tuple(legacy[2:]))
    torch = sys.modules.get("torch")
    return states if torch is None else (*states, torch.get_rng_state().numpy().tobytes())
