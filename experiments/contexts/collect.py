"""From a model pair and prompts to a file of kept contexts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from tqdm import tqdm

from ..arguments import require_llm
from ..storage.parts import Parts, finished
from ..storage.results import pair_provenance, read_document
from .config import ContextsConfig
from .kept import KIND, SCHEMA, KeptContext, KeptContexts
from .prompted import Prompted

if TYPE_CHECKING:
    from nodebudget.verifiers.decoding import ModelPair
    from nodebudget.verifiers.decoding.branch_reader import BranchReader
    from nodebudget.verifiers.decoding.kept_rows import KeptRows

OnRows = Callable[[int], object]
"""Called with the number of rows that a model computed."""


def collect_contexts(config: ContextsConfig, file: Path) -> KeptContexts:
    """Load the pair, go through the contexts, and write the file; an interrupted run goes on with the same call.

    Every context is kept in the folder FILE.parts as soon as it is done. A finished file is read.

    Raises ValueError for anything unusable, and where the file, or the parts, belong to another configuration or
    were computed by other code.
    """
    if file.suffix != ".parquet":
        raise ValueError(f"--out: got {str(file)!r}; expected a file name ending in .parquet")
    if (table := finished(file, KIND, config.document())) is not None:
        return KeptContexts(read_document(file), table)
    require_llm("contexts")
    from nodebudget.verifiers.decoding import SamplingLaw, load_pair, load_prompts

    document = {"kind": KIND, "config": config.document(), **pair_provenance()}
    prompts = load_prompts(config.prompts, count=config.contexts)
    parts = Parts(file, document)
    left = [number for number in range(len(prompts)) if number not in parts]
    with tqdm(total=2 * config.rows * len(left), unit="row", desc="loading the models", disable=None) as bar:
        pair = load_pair(
            config.pair, target=config.target, draft=config.draft, dtype=config.dtype, device=config.device
        )
        prompted = Prompted(
            pair, SamplingLaw(top_k=config.top_k), continued=config.continued, seed=config.seed
        )
        keeper = ContextKeeper(config, pair)
        for number in left:
            bar.set_description(f"context {number + 1} of {len(prompts)}")
            bar.refresh()
            try:
                ids, continued = prompted.ids(number, prompts[number])
                kept = keeper.keep(number, prompts[number].name, ids, continued, bar.update)
            except ValueError as error:
                raise ValueError(f"prompt {prompts[number].name!r}: {error}") from None
            parts.keep(number, pa.Table.from_pylist(kept.rows(), schema=SCHEMA))
    about = {"pair": pair.name, "notes": list(pair.notes), "vocab": pair.vocab}
    table = parts.read(len(prompts))
    parts.finish(table, **about)
    return KeptContexts(document | about, table)


class ContextKeeper:
    """A pair of models that go through contexts, with what is to be kept of their rows."""

    def __init__(self, config: ContextsConfig, pair: ModelPair) -> None:
        from nodebudget.verifiers.decoding.branch_reader import PairReader

        self.config, self.models = config, PairReader(pair)

    def keep(
        self, number: int, prompt: str, ids: Sequence[int], continued: int, on_rows: OnRows
    ) -> KeptContext:
        """The rows of both models on the tree of the draft's likeliest tokens after a context.

        The draft reads it level by level, the target all nodes in one pass.

        Raises ValueError where context and drafted tokens do not fit into the models.
        """
        import torch
        from nodebudget.verifiers.decoding.kept_rows import together

        length = self.config.length
        with torch.inference_mode():
            target, draft = self.models.behind(ids, length)
            levels: list[list[tuple[int, ...]]] = [[()]]
            drafted = [self._rows(draft, levels[0], on_rows)]
            while len(levels) < length:
                below = [
                    (*path, token)
                    for path, tokens in zip(levels[-1], self._likeliest(drafted[-1]), strict=True)
                    for token in tokens
                ]
                levels.append(below)
                drafted.append(self._rows(draft, below, on_rows))
            nodes = [path for level in levels for path in level]
            return KeptContext(
                number,
                prompt,
                tuple(ids),
                continued,
                length,
                tuple(nodes),
                self._rows(target, nodes, on_rows),
                together(drafted),
            )

    def _rows(self, reader: BranchReader, paths: Sequence[tuple[int, ...]], on_rows: OnRows) -> KeptRows:
        from nodebudget.verifiers.decoding.kept_rows import keep_rows, together

        found = []
        for logits in reader.logits(paths):
            found.append(keep_rows(logits, self.config.keep, self.config.temperatures))
            on_rows(len(logits))
        return together(found)

    def _likeliest(self, rows: KeptRows) -> list[list[int]]:
        """The tokens of the top-k of each row, those that tie with the last one included, the lowest id first."""
        from nodebudget.verifiers.decoding import SamplingLaw

        return [sorted(law) for law in rows.laws(SamplingLaw(top_k=self.config.top_k))]
