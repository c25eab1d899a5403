"""Exact audits of rules of coins: laws of this package's verifiers are met exactly, other rules are refused."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from known_faults import MOTIVATING, P, Q, block, depth_one, fresh_draw, single
from nodebudget.lp import random_instance
from nodebudget.verifiers import VERIFIERS
from nodebudget.verifiers.audit import NotAThresholdRuleError, audit_exact, audit_threshold_sampler
from nodebudget.verifiers.audit.coins import boxes
from nodebudget.verifiers.audit.trial_instances import default_instances

UNLIKE = next(trial for trial in default_instances() if trial.name == "unlike contexts").instance
DEPTH_ONE = depth_one(P, Q).instance


def token_torch(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
    path = paths[0]
    where = torch.arange(len(path)), path
    n = int((coins[: len(path)] < target[0][where] / draft[0][where]).int().cumprod(0).sum())
    rest = target[0, n] if n == len(path) else (target[0, n] - draft[0, n]).clamp(min=0)
    return [*path[:n].tolist(), int(torch.searchsorted(rest.cumsum(0) / rest.sum(), coins[len(path)]))]


@pytest.mark.parametrize(
    ("rule", "coins", "name", "paths"),
    [(single(), 5, "token", 1), (block(), 3, "bv", 1), (block(), 3, "bv", 2), (fresh_draw, 3, "nss", 2)],
)
def test_rules_of_coins_have_the_laws_of_the_verifiers(rule: Any, coins: int, name: str, paths: int) -> None:
    for instance in (UNLIKE, random_instance("flat", 3, 2, seed=8, zeros=0.3)):
        found = audit_threshold_sampler(rule, instance, paths, coins=coins)
        wanted = audit_exact(VERIFIERS[name], instance, paths)
        assert found.lossless
        assert np.array_equal(found.joint, wanted.joint)
        assert found.optimum == wanted.optimum


@pytest.mark.parametrize(("rows", "rule", "coins"), [("numpy", single(), 5), ("torch", token_torch, 3)])
def test_float_programs_have_the_law_up_to_rounding(rows: str, rule: Any, coins: int) -> None:
    found = audit_threshold_sampler(rule, UNLIKE, 1, coins=coins, rows=rows)
    wanted = audit_exact(VERIFIERS["token"], UNLIKE, 1)
    assert found.lossless
    assert found.total_variation < Fraction(1, 10**14)
    assert abs(found.accepted_tokens - wanted.accepted_tokens) < Fraction(1, 10**14)


def test_faulty_torch_rules_are_judged() -> None:
    def from_half_a_coin(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        return [int(torch.searchsorted(target[0, 0].cumsum(0), coins[0] * 0.5))]

    def from_the_draft(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        return [int(torch.searchsorted(draft[0, 0].cumsum(0), coins[0]))]

    def from_the_target(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        return [int(torch.searchsorted(target[0, 0].cumsum(0), coins[0]))]

    for rule, lossless in ((from_half_a_coin, False), (from_the_draft, False), (from_the_target, True)):
        assert audit_threshold_sampler(rule, UNLIKE, 1, coins=1, rows="torch").lossless == lossless


def test_other_torch_rules_are_refused_with_the_reason() -> None:
    with pytest.raises(NotAThresholdRuleError, match="torch's log"):
        audit_threshold_sampler(lambda x, p, q, u: [int(torch.log(u) < 0)], UNLIKE, 1, coins=1, rows="torch")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (lambda paths, p, q, u: [0 if float(u[0]) < 0.5 else 1], "turned into a float"),
        (lambda paths, p, q, u: [int(u[0] * 2)], "turned into an integer"),
        (lambda paths, p, q, u: [0 if u[0] < u[1] else 1], "compared with coin 1"),
        (lambda paths, p, q, u: [0 if u[0] * u[1] < 0.5 else 1], "multiplied by coin 1"),
        (lambda paths, p, q, u: [int(np.argmax(np.log(u)))], "asked for 'log'"),
        (lambda paths, p, q, u: [0 if u[0] else 1], "truth value"),
        (lambda paths, p, q, u: [0 if u[0] < float("nan") else 1], "compared with nan"),
        (lambda paths, p, q, u: [0 if np.exp(u[0]) < 2 else 1], "another way"),
    ],
)
def test_other_rules_are_refused_with_the_reason(rule: Any, reason: str) -> None:
    with pytest.raises(NotAThresholdRuleError, match=reason):
        audit_threshold_sampler(rule, MOTIVATING.instance, 1, coins=2)


def test_rules_with_randomness_of_their_own_are_refused() -> None:
    flips = iter(range(1000))

    def counting(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        return [next(flips) % 2]

    def hidden_numpy(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        return [0 if np.random.random() < 2 else 1]  # noqa: NPY002

    def hidden_torch(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        return [0 if torch.rand(1) < 2 else 1]

    for rule in (counting, hidden_numpy, hidden_torch):
        with pytest.raises(NotAThresholdRuleError, match="function of its arguments alone"):
            audit_threshold_sampler(rule, MOTIVATING.instance, 1, coins=1)


def test_copies_of_coins_are_the_coins() -> None:
    rule = single()
    found = audit_threshold_sampler(
        lambda paths, target, draft, coins: rule(paths, target, draft, copy.deepcopy(coins)),
        UNLIKE,
        1,
        coins=5,
    )
    assert found.lossless


def test_a_swallowed_refusal_is_a_refusal() -> None:
    def swallows(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        try:
            coin = float(coins[0])
        except ValueError:
            coin = 0.5
        return [int(coin > 1)]

    with pytest.raises(NotAThresholdRuleError, match="turned into a float"):
        audit_threshold_sampler(swallows, MOTIVATING.instance, 1, coins=1)


def test_endless_comparisons_are_refused() -> None:
    def endless(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        while coins[0] < 2:
            pass
        return [0]

    with pytest.raises(NotAThresholdRuleError, match="more than 10000 times"):
        audit_threshold_sampler(endless, MOTIVATING.instance, 1, coins=1)


def test_torch_rules_without_a_division() -> None:
    def undivided(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        t = int(paths[0, 0])
        p, q = target[0, 0], draft[0, 0]
        if bool(q[t] * coins[0] < p[t]):
            return [t, int(torch.searchsorted(target[0, 1].cumsum(0), coins[2]))]
        rest = (p - q).clamp(min=0)
        return [int(torch.searchsorted(rest.cumsum(0), coins[1] * rest.sum()))]

    found = audit_threshold_sampler(undivided, DEPTH_ONE, 1, coins=3, rows="torch")
    assert found.lossless
    assert abs(found.accepted_tokens - Fraction(7, 10)) < Fraction(1, 10**14)


def test_outputs_off_the_paths_are_faults() -> None:
    def off(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        first = int(np.searchsorted(np.cumsum(target[0, 0]), coins[0], side="right"))
        return [first, int(np.searchsorted(np.cumsum(target[0, 0]), coins[1], side="right"))]

    found = audit_threshold_sampler(off, MOTIVATING.instance, 1, coins=2)
    assert not found.prefix_matching
    assert found.target_matching  # the same law everywhere: only the drafted paths are ignored
    assert "begin one of the paths" in found.faults[0]


def test_a_sampler_that_raises_is_an_error_that_names_the_paths() -> None:
    with pytest.raises(ValueError, match="drafted paths 0,0: it raised IndexError"):
        audit_threshold_sampler(lambda p, t, d, u: [u[5] < 1], MOTIVATING.instance, 1, coins=2)


def test_boxes_fill_the_cube_and_comparisons_agree_with_numbers() -> None:
    def program(coins: list[Any]) -> tuple[bool, ...]:
        u, v = coins
        return (
            u < 0.25,
            1 - u < Fraction(1, 3),
            2 * v - 1 >= 0,
            u / 2 + 1 > 1.4,
            v < 2,
            v > float("inf"),
            u <= u,
        )

    found = list(boxes(program, 2))
    assert sum(volume for volume, _ in found) == 1
    law: dict[Any, Fraction] = {}
    for volume, output in found:
        law[output] = law.get(output, Fraction(0)) + volume
    counted: dict[Any, int] = {}
    rng = np.random.default_rng(0)
    for _ in range(20_000):
        output = program(list(rng.random(2)))
        counted[output] = counted.get(output, 0) + 1
    assert counted.keys() == law.keys()
    assert all(abs(counted[output] / 20_000 - mass) < 0.02 for output, mass in law.items())


@pytest.mark.parametrize(
    ("options", "words"), [({"coins": -1}, "coins: got -1"), ({"rows": "jax"}, "rows: got 'jax'")]
)
def test_unusable_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        audit_threshold_sampler(single(), MOTIVATING.instance, 1, **{"coins": 5, **options})
