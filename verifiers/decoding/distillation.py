"""Distillation: a draft of a few of the target's layers, trained on the target's own text."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm
from transformers import PreTrainedModel

from .files import whole_file
from .layers import keep_layers
from .self_samples import Samples, training_states


@dataclass(frozen=True)
class TrainingSettings:
    """How a student is trained.

    Attributes:
        layers: positions of the target's layers that the student starts from.
        epochs: times that every text is trained on.
        batch: texts in a step.
        learning_rate: the largest; it rises over the first `warmup` steps, and falls to nothing as a cosine.
        warmup: number of steps.
        frequent: so many tokens, those that the target gives most mass to, take part in every step's loss.
        others: so many of the remaining tokens do, too, drawn anew in each step.
        seed: of the order of the texts and of the tokens drawn.
    """

    layers: tuple[int, ...] = (0, 1, 2, 29)
    epochs: int = 4
    batch: int = 2
    learning_rate: float = 1e-3
    warmup: int = 20
    frequent: int = 4096
    others: int = 2048
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "frequent", "others"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"the learning rate must be a positive number; got {self.learning_rate}")
        if self.warmup < 0:
            raise ValueError(f"warmup must be at least 0; got {self.warmup}")

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0."""
        rising = min(1.0, (step + 1) / (self.warmup + 1))
        return self.learning_rate * rising * 0.5 * (1 + math.cos(math.pi * step / steps))


def forward_divergence(
    head: torch.nn.Linear,
    target_states: Tensor,
    normalisers: Tensor,
    states: Tensor,
    some: Tensor,
    weights: Tensor,
) -> Tensor:
    """The mean of KL(target law || draft law) over positions, estimated from some of the tokens.

    Each token of `some` stands for as many tokens as its weight says: 1 for those that are always there, and
    (those left) / (those drawn) for the ones drawn. Every sum over the vocabulary, the draft's normaliser
    included, becomes a weighted sum. With all tokens and weight 1 it is the divergence itself.

    Args:
        head: of both models.
        target_states, states: shape (positions, width).
        normalisers: shape (positions,), of the target's logits.
        some: token ids, shape (S,).
        weights: shape (S,).
    """
    rows = head.weight[some]
    shift = 0 if head.bias is None else head.bias[some]
    target_logs = target_states @ rows.T + shift - normalisers[:, None]
    logits = states @ rows.T + shift
    draft_logs = logits - (logits + weights.log()).logsumexp(-1, keepdim=True)
    return (weights * target_logs.exp() * (target_logs - draft_logs)).sum(-1).mean()


