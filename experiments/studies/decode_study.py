"""Decoding at several K, L and temperatures: a TOML file to one Parquet table, a row for each run.

    python -m nodebudget.experiments.decode_study paper_figures/results/pairs/decoding.toml

Keys of the file: pair (or target and draft), prompts, count, max_new_tokens, verifiers, paths, lengths, temperatures,
and where wanted top_k, top_p, seed, dtype, device. The table stands beside it, with its configuration in the metadata.
An interrupted study goes on with the same command and loses the run in flight at most; a finished one is left as it is.
Times are those of the machine and of whatever else it does.
"""

from __future__ import annotations

import argparse
import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from nodebudget.experiments.pairs.decode import DecodeConfig, run_decode
from nodebudget.experiments.storage.parts import Parts, finished
from nodebudget.experiments.storage.results import pair_provenance
from nodebudget.lp.numbers.rationals import shortened
from nodebudget.verifiers import get_verifier

KIND = "decode study"
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
            raise ValueError(f"{file}: no key {shortened(key)}; expected some of {', '.join(sorted(known))}")
        if (key in LISTS or key == "verifiers") and (not isinstance(value, list) or not value):
            raise ValueError(f"{file}: {key}: got {shortened(value)}; expected a list that is not empty")
    return keys


def configs(study: dict[str, Any]) -> Iterator[DecodeConfig]:
    """One run for each temperature, L and K; a verifier that looks at one path only is in those of the least K."""
    rest = {key: value for key, value in study.items() if key not in LISTS and key != "verifiers"}
    multipath = [name for name in study["verifiers"] if get_verifier(name).multipath]
    for temperature, length, paths in itertools.product(*(study[key] for key in reversed(LISTS))):
        verifiers = study["verifiers"] if paths == min(study["paths"]) else multipath
        if verifiers:
            yield DecodeConfig(
                verifiers=tuple(verifiers), paths=paths, length=length, temperature=temperature, **rest
            )


def run_study(study: dict[str, Any], file: Path) -> pa.Table:
    """Do what is left of a study, and write its table to `file`.

    The table has a row for each run and verifier: `Summary`, with K and L as asked for and seconds by phase in
    columns. Raises ValueError as `run_decode` and `Parts` do.
    """
    runs = list(configs(study))  # everything is checked before the first is run
    if (table := finished(file, KIND, study)) is not None:
        return table
    parts = Parts(file, {"kind": KIND, "config": study, **pair_provenance()})
    for number, config in enumerate(runs):
        if number not in parts:
            parts.keep(number, pa.Table.from_pylist(run_rows(config)))
    table = parts.read(len(runs))
    parts.finish(table)
    return table


def run_rows(config: DecodeConfig) -> list[dict[str, Any]]:
    """The rows of one run; ValueError where a verifier fails: a stored run has all of them."""
    rows = []
    result = run_decode(config)
    if result.failed:
        raise ValueError(result.failures())
    for summary in result.summaries():
        row = asdict(summary)
        seconds = row.pop("seconds")
        for name in ("interval", "expected_interval"):
            row[f"{name}_low"], row[f"{name}_high"] = row.pop(name) or (None, None)
        row |= {f"{phase}_seconds": value for phase, value in seconds.items()}
        row |= {"temperature": config.temperature, "drafted_paths": row.pop("paths")}
        rows.append(row | {"paths": config.paths, "length": config.length})
    return rows


def main() -> None:
    """Run a study and write its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path, metavar="CONFIG")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the table [default: beside CONFIG]")
    options = parser.parse_args()
    file = options.out or options.config.with_suffix(".parquet")
    there = file.exists()
    try:
        table = run_study(load_study(options.config), file)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print("verifier        K  L  temperature  tokens per block, 95% over prompts  tokens/s")
    for row in table.to_pylist():
        low, high = (row[f"expected_interval_{end}"] for end in ("low", "high"))
        interval = "" if low is None else f"{low:.2f} to {high:.2f}"
        print(
            f"{row['verifier']:14}{row['paths']:3d}{row['length']:3d}{row['temperature']:13.2f}"
            f"{row['expected_block_efficiency']:18.2f}{interval:>19}{row['tokens_per_second']:10.2f}"
        )
    print(f"{file}: {table.num_rows} rows{', complete before; --out computes them again' if there else ''}")


if __name__ == "__main__":
    main()
