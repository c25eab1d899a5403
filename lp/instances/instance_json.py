"""The JSON format of instances.

    {"vocab": 2, "depth": 2,
     "target": {"": ["1/3", "2/3"], "0": [...], "1": [...], "0,0": [...], ...},
     "draft":  {"": ["2/3", "1/3"], "0": [...], "1": [...]}}

A key is a context: comma-joined token ids, empty for the root. A value is one law: V rational strings or
numbers, or an object from token id to probability, absent tokens having none. The key "*" gives the law of
every context that has no key of its own. Target laws of length `depth` may be missing: they are uniform and
never matter for acceptance; draft laws of that length are never used. With ``"sparse": true`` only the nodes
with both target and draft mass are kept, and only their contexts are needed.

Numbers: a number is read as the decimal that is written. When every law then sums to exactly one the instance
is exact, as it is with rational strings; otherwise the laws must sum to one within 1e-9 and it is float.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..numbers.rationals import (
    INTEGER,
    format_rational,
    parse_rational,
    read_integer,
    read_rational,
    shortened,
)
from .arguments import check_kind
from .instance import Instance, check_instance
from .laws import Law, check_law
from .trees import check_shape, format_context, full_size

Table = dict[tuple[int, ...], Law]


class _Decimal(Fraction):
    """A rational that was written as a JSON decimal: it may have been a rounded float."""

    text: str

    @classmethod
    def of(cls, value: Fraction, text: str) -> _Decimal:
        """The value with the text that it was read from."""
        decimal = cls(value)
        decimal.text = text
        return decimal

    def __repr__(self) -> str:
        return self.text  # a message shows what was written


class _Unreadable:
    """A JSON number that is none to work with (NaN, or of absurd size); refused where its place is known."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text if len(self.text) <= 40 else f"a number of {len(self.text)} characters"


def _number(text: str) -> Any:
    """Numbers of a JSON file: ints, exact decimals, and what cannot be read."""
    if INTEGER.fullmatch(text):
        number = read_integer(text)
        return _Unreadable(text) if number is None else number
    found = read_rational(text)
    return _Unreadable(text) if found is None else _Decimal.of(found, text)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys are distinct; json would silently keep the last of two."""
    members = dict(pairs)
    if len(members) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the member {shortened(repeated)} is given twice in one object")
    return members


def load_instance(path: str | Path) -> Instance:
    """Read an instance from a JSON file; a file with an "instance" member is read from that member.

    Raises ValueError that names the file and the place in it for anything unreadable or inconsistent.
    """
    document = read_json(path)
    if isinstance(document, dict) and "instance" in document:
        document = document["instance"]
    try:
        return instance_from_json(document)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def save_instance(instance: Instance, path: str | Path) -> None:
    """Write an instance as JSON; `load_instance` reads the same instance back."""
    write_json(instance_to_json(instance), path)


def read_json(path: str | Path) -> Any:
    """Parse a JSON file with its decimals kept exact; ValueError names the file and what is wrong."""
    check_kind("path", path, (str, os.PathLike), "the name of a JSON file")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); expected a JSON file") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not UTF-8 text; expected a JSON file") from None
    if not text.strip():
        raise ValueError(f"{path}: the file is empty; expected a JSON object")
    try:
        return json.loads(
            text,
            parse_float=_number,
            parse_int=_number,
            parse_constant=_Unreadable,
            object_pairs_hook=_members,
        )
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}: not JSON (line {error.lineno}, column {error.colno}: {error.msg})"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None


def write_json(document: Any, path: str | Path) -> None:
    """Write JSON through a temporary name, so that nothing half-written is left behind."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def instance_from_json(document: Any) -> Instance:
    """Build an instance from the parsed JSON object (see the module's description)."""
    if not isinstance(document, Mapping):
        raise ValueError(
            f"got {type(document).__name__}; expected an object with vocab, depth, target, draft"
        )
    if "instances" in document:
        raise ValueError("the file has several instances; expected one, with vocab, depth, target and draft")
    for key in ("vocab", "depth", "target", "draft"):
        if key not in document:
            raise ValueError(f"{key!r} is missing; an instance has vocab, depth, target and draft")
    unknown = document.keys() - {"vocab", "depth", "target", "draft", "sparse"}
    if unknown:
        raise ValueError(
            f"unknown member {shortened(sorted(unknown)[0])}; an instance has vocab, depth, target, draft, sparse"
        )
    vocab, depth, sparse = document["vocab"], document["depth"], document.get("sparse", False)
    check_shape(vocab, depth)
    if not isinstance(sparse, bool):
        raise ValueError(f"sparse: got {shortened(sparse)}; expected true or false")
    tables = {name: _read_table(document[name], vocab, depth, name) for name in ("target", "draft")}
    if any(_looks_rounded(law) for table in tables.values() for law in table.values()):
        tables = {
            name: {ctx: _as_floats(law) for ctx, law in table.items()} for name, table in tables.items()
        }
    else:
        tables = {
            name: {ctx: _as_fractions(law) for ctx, law in table.items()} for name, table in tables.items()
        }
    for name, table in tables.items():
        if "*" in document[name]:  # named as the file names it, before its contexts are
            starred = next((ctx for ctx in table if format_context(ctx) not in document[name]), None)
            if starred is not None:
                exact = all(isinstance(v, Fraction) for v in _values(table[starred]))
                check_law(table[starred], vocab, exact, f"{name} law at context '*'")
    return Instance.from_laws(vocab, depth, tables["target"], tables["draft"], sparse=sparse)


