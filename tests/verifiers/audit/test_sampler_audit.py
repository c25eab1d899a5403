"""The audit of black boxes: correct samplers of every form pass, broken contracts are named, errors are clear."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from known_faults import MOTIVATING, block, depth_one, draw, law, random_coins, single
from nodebudget.lp import random_instance
from nodebudget.verifiers import VERIFIERS
from nodebudget.verifiers.audit import as_sampler, audit_sampler, flat_chain, token_tree
from nodebudget.verifiers.audit.trial_instances import TrialInstance, default_instances

TRIALS = default_instances()
SMALL = [trial for trial in TRIALS if trial.name in ("unlike contexts", "zero probabilities")]
TOKEN = random_coins(single(), 7)


def token_batch(paths: Any, target: Any, draft: Any, generator: np.random.Generator) -> Any:
    """Token verification of a batch of requests, on the first path of each, in whole-array operations."""
    if not (np.isfinite(target).all() and np.isfinite(draft).all()):
        raise ValueError("the rows have NaN or infinite entries")
    count, _, depth = paths.shape
    first, p, q = paths[:, 0], target[:, 0], draft[:, 0]
    coins = generator.random((count, depth + 1))
    at = np.arange(count)[:, None], np.arange(depth), first
    accepted = np.cumprod(coins[:, :-1] < p[at] / q[at], axis=1).sum(1)
    every = np.arange(count)
    rest = np.maximum(
        p[every, accepted] - np.where((accepted < depth)[:, None], q[every, accepted.clip(max=depth - 1)], 0),
        0,
    )
    cumulative = rest.cumsum(1)
    drawn = (cumulative <= generator.random(count)[:, None] * cumulative[:, -1:]).sum(1)
    out = np.where(np.arange(depth + 1) < accepted[:, None], np.pad(first, ((0, 0), (0, 1))), -1)
    out[every, accepted] = drawn
    return out


def token_torch(paths: Any, target: Any, draft: Any, generator: torch.Generator) -> list[int]:
    """Token verification in torch, one request."""
    if not (target.isfinite().all() and draft.isfinite().all()):
        raise ValueError("the rows have NaN or infinite entries")
    path = paths[0]
    where = torch.arange(len(path)), path
    coins = torch.rand(len(path), generator=generator, dtype=target.dtype)
    n = int((coins < target[0][where] / draft[0][where]).int().cumprod(0).sum())
    rest = target[0, n] if n == len(path) else (target[0, n] - draft[0, n]).clamp(min=0)
    return [*path[:n].tolist(), int(torch.multinomial(rest, 1, generator=generator))]


@pytest.mark.parametrize("name", VERIFIERS)
def test_the_package_s_verifiers_pass_as_black_boxes(name: str) -> None:
    found = audit_sampler(as_sampler(VERIFIERS[name]), SMALL, samples=500)
    assert found.passed, str(found)
    assert found.sampler == name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_torch_samplers_pass(dtype: str) -> None:
    assert audit_sampler(token_torch, SMALL, samples=1000, library="torch", dtype=dtype).passed
    assert audit_sampler(
        as_sampler(VERIFIERS["gbv"]), SMALL[:1], samples=250, library="torch", dtype=dtype
    ).passed


def test_a_faulty_torch_sampler_is_found() -> None:
    def resampled(paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
        return token_torch(paths, target, draft * 0 + 1 / draft.shape[-1], generator)

    assert not audit_sampler(resampled, SMALL, library="torch").lossless


def test_batches_pass_on_all_default_instances() -> None:
    found = audit_sampler(token_batch, batch=500)
    assert found.passed, str(found)
    assert found.samples == 20_000 * len(TRIALS)
    assert all(trial.optimum is not None and trial.accepted_low <= trial.optimum for trial in found.trials)


def test_two_hundred_audits_of_correct_samplers_raise_no_alarm() -> None:
    for seed in range(200):
        trial = [TRIALS[seed % len(TRIALS)]]
        if seed % 5:
            found = audit_sampler(token_batch, trial, batch=2000, samples=4000, seed=1000 * seed)
        else:
            sampler = TOKEN if seed % 2 else random_coins(block(), 4)
            found = audit_sampler(sampler, trial, samples=500, seed=seed)
        assert found.passed, str(found)


def test_rows_of_a_batch_that_influence_each_other_are_found() -> None:
    def rows_of_the_neighbour(paths: Any, target: Any, draft: Any, generator: Any) -> Any:
        return token_batch(paths, np.roll(target, 1, axis=0), draft, generator)

    def padding_drops_the_last_row(paths: Any, target: Any, draft: Any, generator: Any) -> Any:
        out = token_batch(paths, target, draft, generator)
        if len(out) > 1:
            out[-1] = out[0]
        return out

    for broken in (rows_of_the_neighbour, padding_drops_the_last_row):
        found = audit_sampler(broken, SMALL, batch=64)
        assert "batch rows" in {fault.property for fault in found.faults}, str(found)


def test_laws_taken_from_another_row_are_found() -> None:
    def first_row_s_draft(paths: Any, target: Any, draft: Any, generator: Any) -> Any:
        """At the root every row is judged by the draft's law of row 0."""
        draft = draft.copy()
        draft[:, :, 0] = draft[:1, :, 0]
        with np.errstate(divide="ignore"):
            return token_batch(paths, target, draft, generator)

    assert not audit_sampler(first_row_s_draft, SMALL, batch=64).lossless


