"""The catalogue of known faults: every fault is found, every false alarm passes, with the laws worked out by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from known_faults import FALSE_ALARMS, FAULTS, MOTIVATING, Known, block, random_coins, single
from nodebudget.verifiers.audit import audit_sampler, audit_threshold_sampler

RULES = [known for known in (*FAULTS, *FALSE_ALARMS) if known.rule is not None]


@pytest.mark.parametrize("known", FAULTS, ids=lambda known: known.name)
def test_every_fault_is_found_from_outside(known: Known) -> None:
    found = audit_sampler(known.sampler, [known.trial], drafter=known.drafter)
    assert not found.lossless
    assert found.contract_kept, str(found)
    assert {fault.property for fault in found.faults} <= {"joint law", "accepted tokens"}
    trial = found.trials[0]
    assert trial.samples < 20_000
    if known.expected_variation is not None:
        noise = 6 * trial.chance_variation
        assert abs(trial.observed_variation - float(known.expected_variation)) < noise
    if known.emitted is not None:
        error = 5 / np.sqrt(trial.samples)
        assert np.abs(np.array(trial.first_observed) - np.array(known.emitted, dtype=float)).max() < error
    json.dumps(found.to_json())


@pytest.mark.parametrize("known", FALSE_ALARMS, ids=lambda known: known.name)
def test_every_false_alarm_passes_from_outside(known: Known) -> None:
    found = audit_sampler(known.sampler, [known.trial], drafter=known.drafter)
    assert found.passed, str(found)
    trial = found.trials[0]
    assert trial.samples == 20_000
    assert trial.detectable_variation < 0.05
    if known.accepted is not None:
        assert trial.accepted_low < known.accepted < trial.accepted_high


@pytest.mark.parametrize("known", RULES, ids=lambda known: known.name)
def test_threshold_rules_have_exactly_the_laws_worked_out(known: Known) -> None:
    instance = known.trial.instance
    found = audit_threshold_sampler(known.rule, instance, known.trial.paths, coins=known.coins)
    assert found.lossless == (known in FALSE_ALARMS)
    if known.expected_variation is not None:
        assert found.total_variation == known.expected_variation
    if known.accepted is not None:
        assert found.accepted_tokens == known.accepted
    if known.emitted is not None:
        at_root = found.budgets[1 : instance.vocab + 1] + found.joint[0]
        assert tuple(at_root) == known.emitted


def test_the_token_wise_residual_is_seen_in_the_second_token_only() -> None:
    known = next(known for known in FAULTS if "token-wise residual" in known.name)
    found = audit_threshold_sampler(known.rule, known.trial.instance, 1, coins=known.coins)
    instance, joint, budgets = known.trial.instance, found.joint, found.budgets
    first = budgets[1:4] + joint[0]
    assert tuple(first) == tuple(instance.target_law(0))
    second = sum(
        joint[0, x] * instance.target_law(1 + x) + joint[1 + x] + budgets[4 + 3 * x : 7 + 3 * x]
        for x in range(3)
    )
    assert [round(float(mass), 3) for mass in second] == [0.314, 0.686, 0.0]


def test_too_many_accepted_tokens_are_a_fault_of_their_own() -> None:
    broken = random_coins(block(coin_weight=True), 3)
    found = audit_sampler(broken, [MOTIVATING])
    wide = audit_threshold_sampler(block(coin_weight=True), MOTIVATING.instance, 1, coins=3)
    assert any("above OPT_1" in fault for fault in wide.faults)
    assert "joint law" in {fault.property for fault in found.faults}


def test_the_parts_without_a_fault_pass_on_the_default_instances() -> None:
    for rule, coins in ((single(), 7), (block(), 4)):
        assert audit_sampler(random_coins(rule, coins), samples=1000).passed
