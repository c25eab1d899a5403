"""`nodebudget decode`: verifiers on a real pair of models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .answers import print_json, quiet_stdout
from .options import (
    Device,
    Draft,
    Dtype,
    Json,
    Pair,
    PathsOrDrafting,
    Prompts,
    Target,
    Temperature,
    TopK,
    TopP,
    integer,
)

EXAMPLE = """nodebudget decode --pair smollm2/without-10-13 --compare token,bv,traversal,gbv \\
    --paths 3 --length 6 --prompts human-eval --count 4"""


def decode(
    prompts: Prompts,
    paths: PathsOrDrafting = None,
    drafting: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="A tree instead of --paths: with:2,1, without:2,1, top:2,1, top-sample:2,1 (a number for each "
            "length), or with --length delayed:1,4, best-draft:8 (the draft's likeliest strings, so many nodes) or "
            "lookup:2 (what followed the last tokens before, without any draft).",
            show_default=False,
        ),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            metavar="L",
            parser=integer,
            help="Tokens of each path, at least 1; not needed where SPEC has a number for each length.",
            show_default=False,
        ),
    ] = None,
    verifier: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="As for audit, module:function included.", show_default=False),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Several verifiers on the same prompts and seeds: token,bv,gbv.",
            show_default=False,
        ),
    ] = None,
    pair: Pair = None,
    target: Target = None,
    draft: Draft = None,
    count: Annotated[
        int | None,
        typer.Option(metavar="N", parser=integer, help="The first N prompts only.", show_default=False),
    ] = None,
    max_new_tokens: Annotated[int, typer.Option(metavar="N", parser=integer, help="For each prompt.")] = 64,
    temperature: Temperature = 1.0,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="S", parser=integer, help="Each prompt has its own stream, whatever the verifier."
        ),
    ] = 0,
    dtype: Dtype = "auto",
    device: Device = None,
    device_map: Annotated[
        str | None,
        typer.Option(
            metavar="MAP",
            help="As in transformers (auto), for models larger than one GPU.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        bool, typer.Option(help="Decode plainly with the target, too, to compare the speed.")
    ] = True,
    text: Annotated[bool, typer.Option("--text", help="Show what was generated.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write prompts.parquet and blocks.parquet there.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run verifiers on a real pair of models.

    Shows accepted tokens, speed, and where the time goes. A verifier that fails is named and left out; what the
    others did is shown and saved. Exit code 2 if one failed, and for input that cannot be used.
    """
    from ..pairs.decode import DecodeConfig, check_out, decode_report, run_decode, save_decode

    if (verifier is None) == (compare is None):
        raise ValueError("name one verifier with --verifier, or several with --compare")
    config = DecodeConfig(
        verifiers=(verifier,) if verifier is not None else tuple((compare or "").split(",")),
        paths=paths,
        length=length,
        prompts=prompts,
        pair=pair,
        target=target,
        draft=draft,
        count=count,
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        dtype=dtype,
        device=device,
        device_map=device_map,
        baseline=baseline,
        drafting=drafting,
    )
    if out is not None:
        check_out(out)
    with quiet_stdout():
        result = run_decode(config)
    if out is not None:
        save_decode(result, out)
    if as_json:
        print_json(decode_report(result, text=text))
    else:
        from ..pairs.decode_tables import print_decode

        print_decode(result, text=text)
    if result.failed:
        raise ValueError(result.failures())
