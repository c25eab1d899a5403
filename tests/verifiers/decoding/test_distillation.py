"""The target's own text, the divergence, and a training that may be interrupted anywhere."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from nodebudget.verifiers.decoding.distillation import Training, TrainingSettings, forward_divergence
from nodebudget.verifiers.decoding.forward_time import forward_seconds
from nodebudget.verifiers.decoding.layers import keep_layers
from nodebudget.verifiers.decoding.overlap import mean_overlap
from nodebudget.verifiers.decoding.prompts import Prompt
from nodebudget.verifiers.decoding.self_samples import (
    Samples,
    SampleSettings,
    SampleStore,
    sample_continuations,
)
from tiny_checkpoints import LETTERS, letter_tokenizer, tiny_gpt2, tiny_llama

TOKENS = len(LETTERS) + 2
END = TOKENS - 1
PROMPTS = [[3, 4, 5], [1, 2, 3, 4, 5, 6, 7], [9]]
SETTINGS = TrainingSettings((0, 3), epochs=3, learning_rate=3e-3, warmup=2, frequent=20, others=5)


def continuations(model: Any, *, seed: int = 0, new_tokens: int = 24, copies: int = 1) -> Samples:
    return sample_continuations(
        model,
        PROMPTS * copies,
        new_tokens=new_tokens,
        end=[END],
        vocab=TOKENS,
        generator=torch.Generator().manual_seed(seed),
    )


@pytest.mark.parametrize("model", [tiny_llama(TOKENS + 3), tiny_gpt2(TOKENS + 3)], ids=["llama", "gpt2"])
@torch.no_grad()
def test_what_is_kept_are_the_laws_sampled_from(model: Any) -> None:
    samples = continuations(model)
    head = model.get_output_embeddings()
    for row, prompt in enumerate(PROMPTS):
        text = samples.tokens[row][samples.attended[row]]
        assert text[: len(prompt)].tolist() == prompt
        assert len(text) == len(prompt) + 24
        assert int(text.max()) < TOKENS  # padding rows of the head are never sampled
        expected = model(text[None]).logits[0, len(prompt) - 1 : -1, :TOKENS].log_softmax(-1)
        kept = head(samples.states[row].float())[:, :TOKENS] - samples.normalisers[row][:, None]
        torch.testing.assert_close(kept, expected, rtol=0, atol=0.05)  # states are kept in half precision
        torch.testing.assert_close(kept.exp().sum(-1), torch.ones(24), rtol=0, atol=1e-5)
    laws = head(samples.states.float())[..., :TOKENS].softmax(-1)
    torch.testing.assert_close(samples.mass, laws[samples.sampled].sum(0), rtol=0, atol=1e-4)


def test_sampled_tokens_follow_the_law() -> None:
    model = tiny_llama(TOKENS)
    first = continuations(model, new_tokens=1, copies=2000)
    tokens = first.tokens[first.tokens[:, -2] == 9][:, -1]  # after the prompt [9]
    with torch.no_grad():
        law = model(torch.tensor([[9]])).logits[0, -1].softmax(-1).double()
    expected = law * len(tokens)
    seen = torch.bincount(tokens, minlength=TOKENS)
    statistic = float(((seen - expected) ** 2 / expected)[expected > 5].sum())
    cells = int((expected > 5).sum())
    assert cells >= 5
    assert statistic < cells + 6 * math.sqrt(2 * cells)  # six standard deviations of chi squared


def test_the_end_of_a_text_ends_it() -> None:
    samples = continuations(tiny_llama(TOKENS), new_tokens=100, copies=5)
    new = samples.tokens[:, -100:]
    ended = 0
    for row, flags in zip(new.tolist(), samples.sampled.tolist(), strict=True):
        length = row.index(END) + 1 if END in row else 100
        assert flags == [True] * length + [False] * (100 - length)
        ended += length < 100
    assert ended > 0


def test_taking_rows_cuts_their_padding() -> None:
    samples = continuations(tiny_llama(TOKENS))
    one = samples.take([2])
    assert one.tokens.shape == (1, 1 + 24)
    assert bool(one.attended.all())
    assert torch.equal(one.states[0], samples.states[2])


def test_divergence_over_all_tokens_is_the_divergence() -> None:
    model = tiny_llama(TOKENS)
    head = model.get_output_embeddings()
    target, draft = torch.randn(2, 11, 32, generator=torch.Generator().manual_seed(3))
    every, ones = torch.arange(TOKENS), torch.ones(TOKENS)
    found = forward_divergence(head, target, head(target).logsumexp(-1), draft, every, ones)
    laws, logs = head(target).softmax(-1), head(draft).log_softmax(-1)
    expected = (laws * (laws.log() - logs)).sum(-1).mean()
    torch.testing.assert_close(found, expected)


@torch.no_grad()
def test_divergence_over_drawn_tokens_is_near_it() -> None:
    model = tiny_llama(4000, width=16)
    head = model.get_output_embeddings()
    generator = torch.Generator().manual_seed(3)
    target, draft = torch.randn(2, 5, 16, generator=generator)
    normalisers = head(target).logsumexp(-1)
    order = head(target).softmax(-1).sum(0).argsort(descending=True)
    exact = forward_divergence(head, target, normalisers, draft, order, torch.ones(4000))
    estimates = []
    for _ in range(50):
        drawn = order[500:][torch.randperm(3500, generator=generator)[:700]]
        weights = torch.cat([torch.ones(500), torch.full((700,), 5.0)])
        some = torch.cat([order[:500], drawn])
        estimates.append(forward_divergence(head, target, normalisers, draft, some, weights))
    assert abs(float(torch.stack(estimates).mean() / exact) - 1) < 0.02
    ignored = forward_divergence(head, target, normalisers, draft, some, torch.ones(1200))
    assert abs(float(ignored / exact) - 1) > 0.02  # the weights matter


def weights(training: Training) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in training.trained]


def test_interrupted_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    target = tiny_llama(TOKENS)
    texts = [continuations(target, seed=seed) for seed in range(2)]

    def start(name: str) -> Training:
        (tmp_path / name).mkdir(exist_ok=True)
        return Training(target, texts, SETTINGS, tmp_path / name)

    whole = start("whole")
    whole.run()
    assert whole.step == whole.steps == 9
    assert len(whole.losses) == 9
    start("parts").run(until=4)
    second = start("parts")
    assert second.step == 4
    second._advance()  # lost: the process ends before the next checkpoint
    third = start("parts")
    third.run()
    assert third.losses == whole.losses
    assert all(torch.equal(*pair) for pair in zip(weights(third), weights(whole), strict=True))
    # Control: a training that forgets its optimizer's state ends elsewhere.
    start("forgetful").run(until=4)
    forgetful = start("forgetful")
    forgetful.optimizer.state.clear()
    forgetful.run()
    assert not all(torch.equal(*pair) for pair in zip(weights(forgetful), weights(whole), strict=True))
    assert not list(tmp_path.rglob(".unfinished*"))


def test_checkpoints_of_anything_else_are_refused(tmp_path: Path) -> None:
    target = tiny_llama(TOKENS)
    texts = [continuations(target)]
    Training(target, texts, SETTINGS, tmp_path).run(until=1)
    with pytest.raises(ValueError, match="other settings or texts"):
        Training(target, texts, TrainingSettings((0, 3), epochs=9), tmp_path)
    with pytest.raises(ValueError, match="other settings or texts"):
        Training(target, [continuations(target, seed=5)], SETTINGS, tmp_path)
    (tmp_path / "training.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(ValueError, match="not a checkpoint of a training"):
        Training(target, texts, SETTINGS, tmp_path)


def test_training_raises_the_overlap_and_leaves_the_target_alone(tmp_path: Path) -> None:
    target = tiny_llama(TOKENS, width=48)
    before = {name: value.clone() for name, value in target.state_dict().items()}
    held_out = continuations(target, seed=99, copies=8)
    settings = TrainingSettings((0, 3), epochs=10, batch=8, learning_rate=1e-2, frequent=TOKENS)
    training = Training(target, [continuations(target, copies=16)], settings, tmp_path)
    untrained = mean_overlap(target, keep_layers(target, settings.layers), held_out)
    training.run()
    trained = mean_overlap(target, training.student, held_out)
    assert trained > untrained + 0.1
    assert mean_overlap(target, target, held_out) > 0.995
    assert all(torch.equal(value, before[name]) for name, value in target.state_dict().items())


@torch.no_grad()
def test_overlap_by_its_definition() -> None:
    target = tiny_llama(TOKENS)
    draft = keep_layers(target, [0, 1])
    samples = continuations(target)
    total = 0.0
    for row in range(3):
        text = samples.tokens[row][samples.attended[row]]
        laws = [model(text[None]).logits[0, -25:-1].softmax(-1) for model in (target, draft)]
        total += float(torch.minimum(*laws).sum(-1)[samples.sampled[row]].sum())
    assert mean_overlap(target, draft, samples) == pytest.approx(total / len(samples), abs=2e-3)


def test_text_is_sampled_once_and_held_out_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODEBUDGET_CACHE", str(tmp_path))
    model, tokenizer = tiny_llama(TOKENS), letter_tokenizer()
    prompts = [Prompt(str(number), letter * 4) for number, letter in enumerate("abcde")]
    settings = SampleSettings("tiny", "letters", held_out=2, new_tokens=5, batch=4)
    store = SampleStore(settings, model, tokenizer, prompts)
    held_out, batch = store.held_out(), store.training(0)
    assert held_out.tokens[:, 0].tolist() == [0, 1]
    assert batch.tokens[:, 0].tolist() == [2, 3, 4, 2]
    assert store.training(1).tokens[:, 0].tolist() == [3, 4, 2, 3]
    monkeypatch.setattr("nodebudget.verifiers.decoding.self_samples.sample_continuations", None)
    again = SampleStore(settings, model, tokenizer, prompts).training(0)
    assert all(torch.equal(value, getattr(batch, name)) for name, value in vars(again).items())
    (path,) = settings.folder().glob("held-out*")
    path.write_bytes(b"cut off")
    with pytest.raises(ValueError, match="not a file of samples"):
        store.held_out()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"held_out": 5}, "none is left to train on"),
        ({"held_out": 2, "new_tokens": 125}, "more than the target's context of 128"),
    ],
)
def test_text_that_cannot_be_sampled(changes: dict[str, int], message: str) -> None:
    prompts = [Prompt(letter, letter * 4) for letter in "abcde"]
    settings = SampleSettings("tiny", "letters", **changes)
    with pytest.raises(ValueError, match=message):
        SampleStore(settings, tiny_llama(TOKENS), letter_tokenizer(), prompts)


def test_targets_with_another_head_are_refused() -> None:
    from transformers import GraniteConfig, GraniteForCausalLM

    config = GraniteConfig(
        vocab_size=TOKENS,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        logits_scaling=8.0,
        initializer_range=1.0,
    )
    prompts = [Prompt(letter, letter * 4) for letter in "abcde"]
    with pytest.raises(ValueError, match="not its head applied to its last hidden state"):
        SampleStore(
            SampleSettings(held_out=1), GraniteForCausalLM(config).eval(), letter_tokenizer(), prompts
        )


def test_learning_rate_rises_and_falls() -> None:
    settings = TrainingSettings(learning_rate=1.0, warmup=9)
    rates = [settings.rate(step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[9] > 0.95
    assert rates[9:] == sorted(rates[9:], reverse=True)
    assert 0 < rates[-1] < 1e-3


@pytest.mark.parametrize(
    "changes",
    [{"epochs": 0}, {"batch": 0}, {"learning_rate": 0.0}, {"learning_rate": math.nan}, {"warmup": -1}],
)
def test_settings_out_of_range(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least|positive"):
        TrainingSettings(**changes)
    with pytest.raises(ValueError, match="at least 1"):
        SampleSettings(new_tokens=0)


def test_forward_seconds_of_each_model() -> None:
    models = [(tiny_llama(TOKENS), 2), (tiny_gpt2(TOKENS), 1)]
    for context in (8, 10_000):  # the latter is more than either has room for
        seconds = forward_seconds(models, context=context, repeats=3)
        assert len(seconds) == 2
        assert min(seconds) > 0
    with pytest.raises(ValueError, match="leave no room for others in the context of 128"):
        forward_seconds([(tiny_gpt2(TOKENS), 128)])
