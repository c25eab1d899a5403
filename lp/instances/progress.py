"""Progress bars for what takes long, on stderr, where somebody is watching: at a terminal or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tqdm import tqdm

SILENT_SECONDS = 2
"""Time after which a bar appears."""

Item = TypeVar("Item")


def progress(unit: str, total: int | None = None, *, what: str | None = None) -> Any:
    """A tqdm bar that counts units, and that is gone when it is done.

    Nothing is written in the first seconds, nor where stderr is a file or a pipe.
    """
    notebook = type(sys.stderr).__module__.startswith("ipykernel")
    hidden = not (notebook or sys.stderr.isatty())
    return tqdm(total=total, desc=what, unit=unit, leave=False, delay=SILENT_SECONDS, disable=hidden)


def watched(items: Iterable[Item], unit: str, total: int) -> Iterator[Item]:
    """The items, with a progress bar over them."""
    with progress(unit, total) as bar:
        for item in items:
            yield item
            bar.update()
