"""The command `nodebudget`. Commands are thin: they read options, call one function, and print."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help=(
        "Exact linear programs for lossless speculative decoding: how many drafted tokens may a verifier "
        "accept, and how close does a given one come?"
    ),
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="An instance as JSON; the format is in the README.", show_default=False
    ),
]
Paths = Annotated[
    str,
    typer.Option(
        "--paths", metavar="K", help="Number of i.i.d. drafted paths, at least 1.", show_default=False
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
Temperature = Annotated[float, typer.Option(help="Of both models; 0 is greedy.")]
TopK = Annotated[
    int | None, typer.Option(metavar="N", help="Keep the N most likely tokens.", show_default=False)
]
TopP = Annotated[
    float | None,
    typer.Option(metavar="P", help="Keep the most likely tokens with this much mass.", show_default=False),
]
Dtype = Annotated[str, typer.Option(help="Of the weights: auto, float32, bfloat16, ...")]
Device = Annotated[
    str | None, typer.Option(help="cpu, cuda, ...; a GPU if there is one.", show_default=False)
]


@app.command()
def bound(
    file: FileArgument,
    paths: Paths,
    floats: Annotated[
        bool, typer.Option("--float", help="Solve in floats only; nothing is certified.")
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="M",
            help="cuts (separation oracle, any size) or enumerate (every antichain, up to a million).",
        ),
    ] = "cuts",
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Save the exact certificate as JSON.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute OPT_K, the most accepted tokens that any lossless verifier can expect with K drafted paths.

    The optimum is certified in rationals unless --float is given. Exit code 2 for input that cannot be used.
    """
    from .commands.bound import bound_report, check_writable, parse_paths, print_bound, run_bound

    count = parse_paths(paths)
    if certificate is not None:
        if floats:
            raise ValueError("--certificate: there is no certificate with --float; leave one of them out")
        check_writable(certificate, "--certificate")
    optimum, instance = run_bound(file, count, method=method, certify=not floats)
    if certificate is not None:
        if optimum.certificate is None:
            raise ValueError(f"--certificate: there is no certificate to save; {optimum.verdict}")
        optimum.certificate.save(certificate)
    if as_json:
        _print_json(bound_report(optimum, instance))
    else:
        print_bound(optimum, instance)


@app.command()
def audit(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="token, bv, gbv, nss, specinfer, spectr, traversal, mixed, or your own as module:function.",
            show_default=False,
        ),
    ],
    file: FileArgument,
    paths: Paths,
    as_json: Json = False,
) -> None:
    """Judge a verifier exactly: is it lossless on this instance, and how far is it from OPT_K?

    Goes through everything that can be drafted. Exit code 0 only if the verifier is lossless here, 1 if it is
    not, 2 for input that cannot be used.
    """
    from .commands.audit import audit_report, print_audit, run_audit
    from .commands.bound import parse_paths

    with contextlib.redirect_stdout(sys.stderr):  # what a user's function prints is not part of the answer
        found, instance = run_audit(name, file, parse_paths(paths))
    if as_json:
        _print_json(audit_report(found, instance))
    else:
        print_audit(found, instance)
    if not found.lossless:
        raise typer.Exit(1)


@app.command("audit-sampler")
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
        typer.Option(metavar="B", help="Requests per call, for a sampler of batches.", show_default=False),
    ] = None,
    paths: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="Drafted paths; each instance's own when left out.", show_default=False
        ),
    ] = None,
    torch: Annotated[bool, typer.Option("--torch", help="Torch tensors instead of numpy arrays.")] = False,
    samples: Annotated[int, typer.Option(metavar="N", help="Most requests per instance.")] = 20_000,
    false_alarm: Annotated[
        float, typer.Option(metavar="RATE", help="Probability of calling a lossless sampler faulty, at most.")
    ] = 1e-6,
    seed: Annotated[int, typer.Option(metavar="S", help="Of all randomness.")] = 0,
    as_json: Json = False,
) -> None:
    """Judge a sampler from outside: is what it emits distributed as the target's output?

    The sampler is called as function(paths, target_rows, draft_rows, generator) on small built-in instances and
    returns the emitted tokens; docs/auditing.md describes it. Exit code 0 if it passes, 1 if it is faulty, 2 for
    input that cannot be used.
    """
    from .commands.audit_sampler import run_audit_sampler

    with contextlib.redirect_stdout(sys.stderr):  # what a user's function prints is not part of the answer
        found = run_audit_sampler(
            name, batch=batch, paths=paths, torch=torch, samples=samples, false_alarm=false_alarm, seed=seed
        )
    if as_json:
        _print_json(found.to_json())
    else:
        sys.stdout.write(f"{found}\n")
    if not found.passed:
        raise typer.Exit(1)


@app.command()
def check(as_json: Json = False) -> None:
    """Check every statement of the mathematics on the built-in grid of exact instances.

    Exit code 0 only if every statement holds, 1 otherwise.
    """
    from joblib import cpu_count

    from .checks.report import check_report, print_check
    from .checks.run import run_checks

    results = run_checks(workers=cpu_count())
    if as_json:
        _print_json(check_report(results))
    else:
        print_check(results)
    if not results.passed:
        raise typer.Exit(1)


