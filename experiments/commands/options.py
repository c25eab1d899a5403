"""The options that several commands share, each defined once, and how the numbers of all of them are read.

This module and those of the commands import nothing heavy, so that `nodebudget --help` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import arguments

if TYPE_CHECKING:
    from nodebudget.lp.drafting import Drafting


def integer(text: str | int) -> int:
    """`arguments.integer`, its error one of the option."""
    try:
        return arguments.integer(str(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def decimal(text: str | float) -> float:
    """`arguments.decimal`, its error one of the option."""
    try:
        return arguments.decimal(str(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def decimals(option: str, text: str) -> tuple[float, ...]:
    """Numbers separated by commas; ValueError names the option."""
    try:
        return tuple(arguments.decimal(part.strip()) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]

InstanceFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="An instance as JSON: see docs/reference/file-formats.md.", show_default=False
    ),
]
Paths = Annotated[
    int,
    typer.Option(
        "--paths",
        metavar="K",
        parser=integer,
        help="Number of i.i.d. drafted paths, at least 1.",
        show_default=False,
    ),
]
PathsOrDrafting = Annotated[
    int | None,
    typer.Option(
        "--paths",
        metavar="K",
        parser=integer,
        help="Number of i.i.d. drafted paths, at least 1; the same as --drafting iid:K.",
        show_default=False,
    ),
]
DraftingSpec = Annotated[
    str | None,
    typer.Option(
        "--drafting",
        metavar="SPEC",
        help=(
            "What is drafted, instead of --paths. iid:4, four independent paths. Trees, for tree attention: "
            "with:3,2,1 draws 3 tokens after the context, 2 after each of these, 1 after each of those, from the "
            "draft's law with replacement (equal ones are copies with subtrees of their own); without:3,2,1 the same "
            "without replacement; top:3,2,1 takes the likeliest; top-sample:3,2,1 the 2 likeliest and one draw from "
            "the rest, and so on. delayed:2,4, one path of 2 tokens, then 4 continuations. tree:FILE, a fixed tree: "
            'a JSON list of token strings, ["0", "1", "0,2"].'
        ),
        show_default=False,
    ),
]
Length = Annotated[
    int,
    typer.Option(metavar="L", parser=integer, help="Tokens of each path, at least 1.", show_default=False),
]
_PROMPTS = typer.Option(
    metavar="SPEC",
    help="human-eval, gsm8k, math500, or a file .jsonl, .jsonl.gz or .parquet with a field prompt.",
    show_default=False,
)
Prompts = Annotated[str, _PROMPTS]
PromptsIfAny = Annotated[str | None, _PROMPTS]
Continued = Annotated[
    int,
    typer.Option(
        metavar="N",
        parser=integer,
        help="Up to N tokens of the target's own (a random number) follow the prompt.",
    ),
]
Pair = Annotated[
    str | None,
    typer.Option(metavar="PAIR", help="A pair by name, such as smollm2/without-10-13.", show_default=False),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Instead of --pair: a folder, a .gguf file or a repository of the hub.",
        show_default=False,
    ),
]
Draft = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="With --target: likewise, or layers of the target (first:27, without:10-13).",
        show_default=False,
    ),
]
Temperature = Annotated[float, typer.Option(metavar="T", parser=decimal, help="Of both models; 0 is greedy.")]
TopK = Annotated[
    int | None,
    typer.Option(metavar="N", parser=integer, help="Keep the N most likely tokens.", show_default=False),
]
TopP = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        parser=decimal,
        help="Keep the most likely tokens with this much mass.",
        show_default=False,
    ),
]
Dtype = Annotated[str, typer.Option(metavar="TYPE", help="Of the weights: auto, float32, bfloat16, ...")]
Device = Annotated[
    str | None, typer.Option(metavar="D", help="cpu, cuda, ...; a GPU if there is one.", show_default=False)
]

Workers = Annotated[int, typer.Option(metavar="N", parser=integer, help="Processes that compute.")]
Backend = Annotated[str, typer.Option(metavar="B", help="local (processes of this machine), dask or ray.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A running Dask or Ray cluster; without it one is started on this machine.",
        show_default=False,
    ),
]


def what_is_drafted(paths: int | None, spec: str | None) -> Drafting:
    """The drafting of a command; ValueError unless exactly one of the two options is given."""
    from nodebudget.lp.drafting import IidPaths
    from nodebudget.lp.drafting.specs import parse_drafting

    if paths is not None and spec is not None:
        raise ValueError(
            "--paths and --drafting both say what is drafted; give one of them (--paths K is --drafting iid:K)"
        )
    if spec is not None:
        return parse_drafting(spec)
    if paths is None:
        raise ValueError("missing option '--paths' or '--drafting': what is drafted, such as --paths 2")
    return IidPaths(paths)