def instance_to_json(instance: Instance) -> dict[str, Any]:
    """The JSON object of an instance: rational strings where it is exact, numbers where it is float."""
    check_instance(instance)
    tree = instance.tree
    number = format_rational if instance.exact else float
    *tables, sparse = instance.laws()
    write = _sparse_law if sparse else list
    target, draft = (
        {format_context(context): write([number(v) for v in law]) for context, law in table.items()}
        for table in tables
    )
    document = {"vocab": tree.vocab, "depth": tree.depth, "target": target, "draft": draft}
    return {**document, "sparse": True} if sparse else document


def parse_context(key: str, where: str) -> tuple[int, ...]:
    """The token string of a key such as ``"0,2"``; ValueError names `where`."""
    if not key:
        return ()
    parts = key.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise ValueError(
            f"{where}: got the context {shortened(key)}; expected comma-joined token ids such as '0,2'"
        )
    return tuple(int(part) for part in parts)


def _read_table(table: Any, vocab: int, depth: int, name: str) -> Table:
    if not isinstance(table, Mapping) or not table:
        raise ValueError(f"{name}: expected a non-empty object from contexts to laws")
    laws: Table = {}
    for key, law in table.items():
        if key == "*":
            continue
        context = parse_context(key, name)
        if context in laws:
            raise ValueError(f"{name}: the context {shortened(format_context(context))} is given twice")
        laws[context] = _read_law(law, f"{name} law at context {shortened(key)}")
    if "*" in table:
        default = _read_law(table["*"], f"{name} law at context '*'")
        length = depth if name == "target" else depth - 1
        try:
            full_size(vocab, length)
        except ValueError as error:
            raise ValueError(f"{name}: '*' stands for every context; {error}") from None
        for context in _all_contexts(vocab, length):
            laws.setdefault(context, default)
    return laws


def _all_contexts(vocab: int, depth: int) -> Iterator[tuple[int, ...]]:
    return itertools.chain.from_iterable(itertools.product(range(vocab), repeat=d) for d in range(depth + 1))


def _read_law(law: Any, where: str) -> Law:
    if isinstance(law, list):
        return [_read_number(v, f"{where}, token {y}") for y, v in enumerate(law)]
    if isinstance(law, Mapping):
        out = {}
        for key, v in law.items():
            if not (key.isascii() and key.isdigit() and len(key) < 20):
                raise ValueError(f"{where}: got the token {shortened(key)}; expected a token id such as '3'")
            if int(key) in out:
                raise ValueError(f"{where}: the token {int(key)} is given twice")
            out[int(key)] = _read_number(v, f"{where}, token {key}")
        return out
    raise ValueError(f"{where}: got {shortened(law)}; expected a list of probabilities")


def _read_number(value: Any, where: str) -> Fraction:
    if isinstance(value, float):  # from a caller's own objects; files keep their decimals exact
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{where}: got {value}; expected a finite number of at least 0")
        text = repr(float(value))
        return _Decimal.of(Fraction(text), text)
    if isinstance(value, _Unreadable):
        raise ValueError(f"{where}: got {value!r}; expected a finite number from 0 to 1")
    return value if isinstance(value, _Decimal) else parse_rational(value, where)


def _values(law: Law) -> list[Any]:
    return list(law.values()) if isinstance(law, Mapping) else list(law)


def _looks_rounded(law: Law) -> bool:
    """Numbers whose decimals do not sum to exactly one were rounded: the law is a float law."""
    values = _values(law)
    return any(isinstance(v, _Decimal) for v in values) and sum(values) != 1


def _as_floats(law: Law) -> Law:
    return {y: _float(v) for y, v in law.items()} if isinstance(law, Mapping) else [_float(v) for v in law]


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")  # refused, with its place, where the law is checked


def _as_fractions(law: Law) -> Law:
    return (
        {y: Fraction(v) for y, v in law.items()} if isinstance(law, Mapping) else [Fraction(v) for v in law]
    )


def _sparse_law(law: list[Any]) -> dict[str, Any]:
    return {str(y): value for y, value in enumerate(law) if value not in (0, "0")}
