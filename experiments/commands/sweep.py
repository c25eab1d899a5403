"""`nodebudget sweep`: verifiers against OPT_K on many random instances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .answers import interruptible, print_json
from .options import Backend, Json, Scheduler, Workers

EXAMPLE = "nodebudget sweep families.toml --out families.parquet --workers 4"


def sweep(
    config: Annotated[
        Path,
        typer.Argument(metavar="CONFIG", help="A TOML file; its keys are below.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The table, a name ending in .parquet [default: the name of CONFIG, in this folder].",
            show_default=False,
        ),
    ] = None,
    workers: Workers = 1,
    backend: Backend = "local",
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Compare verifiers with OPT_K on random instances.

    Writes a Parquet table with one row for each instance, number of paths K or draft, and verifier: accepted
    tokens, OPT_K, their ratio, and how the value was found. Ctrl-C or a kill loses the chunks in flight; the same
    command goes on. A finished sweep is left as it is. The bytes of the table do not depend on interruptions,
    workers or backend.

    Keys of CONFIG:

    \b
      families = ["flat"]     flat, identical, iid, markov: exact; logits: float
      vocab = [2, 3]          vocabulary sizes V
      depth = [2]             draft lengths L
      paths = [1, 2]          numbers K of drafted paths
      drafting = ["iid:2"]    instead of paths: as --drafting of bound, or
                              best-draft:N, best-target:N (likeliest nodes)
      seeds = 100             seeds 0 .. 99, or a list of seeds
      similarity = [0.9]      logits: 0 (unrelated) to 1 (equal models)
      concentration = [1.0]   logits: 1 is mild, 15 nearly one-hot
      zeros = [0.0]           the others: chance that a token has no mass
      verifiers = ["bv"]      names, or module:function; all when left out
      method = "float"        or "exact": certified optima, and rationals
      enumerate_up_to = 1000  drafted tuples to go through, where needed
      samples = 1000          random drafted tuples above that
      chunk = 25              instances per task

    The first three, paths or drafting, and seeds are needed; the others show their defaults. The instances are all
    combinations, and each of them is drawn again from its seed by nodebudget.lp.random_instance. With a drafting that
    is not iid:K only verifiers that are defined for it have rows, such as nss. Exit code 2 for input that cannot be
    used, 130 when interrupted.
    """
    from ..sweep import load_config, run_sweep
    from ..sweep.report import print_sweep, sweep_report

    file = Path(f"{config.stem}.parquet") if out is None else out
    settings = load_config(config)
    with interruptible(kept=True):
        done = run_sweep(settings, file, workers=workers, where=backend, scheduler=scheduler)
    if as_json:
        print_json(sweep_report(done))
    else:
        print_sweep(done)
