"""From a model pair and prompts to the table: contexts, their trees, OPT_K, and what verifiers accept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
from nodebudget.lp import Instance
from nodebudget.verifiers import get_verifier
from tqdm import tqdm

from ..results import provenance, write_table
from ..sweep.rows import optimum_columns
from .config import OptimalityConfig
from .local_tokens import with_local_tokens
from .values import evaluate_sparse

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
min(p, q) at the root. `optimum` is OPT_K in floats (its upper bound where the solver stopped early, `optimum_low` the
lower one), `share` is accepted_tokens / optimum."""


@dataclass(frozen=True)
class OptimalityResult:
    """What came out.

    Attributes:
        config: what was asked.
        pair: the pair's name, and `notes` about it.
        table: see `SCHEMA`.
    """

    config: OptimalityConfig
    pair: str
    notes: tuple[str, ...]
    table: pa.Table

    def save(self, file: Path) -> None:
        """Write the table, with configuration, code and versions."""
        code = provenance()
        versions = code["versions"] | {name: metadata.version(name) for name in ("torch", "transformers")}
        document = {"kind": "optimality", "config": asdict(self.config), "pair": self.pair}
        write_table(file, self.table, {**document, "notes": list(self.notes), **code, "versions": versions})


def run_optimality(config: OptimalityConfig) -> OptimalityResult:
    """Load the pair and go through the contexts; ValueError for anything unusable.

    What does not need the models is looked at before they are loaded.
    """
    provenance()  # of the code that is loaded now, whatever is edited while it runs
    for name in config.verifiers:
        get_verifier(name)
    from ..decode import require_extra

    require_extra("optimality")
    from nodebudget.verifiers.decoding import SamplingLaw, load_pair, load_prompts
    from nodebudget.verifiers.decoding.context_tree import TreeExpander

    sampling = SamplingLaw(config.temperature, config.top_k, config.top_p)
    prompts = load_prompts(config.prompts, count=config.contexts)
    pair = load_pair(
        config.pair, target=config.target, draft=config.draft, dtype=config.dtype, device=config.device
    )
    if pair.tokenizer is None:
        raise ValueError(f"{pair.name}: there is no tokenizer with these models, to read prompts with")
    expander = TreeExpander(pair, sampling)
    rows: list[dict[str, Any]] = []
    progress = tqdm(
        _contexts(config, pair, sampling, prompts), total=len(prompts), desc="contexts", unit="context"
    )
    for number, (prompt, ids, continued) in enumerate(progress):
        try:
            tree = expander.expand(ids, config.length, config.nodes)
        except ValueError as error:
            raise ValueError(f"prompt {prompt!r}: {error}") from None
        about = {
            "context": number,
            "prompt": prompt,
            "context_tokens": len(ids),
            "continued": continued,
            "length": config.length,
            "depth": tree.depth,
            "first_cut": tree.first_cut,
        }
        rows += context_rows(config, about, tree.instance)
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    if not any(table["depth"].to_pylist()):
        raise ValueError(
            f"--nodes: got {config.nodes}, too few for the first level of any context (the smallest would have "
            f"{min(table['first_cut'].to_pylist())} nodes); expected more, or a smaller --top-k or --top-p"
        )
    return OptimalityResult(config, pair.name, pair.notes, table)


def _contexts(
    config: OptimalityConfig, pair: Any, sampling: Any, prompts: Any
) -> Iterator[tuple[str, list[int], int]]:
    """Prompt's name, token ids, and how many of them the target added; an end token is never part of a context."""
    import numpy as np
    from nodebudget.verifiers.decoding import Decoder

    plain = Decoder(pair, None, sampling=sampling)
    for number, prompt in enumerate(prompts):
        ids = list(pair.tokenizer(prompt.text).input_ids)
        wanted = int(np.random.default_rng([config.seed, number]).integers(config.continued + 1))
        added: list[int] = []
        if wanted:
            try:
                generation = plain.decode(ids, max_new_tokens=wanted, seed=(config.seed, number))
            except ValueError as error:
                raise ValueError(f"prompt {prompt.name!r}: {error}") from None
            added = [token for token in generation.tokens if token not in plain.end_tokens]
        yield prompt.name, [*ids, *added], len(added)


def context_rows(
    config: OptimalityConfig, about: dict[str, Any], instance: Instance | None
) -> list[dict[str, Any]]:
    """The rows of one context, K by K, verifier by verifier; without values where there is no instance."""
    verifiers = [get_verifier(name) for name in config.verifiers]
    if instance is None:
        return [{**about, "paths": k, "verifier": v.name} for k in config.paths for v in verifiers]
    local = with_local_tokens(instance)
    first = local.tree.children(0)
    overlap = sum(min(local.target[child], local.draft[child]) for child in first)
    about = {**about, "nodes": len(local.tree), "overlap": float(overlap)}
    rows = []
    for paths in config.paths:
        found = optimum_columns(local, paths, certify=False)
        best = found["optimum"]
        for verifier in verifiers:
            seed = [config.seed, about["context"], paths]
            value = evaluate_sparse(verifier, local, paths, samples=config.samples, seed=seed)
            rows.append(
                {
                    **about,
                    "paths": paths,
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
