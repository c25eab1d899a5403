"""Decoding at several K, L and temperatures: a TOML file to one Parquet table, a row for each run.

    python -m nodebudget.experiments.decode_study paper_figures/results/decoding.toml

Keys of the file: pair (or target and draft), prompts, count, max_new_tokens, verifiers, paths, lengths, temperatures,
and where wanted top_k, top_p, seed, dtype, device. The table stands beside it, with its configuration in the metadata.
Times are those of the machine and of whatever else it does.
"""

from __future__ import annotations

import argparse
import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa

from .decode import DecodeConfig, run_decode
from .results import provenance, write_table

LISTS = {"paths": "paths", "lengths": "length", "temperatures": "temperature"}
NEEDED = ("prompts", "verifiers", *LISTS)


def load_study(file: Path) -> dict[str, Any]:
    """The file's keys; ValueError for a file that is none, and for keys that are missing or unknown."""
    try:
        keys = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: not a TOML file; {error}") from None
    known = {*DecodeConfig.__dataclass_fields__, *LISTS} - {"length", "temperature", "baseline", "device_map"}
    for key in NEEDED:
        if key not in keys:
            raise ValueError(f"{file}: the key {key} is missing; expected {', '.join(NEEDED)}")
    for key, value in keys.items():
        if key not in known:
            raise ValueError(f"{file}: no key {key!r}; expected some of {', '.join(sorted(known))}")
        if (key in LISTS or key == "verifiers") and (not isinstance(value, list) or not value):
            raise ValueError(f"{file}: {key}: got {value!r}; expected a list that is not empty")
    return keys


def configs(study: dict[str, Any]) -> Iterator[DecodeConfig]:
    """One run for each temperature, L and K."""
    rest = {key: value for key, value in study.items() if key not in LISTS and key != "verifiers"}
    for temperature, length, paths in itertools.product(*(study[key] for key in reversed(LISTS))):
        yield DecodeConfig(
            verifiers=tuple(study["verifiers"]), paths=paths, length=length, temperature=temperature, **rest
        )


def run_study(study: dict[str, Any]) -> pa.Table:
    """A row for each run and verifier: `Summary`, with K and L as asked for and seconds by phase in columns."""
    runs = list(configs(study))  # everything is checked before the first is run
    rows = []
    for config in runs:
        for summary in run_decode(config).summaries():
            row = asdict(summary)
            seconds = row.pop("seconds")
            for name in ("interval", "expected_interval"):
                row[f"{name}_low"], row[f"{name}_high"] = row.pop(name) or (None, None)
            row |= {f"{phase}_seconds": value for phase, value in seconds.items()}
            row |= {"temperature": config.temperature, "drafted_paths": row.pop("paths")}
            rows.append(row | {"paths": config.paths, "length": config.length})
    return pa.Table.from_pylist(rows)


def main() -> None:
    """Run a study and write its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path, metavar="CONFIG")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the table [default: beside CONFIG]")
    options = parser.parse_args()
    code = provenance()
    try:
        study = load_study(options.config)
        table = run_study(study)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    versions = code["versions"] | {name: metadata.version(name) for name in ("torch", "transformers")}
    document = {"kind": "decode study", "config": study, **code, "versions": versions}
    write_table(options.out or options.config.with_suffix(".parquet"), table, document)


if __name__ == "__main__":
    main()
