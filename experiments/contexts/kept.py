"""Kept contexts as a file, and as instances under any sampling law that they allow."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from nodebudget.lp import Instance

from ..storage.results import read_document, read_table

if TYPE_CHECKING:
    from nodebudget.verifiers.decoding import SamplingLaw
    from nodebudget.verifiers.decoding.kept_rows import KeptRows

KIND = "contexts"

SCHEMA = pa.schema(
    [
        ("context", pa.int32()),
        ("prompt", pa.string()),
        ("ids", pa.list_(pa.int32())),
        ("continued", pa.int32()),
        ("node", pa.int32()),
        ("parent", pa.int32()),
        ("token", pa.int32()),
        ("target_tokens", pa.list_(pa.int32())),
        ("target_logits", pa.list_(pa.float32())),
        ("target_rest", pa.list_(pa.float64())),
        ("draft_tokens", pa.list_(pa.int32())),
        ("draft_logits", pa.list_(pa.float32())),
        ("draft_rest", pa.list_(pa.float64())),
    ]
)
"""Columns. A row for each node of a context that is shorter than the length, in level order, node 0 the context itself.
`ids` are the context's token ids, in the row of node 0 only, and `continued` how many of them the target added.
The others are those of `KeptRows`, of target and draft after the node."""


@dataclass(frozen=True, eq=False)
class KeptContext:
    """A context with what both models said on the tree of the draft's likeliest tokens.

    Attributes:
        number, prompt: which one, and after which prompt.
        ids: the context's token ids.
        continued: how many of them the target added to the prompt.
        length: drafted tokens L.
        nodes: strings of tokens, those of the nodes that have rows, in level order.
        target, draft: their rows.
    """

    number: int
    prompt: str
    ids: tuple[int, ...]
    continued: int
    length: int
    nodes: tuple[tuple[int, ...], ...]
    target: KeptRows
    draft: KeptRows

    def instance(self, sampling: SamplingLaw, length: int | None = None) -> Instance:
        """Both models' laws under a sampling law, sparse, in floats: all that can be drafted has a node.

        Args:
            sampling: of both models.
            length: drafted tokens L; all that were kept by default.

        Raises:
            ValueError: for more tokens than were kept, and where tokens of which too little was kept may have mass.
        """
        length = self.length if length is None else length
        if not 1 <= length <= self.length:
            raise ValueError(
                f"length: got {length}; expected from 1 to {self.length}, as the contexts were kept"
            )
        target, draft = (
            {
                path: law
                for path, law in zip(self.nodes, rows.laws(sampling), strict=True)
                if len(path) < length
            }
            for rows in (self.target, self.draft)
        )
        for path, law in draft.items():
            unknown = [token for token in law if (*path, token) not in draft]
            if unknown and len(path) + 1 < length:
                raise ValueError(
                    f"context {self.number}: under this sampling law the draft says token {unknown[0]} after "
                    f"{list(path)}, a node that was not kept; expected a smaller top_k or top_p"
                )
        return Instance.from_laws(self.target.vocab, length, target, draft, sparse=True, drafted=True)

    def rows(self) -> list[dict[str, Any]]:
        """The context as rows of `SCHEMA`."""
        number = {path: node for node, path in enumerate(self.nodes)}
        found = []
        for node, path in enumerate(self.nodes):
            row: dict[str, Any] = {
                "context": self.number,
                "prompt": self.prompt,
                "ids": None if path else list(self.ids),
                "continued": self.continued,
                "node": node,
                "parent": number[path[:-1]] if path else None,
                "token": path[-1] if path else None,
            }
            for name, rows in (("target", self.target), ("draft", self.draft)):
                row[f"{name}_tokens"] = rows.tokens[node]
                row[f"{name}_logits"] = rows.logits[node]
                row[f"{name}_rest"] = rows.rest[node]
            found.append(row)
        return found


@dataclass(frozen=True, eq=False)
class KeptContexts(Sequence[KeptContext]):
    """The contexts of a file, read one by one.

    Attributes:
        document: the file's JSON document: `config`, `pair`, `notes`, `vocab`, versions.
        table: see `SCHEMA`.
    """

    document: dict[str, Any]
    table: pa.Table

    @cached_property
    def _starts(self) -> np.ndarray:
        """(contexts + 1,): where the rows of each context start, and where the last ones end."""
        numbers = self.table["context"].to_numpy()
        return np.flatnonzero(np.diff(numbers, prepend=-1, append=-1))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"context {index}: there are {len(self)}")
        start, stop = self._starts[index % len(self) :][:2]
        return _context(self.table.slice(start, stop - start), self.document)

    @cached_property
    def digest(self) -> str:
        """What tells these contexts from others in a configuration: a digest of their rows."""
        digest = hashlib.sha256()
        for batch in self.table.to_batches():
            for column in batch.columns:
                digest.update(repr(column.to_pylist()).encode())
        return digest.hexdigest()[:16]


def read_contexts(file: Path) -> KeptContexts:
    """The contexts of a file of `nodebudget contexts`; ValueError for any other file."""
    if not file.is_file():
        raise ValueError(f"{str(file)!r} is not there; expected a file made by nodebudget contexts")
    document = read_document(file)
    if document.get("kind") != KIND:
        raise ValueError(
            f"{str(file)!r} holds {document.get('kind')!r}, no contexts; expected a file made by nodebudget contexts"
        )
    return KeptContexts(document, read_table(file))


def _context(table: pa.Table, document: dict[str, Any]) -> KeptContext:
    from nodebudget.verifiers.decoding.kept_rows import KeptRows

    columns = table.to_pydict()
    nodes: list[tuple[int, ...]] = []
    for parent, token in zip(columns["parent"], columns["token"], strict=True):
        nodes.append(() if parent is None else (*nodes[parent], token))
    rows = [
        KeptRows(
            np.array(columns[f"{name}_tokens"], np.int32),
            np.array(columns[f"{name}_logits"], np.float32),
            tuple(document["config"]["temperatures"]),
            np.array(columns[f"{name}_rest"], np.float64),
            document["vocab"],
        )
        for name in ("target", "draft")
    ]
    return KeptContext(
        columns["context"][0],
        columns["prompt"][0],
        tuple(columns["ids"][0]),
        columns["continued"][0],
        document["config"]["length"],
        tuple(nodes),
        *rows,
    )
