"""From a model pair and prompts to the table: contexts, their trees, OPT_K, and what verifiers accept."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from nodebudget.lp import Instance
from nodebudget.lp.drafting import IidPaths
from nodebudget.lp.instances.tables import to_frame
from nodebudget.lp.numbers.rationals import shortened
from nodebudget.verifiers import get_verifier
from tqdm import tqdm

from ..arguments import require_llm
from ..contexts import KeptContext, KeptContexts
from ..contexts.prompted import Prompted
from ..storage.parts import Parts, finished
from ..storage.results import pair_provenance, read_document
from ..sweep.backends import backend, in_order_of_completion
from ..sweep.drafted import defined_for, drafted_columns, drafting_of, is_iid
from ..sweep.rows import optimum_columns
from ..sweep.values import evaluate_tree
from .config import OptimalityConfig
from .local_tokens import with_local_tokens
from .values import evaluate_sparse

if TYPE_CHECKING:
    from nodebudget.verifiers.decoding import ModelPair, Prompt

KIND = "optimality"

Rows = list[dict[str, Any]]
Doing = Callable[[str], object]
"""Called with what is being done, for a progress bar."""

SCHEMA = pa.schema(
    [
        ("context", pa.int32()),
        ("prompt", pa.string()),
        ("context_tokens", pa.int32()),
        ("continued", pa.int32()),
        ("length", pa.int32()),
        ("depth", pa.int32()),
        ("nodes", pa.int32()),
        ("first_cut", pa.int64()),
        ("overlap", pa.float64()),
        ("paths", pa.int32()),
        ("drafting", pa.string()),
        ("nodes_expected", pa.float64()),
        ("nodes_most", pa.int32()),
        ("optimum", pa.float64()),
        ("optimum_low", pa.float64()),
        ("status", pa.string()),
        ("verifier", pa.string()),
        ("accepted_tokens", pa.float64()),
        ("standard_error", pa.float64()),
        ("how", pa.string()),
        ("tuples", pa.int64()),
        ("share", pa.float64()),
    ]
)
"""Columns. `depth` is the tree's, below `length` where `nodes` did not allow more, and `first_cut` the nodes that it
would have had with one level more; depth 0 (and no values) where not even one level fitted. `overlap` is the sum of
min(p, q) at the root. `paths` is K, missing where `drafting` is not i.i.d. paths. Where numbers of paths were asked
for, only nodes with mass under both models are kept: `nodes_expected` is then missing, and `nodes_most` counts copies
of equal nodes apart. `optimum` is OPT_K in floats (its upper bound where the solver stopped early, `optimum_low` the
lower one), `share` is accepted_tokens / optimum."""


@dataclass(frozen=True)
class OptimalityResult:
    """What came out.

    Attributes:
        config: what was asked.
        pair: the pair's name, and `notes` about it.
        table: see `SCHEMA`.
        kept: contexts found from earlier calls.
    """

    config: OptimalityConfig
    pair: str
    notes: tuple[str, ...]
    table: pa.Table
    kept: int = 0

    def __repr__(self) -> str:
        contexts = len(set(self.table["context"].to_pylist()))
        config = self.config
        drafted = f"K={', '.join(map(str, config.paths))}" if config.paths else ", ".join(config.drafting)
        return (
            f"OptimalityResult({shortened(self.pair)}, {contexts} contexts, L={config.length}, {drafted}, "
            f"{self.table.num_rows} rows)"
        )

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, a row per context, K and verifier; ImportError without pandas."""
        return to_frame(self.table.to_pydict())


def run_optimality(
    config: OptimalityConfig,
    file: Path | None = None,
    *,
    kept: KeptContexts | None = None,
    workers: int = 1,
    where: str = "local",
    scheduler: str | None = None,
) -> OptimalityResult:
    """Go through contexts of a pair, which is loaded, or through kept ones, for which no model is needed.

    With a file, every context is kept in the folder FILE.parts as soon as it is done, and the table is written at
    the end, with configuration, code and versions. An interrupted run goes on from there, and a finished one is
    read from its file.

    Args:
        config: what to compute; for kept contexts from `OptimalityConfig.of_kept`.
        file: where the table goes; None keeps nothing.
        kept: the contexts that `config` is about.
        workers, where, scheduler: for kept contexts, processes and the backend they run on, as `run_sweep` takes them.

    Raises ValueError for anything unusable, and where the file, or the parts, belong to another configuration or
    were computed by other code.
    """
    if file is not None and (table := finished(file, KIND, config.document())) is not None:
        document = read_document(file)
        done = len(set(table["context"].to_pylist()))
        return OptimalityResult(config, document["pair"], tuple(document["notes"]), table, done)
    require_llm("optimality")
    document = {"kind": KIND, "config": config.document(), **pair_provenance()}
    with contextlib.ExitStack() as stack:
        if file is None:  # nothing to go on from
            file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "rows.parquet"
        source: _Models | _Kept
        if kept is None:
            source = _Models(config)
        else:
            stack.enter_context(backend(where, workers, scheduler))
            source = _Kept(config, kept, workers)
        parts = Parts(file, document)
        left = [number for number in range(source.count) if number not in parts]
        done = source.count - len(left)
        with tqdm(total=source.count, initial=done, desc="contexts", unit="context") as bar:
            for number, rows in source.rows(left, bar.set_postfix_str):
                parts.keep(number, pa.Table.from_pylist(rows, schema=SCHEMA))
                bar.update()
        table = parts.read(source.count)
        if not any(table["depth"].to_pylist()):
            parts.remove()
            raise ValueError(
                f"--nodes: got {config.nodes}, too few for the first level of any context (the smallest would have "
                f"{min(table['first_cut'].to_pylist())} nodes); expected more, or a smaller --top-k or --top-p"
            )
        parts.finish(table, pair=source.pair, notes=list(source.notes))
    return OptimalityResult(config, source.pair, source.notes, table, done)


