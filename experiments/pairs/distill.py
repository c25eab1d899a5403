"""`nodebudget distill`: train a draft of a few of the target's layers on the target's own text."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from nodebudget.lp.instances.instance_json import write_json
from nodebudget.verifiers.decoding.checkpoints import SMOLLM2, SMOLLM2_STUDENT, load_checkpoint
from nodebudget.verifiers.decoding.distillation import Training, TrainingSettings
from nodebudget.verifiers.decoding.files import cache_folder, whole_folder
from nodebudget.verifiers.decoding.forward_time import forward_seconds
from nodebudget.verifiers.decoding.layers import keep_layers
from nodebudget.verifiers.decoding.models import parse_device
from nodebudget.verifiers.decoding.overlap import mean_overlap
from nodebudget.verifiers.decoding.prompts import load_prompts
from nodebudget.verifiers.decoding.self_samples import Samples, SampleSettings, SampleStore

REPORT = "distillation.json"


@dataclass(frozen=True)
class DistillConfig:
    """A distillation: the text, the number of tokens of it, the training, and the folder of the student."""

    text: SampleSettings
    tokens: int
    training: TrainingSettings
    out: Path

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError(f"tokens must be at least 1; got {self.tokens}")

    def settings(self) -> dict[str, Any]:
        """All that decides what the student is, as JSON."""
        made: dict[str, Any] = json.loads(
            json.dumps({"text": asdict(self.text), "tokens": self.tokens, "training": asdict(self.training)})
        )
        return made


def student_folder(target: str, out: Path | None) -> Path:
    """Where the student goes: `out`, or the place in which the preset `smollm2/student` looks for it."""
    if out is not None:
        return out.expanduser()
    if target != SMOLLM2:
        raise ValueError(f"--out: name a folder for the student of {target}")
    return cache_folder() / SMOLLM2_STUDENT


def run_distill(config: DistillConfig, *, device: str | None = None) -> dict[str, Any]:
    """Train the student, or go on where an interrupted run stopped, and write it as a folder of transformers.

    A finished run with the same settings is reported again.

    Raises:
        ValueError: for unusable settings, and for a folder that holds anything else.
    """
    done = _finished(config)
    if done is not None:
        return done
    place = parse_device(device)
    prompts = load_prompts(config.text.prompts)
    work = config.out.with_name(f"{config.out.name}-unfinished")
    work.mkdir(parents=True, exist_ok=True)
    target, tokenizer = load_checkpoint(config.text.target, dtype=torch.float32, device=place)
    if tokenizer is None:
        raise ValueError(
            f"{config.text.target}: no tokenizer, without which there are no prompts to continue"
        )
    before = keep_layers(target, config.training.layers)
    store = SampleStore(config.text, target, tokenizer, prompts)
    held_out = store.held_out()
    texts: list[Samples] = []
    while sum(map(len, texts)) < config.tokens:
        texts.append(store.training(len(texts)))
        _say(f"{sum(map(len, texts))} of {config.tokens} tokens of the target's own text")
    training = Training(target, texts, config.training, work)
    if training.step:
        _say(f"going on at step {training.step} of {training.steps}")
    overlap_before = mean_overlap(target, before, held_out)
    _say(f"overlap on held-out prompts before training {overlap_before:.4f}")
    training.run()
    student = training.student.eval()
    target_seconds, student_seconds = forward_seconds([(target, 1), (student, 1)])
    report = {
        **config.settings(),
        "student": str(config.out),
        "trained_tokens": sum(map(len, texts)) * config.training.epochs,
        "held_out_tokens": len(held_out),
        "overlap_before": overlap_before,
        "overlap_after": mean_overlap(target, student, held_out),
        "relative_forward_time": student_seconds / target_seconds,
    }
    _write_student(config.out, student, tokenizer, report)
    shutil.rmtree(work)
    return report


def print_distill(report: dict[str, Any]) -> None:
    """The report as text for people."""
    training, text = report["training"], report["text"]
    layers = ", ".join(map(str, training["layers"]))
    sys.stdout.write(
        f"student of {text['target']} from its layers {layers}\n"
        f"trained on              {report['trained_tokens']} tokens, {training['epochs']} epochs\n"
        f"overlap sum min(p, q)   {report['overlap_before']:.4f} before, {report['overlap_after']:.4f} after, "
        f"on {report['held_out_tokens']} tokens after held-out prompts\n"
        f"time of a forward pass  {report['relative_forward_time']:.3f} of the target's\n"
        f"written to              {report['student']}\n"
    )


def _finished(config: DistillConfig) -> dict[str, Any] | None:
    """The report of a finished run with these settings; ValueError for a folder that is anything else."""
    if not config.out.exists():
        return None
    path = config.out / REPORT
    if not path.is_file():
        raise ValueError(f"{config.out} is there already, and is no finished student; give another --out")
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    settings = config.settings()
    differing = [name for name in settings if report.get(name) != settings[name]]
    if differing:
        raise ValueError(
            f"{config.out} holds a student of other settings ({', '.join(differing)}); delete it, or give "
            "another --out"
        )
    return report


def _write_student(out: Path, student: Any, tokenizer: Any, report: dict[str, Any]) -> None:
    with whole_folder(out) as unfinished:
        student.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        write_json(report, unfinished / REPORT)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
