"""`nodebudget figures`: the figures, drawn from stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .answers import print_json
from .options import Json

EXAMPLE = "nodebudget figures similarity --results my_results --out figures"


def figures(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Figures by name; all of them when left out.", show_default=False
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the files go.")] = Path("figures"),
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Result files to draw from [default: those that come with nodebudget].",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Say what each figure shows and needs; draw nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Draw the figures from stored results.

    Each is written as PDF and PNG, with the same bytes every time. Nothing heavy is computed. A figure draws what
    its file in DIR has; --list says for each figure which file that is, which columns and values it needs, and
    which command makes it. Exit code 2 for an unknown name, and for a file that is missing or has something else.
    """
    import matplotlib as mpl
    from nodebudget.paper_figures import RESULTS, describe_figures, draw_figures

    mpl.use("agg")  # needs no display
    if listed:
        described = describe_figures(names or [], results or Path("DIR"))
        if as_json:
            print_json({"figures": [each.to_json() for each in described]})
        else:
            typer.echo("\n\n".join(each.text() for each in described))
        return
    if results is not None and not results.is_dir():
        raise ValueError(
            f"--results: there is no folder {results}; expected one with result files, as --list says"
        )
    files = []
    for file in draw_figures(names or [], out, results or RESULTS):
        files.append(str(file))
        if not as_json:
            typer.echo(file)
    if as_json:
        print_json({"files": files})
