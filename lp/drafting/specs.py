"""Draftings as text, for the command line, files and results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..instances.instance_json import parse_context, read_json
from ..instances.trees import format_context
from ..numbers.rationals import shortened
from .distinct import LikeliestAndSample, WithoutReplacement
from .drafting import Drafting
from .fixed_trees import GivenTree, Likeliest
from .replacement import Delayed, IidPaths, WithReplacement

Drafted = int | str | Drafting
"""What is drafted: a number of i.i.d. paths, any drafting, or its text form."""

KINDS: dict[str, Callable[..., Drafting]] = {
    "iid": IidPaths,
    "with": WithReplacement,
    "without": WithoutReplacement,
    "top-sample": LikeliestAndSample,
    "top": Likeliest,
    "delayed": Delayed,
}

DIGITS = 6
"""Most digits of a number of draws."""

EXAMPLES = "iid:4, with:2,2, without:2,2, top-sample:3,2, top:2,2, delayed:1,4 or tree:FILE"


def as_drafting(drafted: Drafted) -> Drafting:
    """A number of paths as `IidPaths`, a text as `parse_drafting` reads it; ValueError for what is no drafting."""
    if isinstance(drafted, str) and ":" in drafted:
        return parse_drafting(drafted)
    if isinstance(drafted, Drafting):
        return drafted
    return IidPaths(int(drafted) if isinstance(drafted, np.integer) else drafted)  # type: ignore[arg-type]


def which_drafting(paths: Drafted | None, drafting: Drafted | None) -> Drafting:
    """The one of two arguments that is given, `paths` or `drafting`; ValueError where both or none are."""
    given = [each for each in (paths, drafting) if each is not None]
    if len(given) != 1:
        raise ValueError(
            f"paths, drafting: got {'both' if given else 'neither'}; expected what is drafted, such as paths=2 or "
            'drafting="with:2,1"'
        )
    return as_drafting(given[0])


def parse_drafting(spec: str) -> Drafting:
    """A drafting from its text form.

    Args:
        spec: "iid:K" for K i.i.d. paths; "with:k1,..,kL" and "without:k1,..,kL" for so many draws at each node, with
            and without replacement; "top-sample:m1,..,mL" for the m - 1 likeliest and one draw from the rest;
            "top:k1,..,kL" for the likeliest; "delayed:T,K" for a trunk of T tokens and K continuations; "tree:FILE"
            for a fixed tree, a JSON list of token strings such as ["0", "1", "0,2"].

    Raises ValueError that says what would be right.

    >>> parse_drafting("without:2,1")
    WithoutReplacement(children=(2, 1))
    """
    kind, colon, rest = spec.partition(":")
    if kind == "tree" and rest:
        return _read_tree(Path(rest))
    numbers = rest.split(",")
    if kind not in KINDS or not colon or not all(n.isascii() and n.isdigit() for n in numbers):
        raise ValueError(f"drafting: got {shortened(spec)}; expected {EXAMPLES}")
    if any(len(number) > DIGITS for number in numbers):
        raise ValueError(f"drafting: got {shortened(spec)}; expected numbers of at most {DIGITS} digits")
    counts = [int(number) for number in numbers]
    if len(counts) != {"iid": 1, "delayed": 2}.get(kind, len(counts)):
        wanted = "one number, iid:K" if kind == "iid" else "two numbers, delayed:TRUNK,K"
        raise ValueError(f"drafting: got {shortened(spec)}; expected {wanted}")
    try:
        return KINDS[kind](*counts)
    except ValueError as error:
        raise ValueError(f"drafting {shortened(spec)}: {error}") from None


def drafting_to_json(drafting: Drafting) -> Any:
    """The text form; of a fixed tree the list of its nodes.

    Raises ValueError for one that has no form in files.
    """
    if isinstance(drafting, GivenTree):
        return {"tree": [format_context(path) for path in drafting.paths]}
    if any(isinstance(drafting, kind) for kind in KINDS.values() if isinstance(kind, type)):
        return str(drafting)
    raise ValueError(f"drafting {drafting}: it has no form in files; expected {EXAMPLES}")


def drafting_from_json(document: Any) -> Drafting:
    """What `drafting_to_json` wrote; ValueError for anything else, and for a text that names a file."""
    if isinstance(document, dict) and document.keys() == {"tree"}:
        return _tree(document["tree"], "drafting")
    if not isinstance(document, str) or document.startswith("tree:"):
        raise ValueError(
            f"drafting: got {shortened(document)}; expected a text such as 'with:2,1', or a tree"
        )
    return parse_drafting(document)


def _read_tree(path: Path) -> GivenTree:
    document = read_json(path)
    return _tree(
        document["tree"] if isinstance(document, dict) and "tree" in document else document, str(path)
    )


def _tree(document: Any, where: str) -> GivenTree:
    if not isinstance(document, list) or not all(isinstance(name, str) for name in document):
        raise ValueError(f'{where}: expected a list of token strings such as ["0", "1", "0,2"]')
    try:
        return GivenTree([parse_context(name, where) for name in document])
    except ValueError as error:
        raise ValueError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None
