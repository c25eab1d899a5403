"""How commands answer: one JSON object, and nothing on stdout that is no part of the answer."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer


def print_json(document: dict[str, Any]) -> None:
    """One JSON object on a line of stdout."""
    sys.stdout.write(json.dumps(document) + "\n")


@contextlib.contextmanager
def quiet_stdout() -> Iterator[None]:
    """What a user's function or a library prints goes to stderr: it is no part of the answer."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


@contextlib.contextmanager
def interruptible(*, kept: bool) -> Iterator[None]:
    """Long work, with `quiet_stdout`; Ctrl-C is answered with one line and exit code 130."""
    try:
        with quiet_stdout():
            yield
    except KeyboardInterrupt:
        sys.stderr.write(f"nodebudget: interrupted{'; the same command goes on from here' if kept else ''}\n")
        raise typer.Exit(130) from None


def check_writable(path: Path, option: str) -> None:
    """Raise ValueError where a file cannot be put at `path`, before any work is done for it."""
    if not path.name or path.is_dir() or (path.exists() and not path.is_file()):
        raise ValueError(f"{option}: {str(path)!r} is not a file; expected the name of a file to write")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{option}: {str(path)!r} is not in a folder that can be written to")