class _Models:
    """Contexts that are still to be made, by a pair that is loaded now; prompts are looked at before."""

    def __init__(self, config: OptimalityConfig) -> None:
        from nodebudget.verifiers.decoding import load_pair, load_prompts

        self.config = config
        self.prompts = load_prompts(config.prompts, count=config.contexts)
        loaded = load_pair(
            config.pair, target=config.target, draft=config.draft, dtype=config.dtype, device=config.device
        )
        self.contexts = Contexts(config, loaded)
        self.count, self.pair, self.notes = len(self.prompts), loaded.name, loaded.notes

    def rows(self, left: Iterable[int], doing: Doing) -> Iterator[tuple[int, Rows]]:
        for number in left:
            yield number, self.contexts.rows(number, self.prompts[number], doing)


class _Kept:
    """Contexts of a file, evaluated by several processes."""

    def __init__(self, config: OptimalityConfig, contexts: KeptContexts, workers: int) -> None:
        self.config, self.contexts, self.workers = config, contexts, workers
        self.count = min(config.contexts, len(contexts))
        self.pair, self.notes = contexts.document["pair"], tuple(contexts.document["notes"])

    def rows(self, left: Iterable[int], doing: Doing) -> Iterator[tuple[int, Rows]]:
        compute = functools.partial(_kept_rows, self.config)
        tasks = [(number, self.contexts[number]) for number in left]
        yield from in_order_of_completion(compute, tasks, self.workers)


def _kept_rows(config: OptimalityConfig, task: tuple[int, KeptContext]) -> tuple[int, Rows]:
    from nodebudget.verifiers.decoding import SamplingLaw

    number, context = task
    about = {
        "context": number,
        "prompt": context.prompt,
        "context_tokens": len(context.ids),
        "continued": context.continued,
        "length": config.length,
        "depth": config.length,
        "first_cut": None,
    }
    sampling = SamplingLaw(config.temperature, config.top_k, config.top_p)
    return number, context_rows(config, about, context.instance(sampling, config.length))


class Contexts:
    """The contexts of a configuration on a pair with a tokenizer; each by itself, in any order."""

    def __init__(self, config: OptimalityConfig, pair: ModelPair) -> None:
        from nodebudget.verifiers.decoding import SamplingLaw
        from nodebudget.verifiers.decoding.context_tree import TreeExpander

        sampling = SamplingLaw(config.temperature, config.top_k, config.top_p)
        self.config = config
        self.prompted = Prompted(pair, sampling, continued=config.continued, seed=config.seed)
        self.expander = TreeExpander(pair, sampling)

    def rows(self, number: int, prompt: Prompt, doing: Doing) -> Rows:
        """The rows of one context; ValueError with the prompt's name where the models cannot take it."""
        try:
            doing(f"{shortened(prompt.name)}: the models read")
            ids, continued = self.prompted.ids(number, prompt)
            tree = self.expander.expand(
                ids, self.config.length, self.config.nodes, drafted=bool(self.config.drafting)
            )
        except ValueError as error:
            raise ValueError(f"prompt {prompt.name!r}: {error}") from None
        about = {
            "context": number,
            "prompt": prompt.name,
            "context_tokens": len(ids),
            "continued": continued,
            "length": self.config.length,
            "depth": tree.depth,
            "first_cut": tree.first_cut,
        }
        doing(f"{shortened(prompt.name)}: optima and verifiers")
        return context_rows(self.config, about, tree.instance)


def context_rows(config: OptimalityConfig, about: dict[str, Any], instance: Instance | None) -> Rows:
    """The rows of one context, drafting by drafting, verifier by verifier.

    There are no values where there is no instance, and where the tree is too short for the drafting.
    """
    verifiers = [get_verifier(name) for name in config.verifiers]
    local = None if instance is None else with_local_tokens(instance)
    if local is not None:
        first = local.tree.children(0)
        overlap = sum(min(local.target[child], local.draft[child]) for child in first)
        about = {**about, "nodes": len(local.tree), "overlap": float(overlap)}
    rows = []
    for text in config.drafted:
        names = [verifier for verifier in verifiers if defined_for(verifier, text)]
        paths = int(text.removeprefix("iid:")) if is_iid(text) else None
        drafted = {**about, "paths": paths, "drafting": text}
        if local is None:
            rows += [{**drafted, "verifier": verifier.name} for verifier in names]
            continue
        drafting = drafting_of(text, local)
        try:
            drafting.check(local)
        except ValueError as error:
            rows += [{**drafted, "status": str(error), "verifier": verifier.name} for verifier in names]
            continue
        found = optimum_columns(local, drafting, certify=False)
        best = found["optimum"]
        for verifier in names:
            seed = [config.seed, about["context"]]
            if isinstance(drafting, IidPaths):
                seed.append(drafting.paths)
                value = evaluate_sparse(verifier, local, drafting.paths, samples=config.samples, seed=seed)
            else:
                value = evaluate_tree(
                    verifier, local, drafting, enumerate_up_to=0, samples=config.samples, seed=seed
                )
            rows.append(
                {
                    **drafted,
                    **drafted_columns(text, local, drafting),
                    **{name: found[name] for name in ("optimum", "optimum_low", "status")},
                    "verifier": verifier.name,
                    "accepted_tokens": float(value.accepted),
                    "standard_error": value.standard_error,
                    "how": value.how,
                    "tuples": value.tuples,
                    "share": float(value.accepted) / best if best else None,
                }
            )
    return rows