class Training:
    """The training of one student, which can be left and taken up again at any step.

    The state of a step is a function of the settings, the texts and the step alone, so that a training that was
    interrupted ends with the very weights of one that was not (on the same machine with as many threads).
    """

    def __init__(
        self, target: PreTrainedModel, samples: Sequence[Samples], settings: TrainingSettings, folder: Path
    ) -> None:
        """Start anew, or from the checkpoint in `folder`.

        Raises:
            ValueError: for layers that the target does not have, and for a checkpoint of other settings or
                texts.
        """
        self.settings = settings
        self.samples = samples
        self.head: Any = target.get_output_embeddings()
        self.student = keep_layers(target, settings.layers, share_layers=False).train()
        for parameter in self.student.parameters():
            parameter.requires_grad_(False)
        self.trained = _layer_parameters(target, self.student)
        for parameter in self.trained:
            parameter.requires_grad_(True)
        self.optimizer = torch.optim.AdamW(self.trained, betas=(0.9, 0.98), weight_decay=0.01)
        self.texts = [(shard, row) for shard, batch in enumerate(samples) for row in range(len(batch.tokens))]
        self.per_epoch = math.ceil(len(self.texts) / settings.batch)
        self.steps = settings.epochs * self.per_epoch
        self.step = 0
        self.losses: list[float] = []
        mass = torch.stack([batch.mass for batch in samples]).sum(0)
        order = mass.argsort(descending=True, stable=True)
        self.frequent, self.rare = order[: settings.frequent], order[settings.frequent :]
        self.path = folder / "training.pt"
        self.key = json.dumps(
            [asdict(settings), len(samples), [len(batch) for batch in samples], float(mass.max())]
        )
        if self.path.is_file():
            self._restore()

    def run(self, *, save_every: float = 60.0, until: int | None = None) -> None:
        """Train to the end, or to the step `until`; write a checkpoint every so many seconds, and at the end."""
        stop = self.steps if until is None else min(until, self.steps)
        saved = time.monotonic()
        bar = tqdm(total=self.steps, initial=self.step, desc="training the student", unit="step")
        with bar:
            while self.step < stop:
                loss = self._advance()
                bar.update()
                bar.set_postfix_str(f"divergence {loss:.3f}")
                if time.monotonic() - saved > save_every:
                    self.save()
                    saved = time.monotonic()
        self.save()

    def _advance(self) -> float:
        settings = self.settings
        epoch, place = divmod(self.step, self.per_epoch)
        order = torch.randperm(len(self.texts), generator=_generator(settings.seed, 0, epoch))
        chosen = [self.texts[int(text)] for text in order[place * settings.batch :][: settings.batch]]
        some, weights = self._tokens()
        device = self.head.weight.device
        count = sum(int(self.samples[shard].sampled[row].sum()) for shard, row in chosen)
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for shard, row in chosen:  # one text at a time: no padding, and gradients add up
            text = self.samples[shard].take([row]).to(device)
            places = text.sampled[0]
            states = training_states(self.student, text)[0][places]
            target_states = text.states[0][places].to(states.dtype)
            loss = forward_divergence(
                self.head,
                target_states,
                text.normalisers[0][places],
                states,
                some.to(device),
                weights.to(states),
            )
            loss = loss * (int(places.sum()) / count)
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = settings.rate(self.step, self.steps)
        self.optimizer.step()
        self.step += 1
        self.losses.append(total)
        return total

    def _tokens(self) -> tuple[Tensor, Tensor]:
        """The tokens of this step's loss, and how many each stands for."""
        drawn = torch.randperm(len(self.rare), generator=_generator(self.settings.seed, 1, self.step))
        others = self.rare[drawn[: self.settings.others]]
        weights = torch.ones(len(self.frequent) + len(others))
        weights[len(self.frequent) :] = len(self.rare) / max(len(others), 1)
        return torch.cat([self.frequent, others]), weights

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        state: dict[str, Any] = {
            "key": self.key,
            "step": self.step,
            "losses": self.losses,
            "weights": [parameter.detach() for parameter in self.trained],
            "optimizer": self.optimizer.state_dict(),
        }
        with whole_file(self.path) as unfinished, unfinished.open("wb") as file:
            torch.save(state, file)

    def _restore(self) -> None:
        try:
            state = torch.load(self.path, weights_only=True, map_location=self.head.weight.device)
            key = state["key"]
        except Exception as error:
            raise ValueError(
                f"{self.path}: not a checkpoint of a training; delete it to start anew"
            ) from error
        if key != self.key:
            raise ValueError(
                f"{self.path}: the checkpoint of a training with other settings or texts; give another folder, "
                "the settings it was started with, or delete it to start anew"
            )
        with torch.no_grad():
            for parameter, value in zip(self.trained, state["weights"], strict=True):
                parameter.copy_(value)
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.losses = state["step"], state["losses"]


def _layer_parameters(target: PreTrainedModel, student: PreTrainedModel) -> list[torch.nn.Parameter]:
    """The student's parameters that are not the very tensors of the target."""
    shared = {id(parameter) for parameter in target.parameters()}
    return [parameter for parameter in student.parameters() if id(parameter) not in shared]


def _generator(seed: int, use: int, number: int) -> torch.Generator:
    return torch.Generator().manual_seed((seed * 2 + use) * 1_000_003 + number)
