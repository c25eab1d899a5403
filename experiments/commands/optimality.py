"""`nodebudget optimality`: verifiers against OPT_K on real contexts of a model pair."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .answers import check_writable, interruptible, print_json
from .options import (
    Backend,
    Continued,
    Device,
    Draft,
    Dtype,
    Json,
    Length,
    Pair,
    PromptsIfAny,
    Scheduler,
    Target,
    Temperature,
    TopK,
    TopP,
    Workers,
    integer,
)

EXAMPLE = """nodebudget optimality --pair smollm2/without-10-13 --prompts human-eval \\
    --paths 1,2,4 --length 3 --top-k 8"""


def optimality(
    length: Length,
    prompts: PromptsIfAny = None,
    kept: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Contexts of `nodebudget contexts`, instead of a pair and prompts.",
            show_default=False,
        ),
    ] = None,
    paths: Annotated[
        str | None,
        typer.Option(
            metavar="KS", help="Numbers of i.i.d. drafted paths, such as 1,2,4.", show_default=False
        ),
    ] = None,
    drafting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            help="What is drafted, instead of --paths, as for bound (but no tree:FILE); can be given several times. "
            "Also best-draft:N and best-target:N, the N likeliest nodes.",
            show_default=False,
        ),
    ] = None,
    pair: Pair = None,
    target: Target = None,
    draft: Draft = None,
    contexts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=integer,
            help="One after each of the first N prompts [default: 32, or all that were kept].",
            show_default=False,
        ),
    ] = None,
    continued: Continued = 32,
    temperature: Temperature = 1.0,
    top_k: TopK = None,
    top_p: TopP = None,
    nodes: Annotated[
        int,
        typer.Option(metavar="N", parser=integer, help="Most nodes of a tree; a larger one is made shorter."),
    ] = 2000,
    verifier_names: Annotated[
        str | None,
        typer.Option(
            "--verifiers",
            metavar="NAMES",
            help="As for audit, separated by commas; all when left out.",
            show_default=False,
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=integer,
            help="Random drafts where one pass over the tree is not enough.",
        ),
    ] = 500,
    seed: Annotated[
        int,
        typer.Option(metavar="S", parser=integer, help="Of the continuations and the random drafts."),
    ] = 0,
    dtype: Dtype = "auto",
    device: Device = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the rows there as Parquet; what an interrupted run has done is kept beside it.",
            show_default=False,
        ),
    ] = None,
    workers: Workers = 1,
    backend: Backend = "local",
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Measure verifiers against OPT_K on contexts of a model pair.

    After each context all tokens with mass under both models are expanded to a prefix tree, on which OPT_K is
    solved and verifiers are evaluated; with a --drafting that is not i.i.d. paths those that are defined for it.
    Choose --top-k or --top-p: without them every token has mass.

    With --kept the contexts are those of `nodebudget contexts`, the models are not needed, and --workers and
    --backend spread them over processes.

    With --out, Ctrl-C or a kill loses the context in flight; the same command goes on, and reads a finished file.
    """
    from ..contexts import read_contexts
    from ..optimality import OptimalityConfig, run_optimality
    from ..optimality.config import parse_numbers
    from ..optimality.report import optimality_report, print_optimality

    if not paths and not drafting:
        raise ValueError("missing option '--paths' or '--drafting': what is drafted, such as --paths 1,2,4")
    named = {} if verifier_names is None else {"verifiers": tuple(verifier_names.split(","))}
    what: dict[str, Any] = {
        "paths": () if paths is None else parse_numbers("--paths", paths),
        "drafting": tuple(drafting or ()),
        "length": length,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "samples": samples,
        "seed": seed,
        **named,
    }
    if kept is None:
        if prompts is None:
            raise ValueError(
                "missing option '--prompts' or '--kept': after what, such as --prompts human-eval"
            )
        found = None
        config = OptimalityConfig(
            prompts=prompts,
            pair=pair,
            target=target,
            draft=draft,
            contexts=32 if contexts is None else contexts,
            continued=continued,
            nodes=nodes,
            dtype=dtype,
            device=device,
            **what,
        )
    else:
        if prompts or pair or target or draft:
            raise ValueError(
                "--kept has the rows of a pair after prompts; expected neither of them beside it"
            )
        found = read_contexts(kept)
        config = OptimalityConfig.of_kept(
            found, **what, contexts=len(found) if contexts is None else contexts
        )
    if out is not None:
        check_writable(out, "--out")
    with interruptible(kept=out is not None):
        result = run_optimality(config, out, kept=found, workers=workers, where=backend, scheduler=scheduler)
    if as_json:
        print_json(optimality_report(result))
    else:
        print_optimality(result)