@app.command()
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
        int, typer.Option(metavar="N", help="The first N prompts are for measuring the overlap only.")
    ] = 32,
    new_tokens: Annotated[int, typer.Option(metavar="N", help="Tokens that continue each prompt.")] = 256,
    batch: Annotated[int, typer.Option(metavar="N", help="Prompts continued together.")] = 32,
    tokens: Annotated[
        int, typer.Option(metavar="N", help="Tokens of the target's own text, at least.")
    ] = 65536,
    epochs: Annotated[int, typer.Option(metavar="N", help="Times that the text is trained on.")] = 4,
    learning_rate: Annotated[float, typer.Option(metavar="R", help="The largest of its schedule.")] = 1e-3,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the text, its order and the tokens drawn.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The student's folder; for smollm2 the place where the pair smollm2/student looks for it.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="D", help="cpu, cuda, ...; a GPU if there is one.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a draft of a few of the target's layers on the target's own text.

    The text is sampled once and kept. A run that was interrupted goes on where it stopped when it is given again.
    Exit code 2 for input that cannot be used.
    """
    from nodebudget.verifiers.decoding.distillation import TrainingSettings
    from nodebudget.verifiers.decoding.layers import parse_spans
    from nodebudget.verifiers.decoding.self_samples import SampleSettings

    from .pairs.distill import DistillConfig, print_distill, run_distill, student_folder

    config = DistillConfig(
        text=SampleSettings(target, prompts, held_out, new_tokens, batch, seed),
        tokens=tokens,
        training=TrainingSettings(parse_spans(layers), epochs, learning_rate=learning_rate, seed=seed),
        out=student_folder(target, out),
    )
    with contextlib.redirect_stdout(sys.stderr):  # libraries that print would spoil the answer
        report = run_distill(config, device=device)
    if as_json:
        _print_json(report)
    else:
        print_distill(report)


@app.command()
def decode(
    prompts: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="human-eval, gsm8k, math500, or a file .jsonl, .jsonl.gz or .parquet with a field prompt.",
            show_default=False,
        ),
    ],
    paths: Annotated[
        int,
        typer.Option(metavar="K", help="Number of i.i.d. drafted paths, at least 1.", show_default=False),
    ],
    length: Annotated[
        int, typer.Option(metavar="L", help="Tokens of each path, at least 1.", show_default=False)
    ],
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
        int | None, typer.Option(metavar="N", help="The first N prompts only.", show_default=False)
    ] = None,
    max_new_tokens: Annotated[int, typer.Option(metavar="N", help="For each prompt.")] = 64,
    temperature: Temperature = 1.0,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Annotated[int, typer.Option(help="Each prompt has its own stream, whatever the verifier.")] = 0,
    dtype: Dtype = "auto",
    device: Device = None,
    device_map: Annotated[
        str | None,
        typer.Option(help="As in transformers (auto), for models larger than one GPU.", show_default=False),
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
    """Run verifiers on a real pair of models: accepted tokens, speed, and where the time goes.

    For example: nodebudget decode --pair smollm2/without-10-13 --compare token,bv,traversal,gbv --paths 3
    --length 6 --prompts human-eval --count 4
    """
    from .pairs.decode import DecodeConfig, check_out, decode_report, run_decode, save_decode

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
    )
    if out is not None:
        check_out(out)
    with contextlib.redirect_stdout(sys.stderr):  # what a user's verifier prints is not part of the answer
        result = run_decode(config)
    if out is not None:
        save_decode(result, out)
    if as_json:
        _print_json(decode_report(result, text=text))
    else:
        from .pairs.decode_tables import print_decode

        print_decode(result, text=text)


@app.command()
def optimality(
    prompts: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="human-eval, gsm8k, math500, or a file .jsonl, .jsonl.gz or .parquet with a field prompt.",
            show_default=False,
        ),
    ],
    paths: Annotated[
        str,
        typer.Option(
            metavar="KS", help="Numbers of i.i.d. drafted paths, such as 1,2,4.", show_default=False
        ),
    ],
    length: Annotated[
        int, typer.Option(metavar="L", help="Tokens of each path, at least 1.", show_default=False)
    ],
    pair: Pair = None,
    target: Target = None,
    draft: Draft = None,
    contexts: Annotated[int, typer.Option(metavar="N", help="One after each of the first N prompts.")] = 32,
    continued: Annotated[
        int,
        typer.Option(
            metavar="N", help="Up to N tokens of the target's own (a random number) follow the prompt."
        ),
    ] = 32,
    temperature: Temperature = 1.0,
    top_k: TopK = None,
    top_p: TopP = None,
    nodes: Annotated[
        int, typer.Option(metavar="N", help="Most nodes of a tree; a larger one is made shorter.")
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
        int, typer.Option(metavar="N", help="Random drafts where one pass over the tree is not enough.")
    ] = 500,
    seed: Annotated[int, typer.Option(help="Of the continuations and the random drafts.")] = 0,
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
    as_json: Json = False,
) -> None:
    """How much of the attainable acceptance do verifiers reach on real contexts of a model pair?

    After each context all tokens with mass under both models are expanded to a prefix tree, on which OPT_K is
    solved and verifiers are evaluated. Choose --top-k or --top-p: without them every token has mass. For example:
    nodebudget optimality --pair smollm2/without-10-13 --prompts human-eval --paths 1,2,4 --length 3 --top-k 8

    With --out, Ctrl-C or a kill loses the context in flight; the same command goes on, and reads a finished file.
    """
    from .commands.bound import check_writable
    from .optimality import OptimalityConfig, run_optimality
    from .optimality.config import parse_numbers
    from .optimality.report import optimality_report, print_optimality

    named = {} if verifier_names is None else {"verifiers": tuple(verifier_names.split(","))}
    config = OptimalityConfig(
        prompts=prompts,
        paths=parse_numbers("--paths", paths),
        length=length,
        pair=pair,
        target=target,
        draft=draft,
        contexts=contexts,
        continued=continued,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        nodes=nodes,
        samples=samples,
        seed=seed,
        dtype=dtype,
        device=device,
        **named,
    )
    if out is not None:
        check_writable(out, "--out")
    with _interruptible(kept=out is not None):
        result = run_optimality(config, out)
    if as_json:
        _print_json(optimality_report(result))
    else:
        print_optimality(result)


@app.command()
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
    workers: Annotated[str, typer.Option(metavar="N", help="Processes that compute.")] = "1",
    backend: Annotated[
        str, typer.Option(metavar="B", help="local (processes of this machine), dask or ray.")
    ] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A running Dask or Ray cluster; without it one is started on this machine.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare verifiers with OPT_K on many random instances, and write a Parquet table.

    One row for each instance, number of paths K and verifier: accepted tokens, OPT_K, their ratio, and how the
    value was found. Ctrl-C or a kill loses the chunks in flight; the same command goes on. A finished sweep is
    left as it is. The bytes of the table do not depend on interruptions, workers or backend.

    Keys of CONFIG:

    \b
      families = ["flat"]     flat, identical, iid, markov: exact; logits: float
      vocab = [2, 3]          vocabulary sizes V
      depth = [2]             draft lengths L
      paths = [1, 2]          numbers K of drafted paths
      seeds = 100             seeds 0 .. 99, or a list of seeds
      similarity = [0.9]      logits: 0 (unrelated) to 1 (equal models)
      concentration = [1.0]   logits: 1 is mild, 15 nearly one-hot
      zeros = [0.0]           the others: chance that a token has no mass
      verifiers = ["bv"]      names, or module:function; all when left out
      method = "float"        or "exact": certified optima, and rationals
      enumerate_up_to = 1000  drafted tuples to go through, where needed
      samples = 1000          random drafted tuples above that
      chunk = 25              instances per task

    The first five are needed; the others show their defaults. The instances are all combinations, and each of
    them is drawn again from its seed by nodebudget.lp.random_instance. Exit code 2 for input that cannot be
    used, 130 when interrupted.
    """
    from .sweep import load_config, run_sweep
    from .sweep.report import parse_workers, print_sweep, sweep_report

    file = Path(f"{config.stem}.parquet") if out is None else out
    settings = load_config(config)
    with _interruptible(kept=True):
        done = run_sweep(settings, file, workers=parse_workers(workers), where=backend, scheduler=scheduler)
    if as_json:
        _print_json(sweep_report(done))
    else:
        print_sweep(done)


