"""`nodebudget audit-sampler`: judge a sampler that is only seen from outside, on the default instances."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from .answers import print_json, quiet_stdout
from .options import DraftingSpec, Json, decimal, integer, what_is_drafted

if TYPE_CHECKING:
    from nodebudget.lp.drafting import Drafting
    from nodebudget.verifiers.audit import SamplerAudit

EXAMPLE = "nodebudget audit-sampler my_engine:sample --paths 2"


def audit_sampler(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Your sampler as module:function, or a verifier of this package by its name.",
            show_default=False,
        ),
    ],
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="B",
            parser=integer,
            help="Requests per call, for a sampler of batches.",
            show_default=False,
        ),
    ] = None,
    paths: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            parser=integer,
            help="Drafted paths; each instance's own when left out.",
            show_default=False,
        ),
    ] = None,
    drafting: DraftingSpec = None,
    torch: Annotated[bool, typer.Option("--torch", help="Torch tensors instead of numpy arrays.")] = False,
    samples: Annotated[
        int, typer.Option(metavar="N", parser=integer, help="Most requests per instance.")
    ] = 20_000,
    false_alarm: Annotated[
        float,
        typer.Option(
            metavar="RATE", parser=decimal, help="Probability of calling a lossless sampler faulty, at most."
        ),
    ] = 1e-6,
    seed: Annotated[int, typer.Option(metavar="S", parser=integer, help="Of all randomness.")] = 0,
    as_json: Json = False,
) -> None:
    """Judge a sampler from outside: is its output the target's?

    The sampler is called as function(paths, target_rows, draft_rows, generator) on small built-in instances, or as
    function(tree, generator) with --drafting, and returns the emitted tokens; docs/auditing.md describes it. Exit code
    0 if it passes, 1 if it is faulty, 2 for input that cannot be used.
    """
    drafted = None if paths is None and drafting is None else what_is_drafted(paths, drafting)
    with quiet_stdout():
        found = run_audit_sampler(
            name,
            batch=batch,
            drafting=drafted,
            torch=torch,
            samples=samples,
            false_alarm=false_alarm,
            seed=seed,
        )
    if as_json:
        print_json(found.to_json())
    else:
        sys.stdout.write(f"{found}\n")
    if not found.passed:
        raise typer.Exit(1)


def run_audit_sampler(
    name: str,
    *,
    batch: int | None,
    drafting: Drafting | None,
    torch: bool,
    samples: int,
    false_alarm: float,
    seed: int,
) -> SamplerAudit:
    """Audit a user's sampler (module:function) or a verifier of the registry; ValueError for anything unusable."""
    from nodebudget.verifiers import get_verifier
    from nodebudget.verifiers.audit import as_sampler, default_instances
    from nodebudget.verifiers.audit import audit_sampler as audit
    from nodebudget.verifiers.registry import LIFT, load_function

    from ..arguments import require_llm

    if torch:
        require_llm("audit-sampler --torch", "torch")
    own = ":" in name and not name.startswith(LIFT)
    if not own and batch is not None:
        raise ValueError(f"--batch: {name} takes one request a call; leave the option out")
    sampler = load_function("sampler", name) if own else as_sampler(get_verifier(name))
    return audit(
        sampler,
        default_instances(drafting),
        samples=samples,
        false_alarm=false_alarm,
        seed=seed,
        batch=batch,
        library="torch" if torch else "numpy",
        name=name,
    )
