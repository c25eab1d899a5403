"""The sequential tests: false alarms at the stated rate, power where it is promised, intervals that cover."""

from __future__ import annotations

import math

import numpy as np
from nodebudget.verifiers.audit.evidence import MeanTest, StringTest

LAW = np.outer([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]).ravel()


def reaches(law: np.ndarray, drawn: np.ndarray, threshold: float, samples: int, seed: int) -> bool:
    """Is there an alarm at any look?"""
    rng = np.random.default_rng(seed)
    test = StringTest(law, 3)
    while test.samples < samples:
        test.add(rng.choice(len(law), size=max(20, test.samples), p=drawn))
        if test.log_evidence >= threshold:
            return True
    return False


def test_false_alarms_stay_below_the_stated_rate_at_all_looks_together() -> None:
    """At rate 1/10, so that there is something to count: 1000 audits of the true law, 10 looks each."""
    alarms = sum(reaches(LAW, LAW, math.log(10), 10_000, seed) for seed in range(1000))
    assert alarms <= 100  # expected below 100; they are far fewer, as the bound is not tight
    assert alarms > 0


def test_the_evidence_is_a_martingale() -> None:
    """Its mean under the hypothesis is one, at a fixed number of samples: exactly, over all outcomes of two."""
    mean = 0.0
    for i in range(len(LAW)):
        for j in range(len(LAW)):
            test = StringTest(LAW, 3)
            test.add(np.array([i, j]))
            mean += LAW[i] * LAW[j] * math.exp(test.log_evidence)
    assert abs(mean - 1) < 1e-9  # logarithms of gamma functions of large numbers


def test_what_is_called_detectable_is_detected() -> None:
    """Shifts between two halves of the law: found mostly at 1.5 times the stated size, rarely at half of it."""
    threshold, samples = math.log(1e7), 5000
    test = StringTest(LAW, 3)
    test.add(np.random.default_rng(0).choice(9, size=samples, p=LAW))
    size = test.detectable(threshold)
    half = np.zeros(9, dtype=bool)
    for place in np.argsort(-LAW):
        half[place] = LAW[half].sum() + LAW[place] <= 0.5
    mass = LAW[half].sum()
    found = []
    for factor in (0.5, 1.5):
        shift = factor * size
        law = LAW * np.where(half, (mass + shift) / mass, (1 - mass - shift) / (1 - mass))
        hits = 0
        for seed in range(40):
            one = StringTest(LAW, 3)
            one.add(np.random.default_rng(seed).choice(9, size=samples, p=law))
            hits += one.log_evidence >= threshold
        found.append(hits)
    assert found[0] <= 4
    assert found[1] >= 36


def test_an_impossible_string_is_infinite_evidence() -> None:
    test = StringTest(np.array([0.5, 0.5, 0.0]), 3)
    test.add(np.array([0, 1, 2]))
    assert test.log_evidence == math.inf


def test_intervals_for_the_mean_cover_it_and_shrink() -> None:
    rng = np.random.default_rng(1)
    widths = []
    for samples in (200, 20_000):
        test = MeanTest(2)
        test.add(rng.choice(3, size=samples, p=[0.2, 0.5, 0.3]))
        interval = test.interval(math.log(1e6))
        assert interval.low < 1.1 < interval.high
        widths.append(interval.high - interval.low)
    assert widths[1] < widths[0] / 5


def test_a_mean_above_the_bound_is_found_and_one_below_is_not() -> None:
    """E|Z| = 25/18 against OPT_1 = 11/9, the fault of block verification with coins of probability w."""
    rng = np.random.default_rng(2)
    high, fair = MeanTest(2), MeanTest(2)
    high.add(rng.choice(3, size=2000, p=[1 / 9, 7 / 18, 1 / 2]))
    fair.add(rng.choice(3, size=2000, p=[1 / 3, 1 / 9, 5 / 9]))
    assert high.log_evidence_above(11 / 9) > math.log(1e6)
    assert fair.log_evidence_above(11 / 9) < math.log(1e3)
    assert MeanTest(2).log_evidence_above(0.0) == 0
    assert high.log_evidence_above(0.0) == math.inf
