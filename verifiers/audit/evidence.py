"""Sequential tests whose false-alarm rate holds exactly, at whatever time one stops.

A test martingale is a nonnegative process with mean one under the hypothesis. The probability that it ever
reaches 1/a is at most a (Ville's inequality), so it can be looked at after every sample, and several can be
averaged. No approximation by a chi-squared law is involved: small counts are as good as large ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

Floats = np.ndarray[Any, np.dtype[np.float64]]

CONCENTRATIONS = (8.0, 64.0, 512.0, 4096.0, 32768.0, 262144.0)
"""How close to the expected law the alternatives lie: Dirichlet laws around it, from coarse to fine."""

BETS = 2.0 ** -np.arange(0.25, 12.0, 0.75)
"""Shares of the capital that can at most be bet on a mean above, or below, a given one."""


class StringTest:
    """Are strings of fixed length drawn independently from a given law?

    The martingale is an average over the length of the prefix that is looked at and over alternatives: the
    likelihood of the counts under a Dirichlet mixture around the expected law, divided by that under the
    expected law.
    """

    def __init__(self, expected: Floats, vocab: int) -> None:
        """Build for the law of strings of `length` tokens, as an array of shape (vocab ** length,)."""
        self.vocab = vocab
        self.length = round(math.log(len(expected), vocab))
        self.counts = np.zeros(len(expected))
        self._laws = self._marginals(expected)

    @property
    def expected(self) -> Floats:
        """The law of the whole strings."""
        return self._laws[-1]

    @property
    def samples(self) -> int:
        """How many strings were counted."""
        return int(self.counts.sum())

    @property
    def observed(self) -> Floats:
        """The share of each string."""
        return self.counts / max(1, self.samples)

    def add(self, codes: np.ndarray[Any, Any]) -> None:
        """Count strings, each given as the number that its tokens are the digits of in base `vocab`."""
        self.counts += np.bincount(codes, minlength=len(self.counts))

    @property
    def log_evidence(self) -> float:
        """Natural logarithm of the martingale; infinite when a string of probability zero was seen."""
        return self._log_evidence(self.counts)

    def detectable(self, threshold: float) -> float:
        """The total variation that is found at about even odds with the samples seen.

        That of the hardest kind of deviation: all of it between two halves of the law, each half keeping its
        proportions. A deviation on fewer strings is found sooner.
        """
        samples = self.counts.sum()
        half = _even_split(self.expected)
        mass = float(self.expected[half].sum())
        low, high = 0.0, max(mass, 1 - mass)
        for _ in range(40):
            middle = (low + high) / 2
            step = middle if mass + middle <= 1 else -middle
            shifted = self.expected * np.where(
                half, (mass + step) / mass, (1 - mass - step) / max(1 - mass, 1e-300)
            )
            if self._log_evidence(shifted * samples) >= threshold:
                high = middle
            else:
                low = middle
        return high

    def _marginals(self, strings: Floats) -> list[Floats]:
        """The law or counts of the first 1, 2, .., `length` tokens."""
        return [strings.reshape(self.vocab**d, -1).sum(1) for d in range(1, self.length + 1)]

    def _log_evidence(self, counts: Floats) -> float:
        logs = []
        for law, seen in zip(self._laws, self._marginals(counts), strict=True):
            if seen[law <= 0].any():
                return math.inf
            law, seen = law[law > 0], seen[law > 0]
            likelihood, total = seen @ np.log(law), seen.sum()
            for weight in CONCENTRATIONS:
                prior = weight * law
                mixture = (gammaln(prior + seen) - gammaln(prior)).sum()
                logs.append(mixture + gammaln(weight) - gammaln(weight + total) - likelihood)
        return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


@dataclass(frozen=True)
class MeanInterval:
    """The mean of a bounded quantity, with an interval that holds at whatever time one stops."""

    mean: float
    low: float
    high: float
    error: float  # standard error of the mean


class MeanTest:
    """What is the mean of independent integers in 0 .. `largest`? By betting against each candidate mean."""

    def __init__(self, largest: int) -> None:
        self.values = np.arange(largest + 1.0)
        self.counts = np.zeros(largest + 1)

    def add(self, values: np.ndarray[Any, Any]) -> None:
        """Count values."""
        self.counts += np.bincount(values, minlength=len(self.counts))

    def log_evidence_above(self, mean: float) -> float:
        """Natural logarithm of a martingale for the hypothesis that the mean is at most `mean`."""
        return self._capital(self.values - mean, mean)

    def interval(self, threshold: float) -> MeanInterval:
        """All means against which no bet, for above or for below, has reached exp(threshold)."""
        total = self.counts.sum()
        mean = float(self.counts @ self.values / total)
        squares = float(self.counts @ (self.values - mean) ** 2)
        error = math.sqrt(squares / total / max(1.0, total - 1))
        largest = float(self.values[-1])
        low = _edge(mean, 0.0, lambda m: self.log_evidence_above(m) < threshold)
        high = _edge(mean, largest, lambda m: self._capital(m - self.values, largest - m) < threshold)
        return MeanInterval(mean, low, high, error)

    def _capital(self, gains: Floats, worst: float) -> float:
        """Log of the mean capital after bets of given shares of 1 / `worst`, the largest loss of a unit bet."""
        if worst <= 0:
            return math.inf if self.counts[gains > 0].any() else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = np.log1p(np.outer(BETS / worst, gains))
            capital = np.where(self.counts > 0, self.counts * grown, 0.0).sum(1)
        return float(np.logaddexp.reduce(capital)) - math.log(len(BETS))


def _edge(inside: float, outside: float, plausible: Any) -> float:
    """The point between a plausible value and an end of the range at which plausibility ends."""
    if plausible(outside):
        return outside
    for _ in range(40):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if plausible(middle) else (inside, middle)
    return outside


def _even_split(law: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """A set of outcomes with about half of the mass: largest first, each to the lighter side."""
    side = np.zeros(len(law), dtype=bool)
    masses = [0.0, 0.0]
    for place in np.argsort(-law, kind="stable"):
        lighter = int(masses[1] < masses[0])
        side[place] = bool(lighter)
        masses[lighter] += law[place]
    return side if masses[1] > 0 else ~side
