"""A table computed part by part: what is done is kept in FILE.parts, and an interrupted run goes on from there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa

from .results import read_document, read_table, write_table

SAME = ("source", "versions", "format")
"""Entries of the document that parts of one table share: one table holds one code's numbers."""


def finished(file: Path, kind: str, config: dict[str, Any]) -> pa.Table | None:
    """The table in `file` if it is there; ValueError for a file of another kind or configuration."""
    if not file.exists():
        return None
    found = read_document(file)
    if (found.get("kind"), found.get("config")) != (kind, _as_read(config)):
        raise ValueError(
            f"--out: {str(file)!r} holds another {kind}; expected a new name, or the same configuration"
        )
    return read_table(file)


class Parts:
    """The parts of a table, numbered, each a file of its own until all are there.

    Args:
        file: where the table will be.
        document: its JSON document, with its `kind`, its `config`, and where it comes from (`provenance`).

    Raises ValueError where the folder FILE.parts is of another configuration, or was begun by other code.
    """

    def __init__(self, file: Path, document: dict[str, Any]) -> None:
        self.file, self.document = file, document
        self.folder = file.with_name(f"{file.name}.parts")
        self._open()

    def __contains__(self, index: int) -> bool:
        return self._part(index).exists()

    def keep(self, index: int, table: pa.Table) -> None:
        """Keep a part; it is there whole or not at all."""
        write_table(self._part(index), table, self.document)

    def read(self, count: int) -> pa.Table:
        """Parts 0 .. count - 1 as one table."""
        return pa.concat_tables([read_table(self._part(index)) for index in range(count)]).combine_chunks()

    def finish(self, table: pa.Table, **more: Any) -> None:
        """Write the table with its document, to which `more` is added, and remove the parts."""
        write_table(self.file, table, self.document | more)
        self.remove()

    def remove(self) -> None:
        """Remove the parts."""
        shutil.rmtree(self.folder)

    def _part(self, index: int) -> Path:
        return self.folder / f"{index:06}.parquet"

    def _open(self) -> None:
        begun = self.folder / "begun.json"
        if not begun.exists():
            self.folder.mkdir(exist_ok=True)
            unfinished = self.folder / f".begun.{os.getpid()}"
            unfinished.write_text(json.dumps(self.document, sort_keys=True), encoding="utf-8")
            os.replace(unfinished, begun)
            return
        found, mine = json.loads(begun.read_text(encoding="utf-8")), _as_read(self.document)
        if any(found.get(name) != mine[name] for name in ("kind", "config")):
            raise ValueError(
                f"--out: {str(self.folder)!r} holds the parts of another {mine['kind']}; expected another name, "
                "or the folder removed"
            )
        for name in SAME:
            if found.get(name) != mine.get(name):
                raise ValueError(
                    f"--out: {str(self.folder)!r} was begun by other code ({name} {found.get(name)}, now "
                    f"{mine.get(name)}); one table holds one code's numbers: go on with that code, or remove the folder"
                )


def _as_read(document: dict[str, Any]) -> dict[str, Any]:
    """A document as it comes back from a file."""
    return dict(json.loads(json.dumps(document)))