def test_lengths_that_depend_on_other_rows_are_found() -> None:
    def shortest(paths: Any, target: Any, draft: Any, generator: Any) -> Any:
        """Lossless, but every row is cut to the shortest of the batch."""
        out = token_batch(paths, target, draft, generator)
        out[:, (out >= 0).sum(1).min() :] = -1
        return out

    found = audit_sampler(shortest, SMALL, batch=64, samples=1000)
    assert {fault.property for fault in found.faults} == {"batch rows"}
    assert "when the other rows" in found.faults[0].message


def test_small_batches_and_rejection_loops_pass() -> None:
    def buffered(paths: Any, target: Any, draft: Any, generator: Any) -> Any:
        if len(paths) > 2:
            raise RuntimeError("the buffer holds two requests")
        return token_batch(paths, target, draft, generator)

    def looping(paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
        """A draw from the target's first law by rejection: never done where all coins are the same."""
        if not np.isfinite(target).all():
            raise ValueError("NaN")
        while True:
            token = int(generator.random() * target.shape[-1])
            if generator.random() < target[0, 0, token]:
                return [token]

    assert audit_sampler(buffered, SMALL, batch=2, samples=500).passed
    found = audit_sampler(looping, SMALL, samples=500)
    assert found.passed, str(found)


def test_a_generator_function_that_raises_is_a_fault() -> None:
    def yields(paths: Any, target: Any, draft: Any, generator: Any) -> Any:
        raise RuntimeError("late")
        yield 0

    assert "RuntimeError: late" in str(audit_sampler(yields, SMALL, samples=250))


def test_a_constant_answer_is_a_matter_of_the_law_and_not_of_the_batch() -> None:
    def constant(paths: Any, target: Any, draft: Any, generator: Any) -> Any:
        if not (np.isfinite(target).all() and np.isfinite(draft).all()):
            raise ValueError("NaN")
        return np.zeros((len(paths), 1), dtype=int)

    found = audit_sampler(constant, SMALL[:1], batch=8)
    assert {fault.property for fault in found.faults} == {"joint law"}


def test_shared_coins_within_a_batch_are_found() -> None:
    def shared(paths: Any, target: Any, draft: Any, generator: Any) -> Any:
        state = generator.bit_generator.state
        out = []
        for b in range(len(paths)):
            generator.bit_generator.state = state
            out.append(TOKEN(paths[b], target[b], draft[b], generator))
        return out

    assert not audit_sampler(shared, SMALL, batch=64).lossless


def spoils_its_inputs(paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
    emitted = TOKEN(paths, target, draft, generator)
    target[0, 0] = np.roll(target[0, 0], 1)
    return emitted


def has_its_own_coins(paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
    return TOKEN(paths, target, draft, np.random.default_rng())


def accepts_nan(paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
    return single()(paths, np.nan_to_num(target, nan=1.0), np.nan_to_num(draft, nan=1.0), generator.random(7))


def at_most(paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
    """Accepts with <= and searches from the left: a coin of 0 gives tokens without mass."""
    if not (np.isfinite(target).all() and np.isfinite(draft).all()):
        raise ValueError("NaN")
    for i, t in enumerate(paths[0].tolist()):
        p, q = target[0, i], draft[0, i]
        if not generator.random() <= p[t] / q[t]:
            rest = np.maximum(p - q, 0)
            return [
                *paths[0, :i].tolist(),
                int(np.searchsorted(np.cumsum(rest / rest.sum()), generator.random())),
            ]
    return [*paths[0].tolist(), draw(target[0, -1], generator.random())]


@pytest.mark.parametrize(
    ("sampler", "broken"),
    [
        (spoils_its_inputs, "inputs unchanged"),
        (has_its_own_coins, "same state, same output"),
        (accepts_nan, "NaN rows"),
        (at_most, "extreme coins"),
    ],
)
def test_broken_contracts_are_named(sampler: Any, broken: str) -> None:
    found = audit_sampler(sampler, SMALL, samples=250)
    assert {fault.property for fault in found.faults} == {broken}, str(found)
    assert found.lossless
    assert not found.contract_kept
    with pytest.raises(AssertionError, match=broken):
        found.assert_passed()


def test_extreme_coins_in_torch() -> None:
    def at_most_torch(paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
        coin = torch.rand(1, generator=generator, dtype=target.dtype)
        if not (target.isfinite().all() and draft.isfinite().all()):
            raise ValueError("NaN")
        if bool(coin <= target[0, 0, paths[0, 0]] / draft[0, 0, paths[0, 0]]):
            return [int(paths[0, 0]), int(torch.multinomial(target[0, 1], 1, generator=generator))]
        rest = (target[0, 0] - draft[0, 0]).clamp(min=0)
        return [int(torch.multinomial(rest, 1, generator=generator))]

    trial = depth_one(law(".7", ".3", "0"), law(".2", ".3", ".5"))
    found = audit_sampler(at_most_torch, [trial], samples=250, library="torch")
    assert {fault.property for fault in found.faults} == {"extreme coins"}, str(found)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ([], "expected 1 to 3 token ids"),
        ([0, 1, 2, 0], "expected 1 to 3 token ids"),
        ([0, -1, 1], "expected 1 to 3 token ids"),
        ([3], "expected 1 to 3 token ids"),
        ([0.5], "expected 1 to 3 token ids"),
        (None, "it returned None"),
    ],
)
def test_outputs_that_are_no_tokens_are_faults(output: Any, words: str) -> None:
    found = audit_sampler(lambda paths, target, draft, generator: output, SMALL, samples=250)
    assert {fault.property for fault in found.faults} == {"output"}
    assert words in found.faults[0].message


def test_a_sampler_that_raises_is_faulty_and_says_so() -> None:
    def broken(*arguments: Any) -> Any:
        raise IndexError("row 7")

    found = audit_sampler(broken, SMALL, samples=250)
    assert not found.lossless
    assert "IndexError: row 7" in str(found)


def test_outputs_off_the_drafted_paths_are_found() -> None:
    def off(paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
        """Distributed as the target, but not accepted from any path."""
        if not (np.isfinite(target).all() and np.isfinite(draft).all()):
            raise ValueError("NaN")
        first = draw(target[0, 0], generator.random())
        return [first, draw(target[0, 0], generator.random())]

    trial = TrialInstance("one law", random_instance("iid", 3, 2, seed=3), 1)
    found = audit_sampler(off, [trial])
    assert {fault.property for fault in found.faults} == {"prefix-matching"}
    assert "begin one of the paths" in found.faults[0].message


def test_the_report_tells_what_failed_where_and_why() -> None:
    found = audit_sampler(random_coins(single(residual=lambda p, q, t: p), 7), SMALL)
    text, document = str(found), json.loads(json.dumps(found.to_json()))
    assert "FAULTY" in text
    assert "joint law" in text
    assert document["passed"] is False
    assert document["faults"][0]["instance"] in {trial.name for trial in SMALL}
    worst = next(t for t in document["trials"] if t["instance"] == document["faults"][0]["instance"])
    assert len(worst["observed_law"]) == len(worst["expected_law"]) == 3
    assert worst["log10_evidence"] == "inf" or worst["log10_evidence"] > worst["log10_threshold"]


def test_the_threshold_shares_the_rate_between_instances_and_properties() -> None:
    found = audit_sampler(TOKEN, SMALL, samples=250, false_alarm=1e-3)
    assert found.trials[0].log10_threshold == pytest.approx(math.log10(3 * len(SMALL) / 1e-3))


def test_flat_chains_as_in_serving_engines() -> None:
    def verify(chain: Any, generator: Any) -> Any:
        if not all(np.isfinite(part).all() for part in chain):
            raise ValueError("NaN")
        out, start = [], 0
        for b, length in enumerate(chain.lengths.tolist()):
            emitted = []
            for i in range(start, start + length):
                t = int(chain.draft_tokens[i])
                if generator.random() >= chain.target_rows[i, t] / chain.draft_rows[i, t]:
                    emitted.append(draw(chain.recovered_rows[i], generator.random()))
                    break
                emitted.append(t)
            else:
                emitted.append(draw(chain.bonus_rows[b], generator.random()))
            out.append(emitted + [-1] * (length + 1 - len(emitted)))
            start += length
        return np.array(out)

    one_path = [TrialInstance(trial.name, trial.instance, 1) for trial in SMALL]
    assert audit_sampler(flat_chain(verify), one_path, batch=16, samples=1000).passed
    for trials, batch in ((SMALL, 16), (one_path, None)):
        with pytest.raises(ValueError, match=r"expected \(B, 1, L\)"):
            audit_sampler(flat_chain(verify), trials, batch=batch, samples=250)
    with pytest.raises(ValueError, match="expected batch=None"):
        audit_sampler(token_tree(verify), SMALL, batch=4, samples=250)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_trees_with_parent_indices(library: str) -> None:
    def verify(tree: Any, generator: Any) -> list[int]:
        """Emit a draw from the target and go down while the tree has it."""
        parents, tokens = tree.parents.tolist(), tree.tokens.tolist()
        assert set(tree.leaves.tolist()) <= set(range(len(tree.draft_rows), len(tokens)))
        if not all(bool((part == part).all()) for part in (tree.target_rows, tree.draft_rows)):
            raise ValueError("NaN")
        node: int | None = 0
        emitted = []
        while node is not None:
            row = np.asarray(tree.target_rows[node])
            coin = generator.random() if library == "numpy" else float(torch.rand(1, generator=generator))
            emitted.append(draw(row, coin))
            below = [z for z, (above, y) in enumerate(zip(parents, tokens, strict=True))
                     if above == node and y == emitted[-1]]  # fmt: skip
            node = below[0] if below else None
        return emitted

    assert audit_sampler(token_tree(verify), SMALL, samples=500, library=library).passed


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": 10}, "samples: got 10"),
        ({"false_alarm": 0.0}, "false_alarm: got 0.0"),
        ({"batch": 0}, "batch: got 0"),
        ({"library": "jax"}, "library: got 'jax'"),
        ({"dtype": "bfloat16"}, "dtype: got 'bfloat16'"),
        ({"instances": []}, r"instances: got \[\]"),
        ({"seed": -1}, "seed: got -1"),
        ({"seed": 1.5}, "seed: got 1.5"),
        ({"samples": "many"}, "samples: got 'many'"),
        ({"batch": 2.0}, "batch: got 2.0"),
        ({"false_alarm": "a"}, "false_alarm: got 'a'"),
        ({"library": "torch", "device": "gpu"}, "device: got 'gpu'"),
        ({"instances": [MOTIVATING.instance]}, "expected one or more TrialInstance"),
        ({"drafter": lambda instance, paths, rng: None}, "drafter: got None"),
        (
            {
                "drafter": lambda instance, paths, rng: (
                    np.zeros((2, 2), dtype=int),
                    np.full((2, 2, 3), np.nan),
                )
            },
            "is no law",
        ),
        ({"drafter": lambda instance, paths, rng: ([[0]], [[[1.0]]])}, "drafter: got paths of shape"),
    ],
)
def test_unusable_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        audit_sampler(TOKEN, **{"instances": SMALL, "samples": 250, **options})


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ValueError, match="sampler: got None"):
        audit_sampler(None, SMALL)  # type: ignore[arg-type]


def test_instances_that_cannot_be_tested_are_refused() -> None:
    wide = random_instance("iid", 1001, 1, seed=1)
    with pytest.raises(ValueError, match="too many strings"):
        audit_sampler(TOKEN, [TrialInstance("wide", wide, 1)])
    holed = random_instance("flat", 3, 2, seed=8, zeros=0.3).prune()
    with pytest.raises(ValueError, match="its tree is sparse"):
        audit_sampler(TOKEN, [TrialInstance("sparse", holed, 1)])


def test_the_optimum_is_only_compared_for_the_instance_s_own_draft() -> None:
    def certain(instance: Any, paths: int, rng: Any) -> Any:
        rows = np.zeros((paths, instance.depth, instance.vocab))
        rows[..., 0] = 1.0
        return np.zeros((paths, instance.depth), dtype=int), rows

    found = audit_sampler(TOKEN, [MOTIVATING], samples=1000, drafter=certain)
    assert found.passed
    assert found.trials[0].optimum is None
