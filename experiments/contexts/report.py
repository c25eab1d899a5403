"""What was kept, as JSON and for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..tables import console
from .kept import KeptContexts

WIDTH = 110


def contexts_report(kept: KeptContexts) -> dict[str, Any]:
    """The JSON object."""
    tokens = [len(ids) for ids in kept.table["ids"].to_pylist() if ids is not None]
    return {
        **kept.document["config"],
        "pair": kept.document["pair"],
        "notes": kept.document["notes"],
        "vocab": kept.document["vocab"],
        "contexts": len(kept),
        "rows": kept.table.num_rows,
        "context_tokens": {"least": min(tokens), "most": max(tokens), "mean": sum(tokens) / len(tokens)},
        "digest": kept.digest,
    }


def print_contexts(kept: KeptContexts, file: Path) -> None:
    """What was kept, and where."""
    found = contexts_report(kept)
    out = console(WIDTH)
    for note in found["notes"]:
        out.print(f"note: {note}", markup=False)
    tokens = found["context_tokens"]
    out.print(
        f"{file}: {found['contexts']} contexts of {tokens['least']} to {tokens['most']} tokens of {found['pair']}, "
        f"{found['rows']} rows of each model with {min(found['keep'], found['vocab'])} of {found['vocab']} logits",
        markup=False,
        soft_wrap=True,
    )