@app.command()
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
    as_json: Json = False,
) -> None:
    """Draw the figures from stored results, each as PDF and PNG, with the same bytes every time.

    An unknown NAME is answered with the list of all. Nothing heavy is computed; the commands that made the
    results are in the README. Exit code 2 for an unknown name, or a result file that is missing.
    """
    import matplotlib as mpl
    from nodebudget.paper_figures import RESULTS, draw_figures

    mpl.use("agg")  # needs no display
    files = []
    for file in draw_figures(names or [], out, RESULTS if results is None else results):
        files.append(str(file))
        if not as_json:
            typer.echo(file)
    if as_json:
        _print_json({"files": files})


@contextlib.contextmanager
def _interruptible(*, kept: bool) -> Iterator[None]:
    """Long work: what a user's verifier prints is no part of the answer, and Ctrl-C is answered with one line."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except KeyboardInterrupt:
        sys.stderr.write(f"nodebudget: interrupted{'; the same command goes on from here' if kept else ''}\n")
        raise typer.Exit(130) from None


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")


def main() -> None:
    """Run the command; unusable input becomes one line on stderr and exit code 2."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except (ValueError, OSError) as error:
        _fail(str(error))
    except Exception as error:
        message = getattr(error, "format_message", None)  # a usage error of the option parser
        if message is None:
            raise
        _fail(f"{message()} (see nodebudget --help)")
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    sys.stderr.write(f"nodebudget: {' '.join(message.split())}\n")
    sys.exit(2)
