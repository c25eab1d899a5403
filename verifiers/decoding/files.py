"""Where made files are kept, and files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """Where converted and trained models are kept: NODEBUDGET_CACHE, otherwise nodebudget in the user's cache."""
    named = os.environ.get("NODEBUDGET_CACHE")
    if named:
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "nodebudget"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name to write a file under; it gets its own name only if the block ends well."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """As `whole_file`, for a folder, made empty; OSError if there is one of that name with something in it."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.partial")
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
