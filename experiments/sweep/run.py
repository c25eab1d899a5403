"""Running a sweep: chunks to workers, each kept as soon as it is done, one table at the end."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from nodebudget.lp.instances.tables import to_frame
from nodebudget.lp.numbers.rationals import shortened
from tqdm import tqdm

from ..storage.parts import Parts, finished
from ..storage.results import provenance, read_table
from .backends import backend, in_order_of_completion
from .config import SweepConfig
from .rows import chunk_table

KIND, FORMAT = "sweep", 1
MOST_WORKERS = 1024


@dataclass(frozen=True, eq=False)
class SweepResult:
    """A finished sweep.

    Attributes:
        file: where its table is.
        table: the rows.
        computed, kept: instances computed by this call, and found from earlier ones.
    """

    file: Path
    table: pa.Table
    computed: int
    kept: int

    def __repr__(self) -> str:
        return (
            f"SweepResult({shortened(self.file.name)}, {self.table.num_rows} rows, {self.computed} instances "
            f"computed, {self.kept} kept)"
        )

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, a row per instance, K and verifier; ImportError without pandas."""
        return to_frame(self.table.to_pydict())


def run_sweep(
    config: SweepConfig, file: Path, *, workers: int = 1, where: str = "local", scheduler: str | None = None
) -> SweepResult:
    """Compute the table of a sweep, or what is left of it, and write it to `file`.

    Every chunk is kept in the folder FILE.parts as soon as it is done. An interrupted sweep goes on from there,
    a finished one is left as it is. The bytes of the table depend on the configuration and the code only: not on
    interruptions, the number of workers, or the backend.

    Args:
        config: the configuration.
        file: a name ending in .parquet.
        workers: processes, at most `MOST_WORKERS`.
        where: "local", "dask" or "ray".
        scheduler: address of a running Dask or Ray cluster.

    Raises ValueError where the file, or the parts, belong to another configuration, where the parts were
    computed by other code, and as `backend` does.
    """
    if file.suffix != ".parquet" or file.is_dir() or not file.parent.is_dir():
        raise ValueError(
            f"--out: got {str(file)!r}; expected a file name ending in .parquet in an existing folder"
        )
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST_WORKERS:
        raise ValueError(f"--workers: got {shortened(workers)}; expected an integer from 1 to {MOST_WORKERS}")
    chunks = config.chunks()
    instances = sum(map(len, chunks))
    if (table := finished(file, KIND, config.document())) is not None:
        return SweepResult(file, table, 0, instances)
    document = {"kind": KIND, "format": FORMAT, "config": config.document(), **provenance()}
    with backend(where, workers, scheduler):
        parts = Parts(file, document)
        tasks = [(index, keys) for index, keys in enumerate(chunks) if index not in parts]
        kept = instances - sum(len(keys) for _, keys in tasks)
        with tqdm(total=instances, initial=kept, unit="instance", desc=file.stem, disable=None) as bar:
            for index, table in in_order_of_completion(functools.partial(_compute, config), tasks, workers):
                parts.keep(index, table)
                bar.update(len(chunks[index]))
    parts.finish(parts.read(len(chunks)))
    return SweepResult(file, read_table(file), instances - kept, kept)


def _compute(config: SweepConfig, task: tuple[int, list[Any]]) -> tuple[int, pa.Table]:
    index, keys = task
    return index, chunk_table(config, keys)
