"""Reading the TOML file of a sweep; every complaint names the key, the value, and what would be right."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from nodebudget.lp import FAMILIES
from nodebudget.lp.drafting.iid_paths import PATHS_LIMIT
from nodebudget.lp.instances.families import families_with
from nodebudget.lp.instances.trees import DEPTH_LIMIT, VOCAB_LIMIT, full_size
from nodebudget.lp.numbers.rationals import shortened
from nodebudget.verifiers import get_verifier

from .config import Method, SweepConfig
from .drafted import check_fits, check_verifiers, text_of

MOST_INSTANCES = 10_000_000
"""Most instances of a sweep; it is a table, and it is held in memory once."""

LARGEST_SEED = 2**63 - 1


def load_config(path: Path) -> SweepConfig:
    """The configuration in a TOML file. Its numbers are TOML's, which may have underscores: 1_000.

    Raises ValueError for a file that cannot be read, an unknown or missing key, a value of another kind or out
    of range, a value that is listed twice, and a key that none of the families uses.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file ({error})") from None
    try:
        return parse_config(document)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def parse_config(document: dict[str, Any]) -> SweepConfig:
    """The configuration of a document as `load_config` reads it; ValueError likewise."""
    known = {field.name: field for field in dataclasses.fields(SweepConfig)}
    for key in document:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            meant = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
            raise ValueError(f"{shortened(key)[1:-1]}: no such key; {meant}")
    if "paths" in document and "drafting" in document:
        raise ValueError(
            'paths and drafting both say what is drafted; expected one of them (paths = [2] is drafting = ["iid:2"])'
        )
    for name, field in known.items():
        if name == "paths" and "drafting" in document:
            continue
        if field.default is dataclasses.MISSING and name not in document:
            raise ValueError(f"{name}: missing; expected {EXPECTED[name].words}")
    values = {key: _read(key, value) for key, value in document.items()}
    config = SweepConfig(**{"paths": ()} | values)
    _check_together(config, document)
    return config


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a key takes: `accepts` says whether one value is right, `words` what a right one is."""

    words: str
    accepts: Callable[[Any], bool]
    single: bool = False


def _integer(least: int, most: int, words: str, *, single: bool = False) -> Kind:
    def accepts(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return Kind(words, accepts, single)


def _number(accepts: Callable[[float], bool], words: str) -> Kind:
    return Kind(
        words, lambda value: isinstance(value, int | float) and not isinstance(value, bool) and accepts(value)
    )


EXPECTED = {
    "families": Kind(f"a list of {', '.join(FAMILIES)}", lambda value: value in FAMILIES),
    "vocab": _integer(1, VOCAB_LIMIT, "a list of vocabulary sizes, integers of at least 1"),
    "depth": _integer(1, DEPTH_LIMIT, "a list of draft lengths, integers of at least 1"),
    "paths": _integer(1, PATHS_LIMIT, f"a list of numbers of drafted paths, integers from 1 to {PATHS_LIMIT}"),
    "drafting": Kind(
        'a list of draftings, such as "iid:2", "without:2,2" or "best-draft:4"', lambda value: isinstance(value, str)
    ),
    "seeds": _integer(0, LARGEST_SEED, "a list of integers of at least 0, or a number n for the seeds 0 .. n - 1"),
    "similarity": _number(lambda value: 0 <= value <= 1, "a list of numbers from 0 to 1"),
    "concentration": _number(lambda value: 0 < value < float("inf"), "a list of positive numbers"),
    "zeros": _number(lambda value: 0 <= value <= 1, "a list of numbers from 0 to 1"),
    "verifiers": Kind("a list of verifiers by name", lambda value: isinstance(value, str)),
    "method": Kind(" or ".join(map(repr, get_args(Method))), lambda v: v in get_args(Method), single=True),
    "enumerate_up_to": _integer(0, 250_000, "an integer from 0 to 250000", single=True),
    "samples": _integer(2, 10_000_000, "an integer from 2 to 10000000", single=True),
    "chunk": _integer(1, 10_000, "an integer from 1 to 10000", single=True),
}  # fmt: skip


def _read(key: str, value: Any) -> Any:
    kind = EXPECTED[key]
    if kind.single:
        if isinstance(value, list | dict) or not kind.accepts(value):
            raise ValueError(f"{key}: got {shortened(value)}; expected {kind.words}")
        return value
    if key == "seeds" and isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_INSTANCES:
            raise ValueError(f"seeds: got {value}; expected {kind.words}, n from 1 to {MOST_INSTANCES}")
        return tuple(range(value))
    if not isinstance(value, list) or not value:
        raise ValueError(f"{key}: got {shortened(value)}; expected {kind.words}")
    if key == "drafting" and all(isinstance(entry, str) for entry in value):
        value = [text_of(entry) for entry in value]
    for entry in value:
        if isinstance(entry, list | dict) or not kind.accepts(entry):
            raise ValueError(f"{key}: got {shortened(entry)} in the list; expected {kind.words}")
        if value.count(entry) > 1:
            raise ValueError(f"{key}: {shortened(entry)} is listed twice; expected every value once")
    if key in ("similarity", "concentration", "zeros"):
        return tuple(float(entry) for entry in value)
    return tuple(value)


def _check_together(config: SweepConfig, document: dict[str, Any]) -> None:
    """What the keys must satisfy with each other."""
    try:
        verifiers = [get_verifier(name) for name in config.verifiers]
    except ValueError as error:
        raise ValueError(f"verifiers: {error}") from None
    check_verifiers(config.drafted, verifiers)
    for name in ("similarity", "concentration", "zeros"):
        families = families_with(name)
        if name in document and not set(families) & set(config.families):
            raise ValueError(
                f"{name}: none of the families uses it; expected one of {', '.join(families)} in families, or no {name}"
            )
    for vocab in config.vocab:
        for depth in config.depth:
            try:
                full_size(vocab, depth)
            except ValueError as error:
                raise ValueError(f"vocab {vocab} with depth {depth}: {error}") from None
            for text in config.drafting:
                check_fits(text, vocab, depth)
    per_family = len(config.vocab) * len(config.depth) * len(config.seeds)
    most = len(config.families) * per_family * len(config.similarity) * len(config.concentration)
    if max(most, len(config.families) * per_family * len(config.zeros)) > MOST_INSTANCES:
        raise ValueError(f"more than {MOST_INSTANCES} instances; expected fewer values or seeds")
