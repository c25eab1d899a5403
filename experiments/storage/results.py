"""Result files: immutable Parquet tables that carry their configuration and the code that made them."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import nodebudget.lp
import nodebudget.verifiers
import pyarrow as pa
import pyarrow.parquet as pq

EXPERIMENTS = Path(__file__).parents[1]

METADATA = b"nodebudget"
"""The key of the schema metadata under which the JSON document stands."""

PACKAGES = ("nodebudget", "numpy", "scipy", "highspy", "python-flint", "pyarrow")
PAIR_PACKAGES = ("torch", "transformers")
"""What the numbers depend on; their versions are stored with them. The second only where models are run."""


@functools.cache
def provenance() -> dict[str, Any]:
    """The code that computes: the git commit, a digest of the sources, the versions of packages.

    `commit` is None outside a git checkout. `source` tells two states of the code apart where the commit does
    not: it is a digest of the files of `lp`, `verifiers`, `experiments/sweep`, `experiments/contexts` and
    `experiments/optimality`. There is no time and no host in it, so the same code writes the same bytes.
    """
    return {
        "commit": _commit(),
        "source": _source_digest(),
        "versions": {name: metadata.version(name) for name in PACKAGES},
    }


def pair_provenance() -> dict[str, Any]:
    """`provenance` of numbers that come from model pairs: with the versions of torch and transformers."""
    code = provenance()
    return code | {"versions": code["versions"] | {name: metadata.version(name) for name in PAIR_PACKAGES}}


def write_table(path: Path, table: pa.Table, document: dict[str, Any]) -> None:
    """Write a table with a JSON document in its schema metadata; the file appears whole or not at all."""
    text = json.dumps(document, sort_keys=True)
    described = table.replace_schema_metadata({METADATA: text.encode()})
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(described, unfinished, compression="zstd", store_schema=True)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_table(path: Path) -> pa.Table:
    """The table of a result file; ValueError for a file that is none."""
    read_document(path)
    return pq.read_table(path)


def read_document(path: Path) -> dict[str, Any]:
    """The JSON document of a result file; ValueError for a file that has none."""
    try:
        found = (pq.read_schema(path).metadata or {})[METADATA]
    except (pa.ArrowInvalid, KeyError):
        raise ValueError(f"{str(path)!r} is not a result file of nodebudget") from None
    return dict(json.loads(found))


def _folders() -> Sequence[Path]:
    packages = [Path(nodebudget.lp.__file__).parent, Path(nodebudget.verifiers.__file__).parent]
    return [*packages, *(EXPERIMENTS / name for name in ("sweep", "contexts", "optimality"))]


def _source_digest() -> str:
    digest = hashlib.sha256()
    for folder in _folders():
        for file in sorted(folder.rglob("*.py")):
            digest.update(f"{folder.name}/{file.relative_to(folder)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _commit() -> str | None:
    """The commit of the checkout that the code runs from, with "+changes" where its sources were edited."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=EXPERIMENTS, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "storage/results.py")  # fails for a copy inside another repository
        commit = git("rev-parse", "HEAD")
        changed = git("status", "--porcelain", "--", "../lp", "../verifiers", ".")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+changes" if changed else commit
