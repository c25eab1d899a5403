"""`nodebudget distill`: train a draft of a few of the target's layers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .answers import print_json, quiet_stdout
from .options import Device, Json, decimal, integer

EXAMPLE = "nodebudget distill --target smollm2 --layers 0-2,29 --tokens 65536"


def distill(
    target: Annotated[
        str, typer.Option(metavar="T", help="smollm2, a local folder, a .gguf file or a name of the hub.")
    ] = "smollm2",
    layers: Annotated[
        str, typer.Option(metavar="LAYERS", help="The target's layers that the student starts from.")
    ] = "0-2,29",
    prompts: Annotated[
        str, typer.Option(metavar="SPEC", help="human-eval, gsm8k, math500 or a .jsonl file.")
    ] = "human-eval",
    held_out: Annotated[
        int,
        typer.Option(
            metavar="N", parser=integer, help="The first N prompts are for measuring the overlap only."
        ),
    ] = 32,
    new_tokens: Annotated[
        int, typer.Option(metavar="N", parser=integer, help="Tokens that continue each prompt.")
    ] = 256,
    batch: Annotated[int, typer.Option(metavar="N", parser=integer, help="Prompts continued together.")] = 32,
    tokens: Annotated[
        int, typer.Option(metavar="N", parser=integer, help="Tokens of the target's own text, at least.")
    ] = 65536,
    epochs: Annotated[
        int, typer.Option(metavar="N", parser=integer, help="Times that the text is trained on.")
    ] = 4,
    learning_rate: Annotated[
        float, typer.Option(metavar="R", parser=decimal, help="The largest of its schedule.")
    ] = 1e-3,
    seed: Annotated[
        int, typer.Option(metavar="N", parser=integer, help="Of the text, its order and the tokens drawn.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The student's folder; for smollm2 the place where the pair smollm2/student looks for it.",
            show_default=False,
        ),
    ] = None,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Train a draft of a few of the target's layers.

    It learns from the target's own text, which is sampled once and kept. A run that was interrupted goes on where
    it stopped when it is given again. Exit code 2 for input that cannot be used.
    """
    from ..arguments import require_llm

    require_llm("distill")
    from nodebudget.verifiers.decoding.distillation import TrainingSettings
    from nodebudget.verifiers.decoding.layers import parse_spans
    from nodebudget.verifiers.decoding.self_samples import SampleSettings

    from ..pairs.distill import DistillConfig, print_distill, run_distill, student_folder

    config = DistillConfig(
        text=SampleSettings(target, prompts, held_out, new_tokens, batch, seed),
        tokens=tokens,
        training=TrainingSettings(parse_spans(layers), epochs, learning_rate=learning_rate, seed=seed),
        out=student_folder(target, out),
    )
    with quiet_stdout():
        report = run_distill(config, device=device)
    if as_json:
        print_json(report)
    else:
        print_distill(report)
