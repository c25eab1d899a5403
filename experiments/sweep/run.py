"""Running a sweep: chunks to workers, each kept as soon as it is done, one table at the end."""

from __future__ import annotations

import functools
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from tqdm import tqdm

from ..results import provenance, read_document, read_table, write_table
from .backends import backend, in_order_of_completion
from .config import SweepConfig
from .rows import chunk_table

FORMAT = 1


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
        workers: processes.
        where: "local", "dask" or "ray".
        scheduler: address of a running Dask or Ray cluster.

    Raises ValueError where the file, or the parts, belong to another configuration, where the parts were
    computed by other code, and as `backend` does.
    """
    if file.suffix != ".parquet" or file.is_dir() or not file.parent.is_dir():
        raise ValueError(
            f"--out: got {str(file)!r}; expected a file name ending in .parquet in an existing folder"
        )
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"--workers: got {workers!r}; expected an integer of at least 1")
    chunks = config.chunks()
    instances = sum(map(len, chunks))
    if file.exists():
        if read_document(file).get("config") != config.document():
            raise ValueError(
                f"--out: {str(file)!r} holds another sweep; expected a new name, or the same config"
            )
        return SweepResult(file, read_table(file), 0, instances)
    parts = file.with_name(f"{file.name}.parts")
    document = {"kind": "sweep", "format": FORMAT, "config": config.document(), **provenance()}
    with backend(where, workers, scheduler):
        _open_parts(parts, document)
        tasks = [(index, keys) for index, keys in enumerate(chunks) if not _part(parts, index).exists()]
        kept = instances - sum(len(keys) for _, keys in tasks)
        with tqdm(total=instances, initial=kept, unit="instance", desc=file.stem, disable=None) as bar:
            for index, table in in_order_of_completion(functools.partial(_compute, config), tasks, workers):
                write_table(_part(parts, index), table, document)
                bar.update(len(chunks[index]))
    table = pa.concat_tables([read_table(_part(parts, index)) for index in range(len(chunks))])
    table = table.combine_chunks()
    write_table(file, table, document)
    shutil.rmtree(parts)
    return SweepResult(file, read_table(file), instances - kept, kept)


def _compute(config: SweepConfig, task: tuple[int, list[Any]]) -> tuple[int, pa.Table]:
    index, keys = task
    return index, chunk_table(config, keys)


def _part(parts: Path, index: int) -> Path:
    return parts / f"{index:06}.parquet"


def _open_parts(parts: Path, document: dict[str, Any]) -> None:
    """Make the folder of the parts, or see that it is of the same sweep and the same code."""
    own = parts / "sweep.json"
    if not own.exists():
        parts.mkdir(exist_ok=True)
        unfinished = parts / f".sweep.{os.getpid()}"
        unfinished.write_text(json.dumps(document, sort_keys=True), encoding="utf-8")
        os.replace(unfinished, own)
        return
    found = json.loads(own.read_text(encoding="utf-8"))
    if found["config"] != document["config"]:
        raise ValueError(
            f"--out: {str(parts)!r} holds the parts of another sweep; expected another name, or the folder removed"
        )
    for name in ("source", "versions", "format"):
        if found.get(name) != document[name]:
            raise ValueError(
                f"--out: {str(parts)!r} was begun by other code ({name} {found.get(name)}, now {document[name]}); "
                "one table holds one code's numbers: go on with that code, or remove the folder"
            )
