"""Every verifier and draft on the same kept contexts, at several temperatures: a TOML file to one Parquet table.

    python -m nodebudget.experiments.paired_study paper_figures/results/true_pair/paired.toml --workers 2

Keys of the file: kept (files of `nodebudget contexts`, beside it), lengths, temperatures, cuts (tables with top_k,
top_p or both), drafting, verifiers, and where wanted contexts, samples, seed. The table has a row for each file,
setting, context, drafting and verifier, and stands beside the TOML file. Accepted tokens are expected by the laws, and
estimated from drawn drafts only where the laws cannot be summed. What is printed are means over contexts, and
differences to block verification of one path and to the best verifier of the same draft, with 95% intervals of paired
bootstraps: contexts are drawn anew with all their values. An interrupted study goes on with the same command.
"""

from __future__ import annotations

import argparse
import itertools
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from nodebudget.experiments.contexts import KeptContexts, read_contexts
from nodebudget.experiments.optimality import OptimalityConfig, run_optimality
from nodebudget.experiments.storage.parts import Parts, finished
from nodebudget.experiments.storage.results import pair_provenance
from nodebudget.experiments.tables import console, plain, text_table
from nodebudget.lp.numbers.rationals import shortened
from nodebudget.verifiers.arithmetic.bootstrap import difference_interval, ratio_interval

KIND = "paired study"
WIDTH = 130
NEEDED = ("kept", "lengths", "temperatures", "cuts", "drafting", "verifiers")
KNOWN = (*NEEDED, "contexts", "samples", "seed")
SETTING = ("source", "length", "temperature", "top_k", "top_p")
BASE = ("iid:1", "bv")
"""What differences are taken to: block verification of one path."""


def load_study(file: Path) -> dict[str, Any]:
    """The file's keys; ValueError for a file that is none, and for keys that are missing or unknown."""
    try:
        keys = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: not a TOML file; {error}") from None
    for key in NEEDED:
        if not isinstance(keys.get(key), list) or not keys[key]:
            raise ValueError(f"{file}: the key {key} is missing or no list; expected {', '.join(NEEDED)}")
    for key in keys:
        if key not in KNOWN:
            raise ValueError(f"{file}: no key {shortened(key)}; expected some of {', '.join(KNOWN)}")
    for cut in keys["cuts"]:
        if not isinstance(cut, dict) or not cut.keys() <= {"top_k", "top_p"}:
            raise ValueError(f"{file}: cuts: got {shortened(cut)}; expected tables such as {{top_k = 8}}")
    return keys


def configs(
    study: dict[str, Any], folder: Path
) -> list[tuple[dict[str, Any], OptimalityConfig, KeptContexts]]:
    """One run for each file, length, temperature and cut, with what stands in its rows; ValueError as those raise."""
    found = []
    rest = {name: study[name] for name in ("samples", "seed") if name in study}
    for name in study["kept"]:
        kept = read_contexts(folder / name)
        count = min(len(kept), study.get("contexts", len(kept)))
        for length, temperature, cut in itertools.product(
            study["lengths"], study["temperatures"], study["cuts"]
        ):
            setting = {"source": Path(name).stem, "temperature": float(temperature)}
            setting |= {"top_k": None, "top_p": None} | cut
            drafting = tuple(text for text in study["drafting"] if _fits(text, length))
            config = OptimalityConfig.of_kept(
                kept,
                paths=(),
                drafting=drafting,
                length=length,
                temperature=float(temperature),
                verifiers=tuple(study["verifiers"]),
                contexts=count,
                **cut,
                **rest,
            )
            found.append((setting, config, kept))
    return found


def _fits(text: str, length: int) -> bool:
    """Whether a drafting is one for this length: trees have as many counts as they are deep."""
    kind, _, counts = text.partition(":")
    return kind not in ("with", "without", "top", "top-sample") or counts.count(",") + 1 == length


def run_study(study: dict[str, Any], file: Path, folder: Path, workers: int) -> pa.Table:
    """Do what is left of a study, and write its table to `file`; ValueError as `run_optimality` and `Parts` raise."""
    runs = configs(study, folder)
    document = study | {"digests": [kept.digest for _, _, kept in runs]}
    if (table := finished(file, KIND, document)) is not None:
        return table
    parts = Parts(file, {"kind": KIND, "config": document, **pair_provenance()})
    for number, (setting, config, kept) in enumerate(runs):
        if number in parts:
            continue
        found = run_optimality(
            config, parts.folder / f".run{number}.parquet", kept=kept, workers=workers
        ).table
        for name, value in setting.items():
            kind = pa.string() if name == "source" else pa.int32() if name == "top_k" else pa.float64()
            found = found.append_column(name, pa.array([value] * found.num_rows, kind))
        parts.keep(number, found)
    table = parts.read(len(runs))
    parts.finish(table)
    return table


def summaries(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over contexts of each setting, drafting and verifier.

    Each has `contexts`, `nodes_expected` (drafted nodes), `accepted`, `optimum`, `share` of it with `share_interval`;
    `to_bv`, the difference to block verification of one path, and `to_best`, that to the verifier that accepts most of
    the same draft, with intervals (None where a group has one context or no such rows).
    """
    groups: dict[tuple[Any, ...], dict[tuple[str, str], list[dict[str, Any]]]] = {}
    for row in rows:
        if row["accepted_tokens"] is None:
            continue
        setting = tuple(row[name] for name in SETTING)
        groups.setdefault(setting, {}).setdefault((row["drafting"], row["verifier"]), []).append(row)
    found = []
    for setting, members in groups.items():
        values = {
            key: {row["context"]: row["accepted_tokens"] for row in own} for key, own in members.items()
        }
        means = {key: sum(own.values()) / len(own) for key, own in values.items()}
        for (drafting, verifier), own in members.items():
            best = max((key for key in means if key[0] == drafting), key=means.__getitem__)
            accepted = [row["accepted_tokens"] for row in own]
            optimum = [row["optimum"] for row in own]
            nodes = [row["nodes_expected"] for row in own if row["nodes_expected"] is not None]
            found.append(
                {
                    **dict(zip(SETTING, setting, strict=True)),
                    "drafting": drafting,
                    "verifier": verifier,
                    "contexts": len(own),
                    "nodes_expected": sum(nodes) / len(nodes) if nodes else None,
                    "accepted": means[drafting, verifier],
                    "optimum": sum(optimum) / len(own),
                    "share": sum(accepted) / sum(optimum) if sum(optimum) else None,
                    "share_interval": ratio_interval(accepted, optimum),
                    **_difference("to_bv", own, values.get(BASE)),
                    **_difference("to_best", own, values[best]),
                }
            )
    return found


def _difference(name: str, own: Sequence[dict[str, Any]], theirs: dict[int, float] | None) -> dict[str, Any]:
    pairs = [
        (row["accepted_tokens"], theirs[row["context"]]) for row in own if theirs and row["context"] in theirs
    ]
    if not pairs:
        return {name: None, f"{name}_interval": None}
    ours, others = zip(*pairs, strict=True)
    return {
        name: (sum(ours) - sum(others)) / len(pairs),
        f"{name}_interval": difference_interval(ours, others),
    }


def print_study(rows: Sequence[dict[str, Any]]) -> None:
    """A table for each setting."""
    out = console(WIDTH)
    for setting, members in itertools.groupby(rows, key=lambda row: [row[name] for name in SETTING]):
        out.print(", ".join(f"{name} {value}" for name, value in zip(SETTING, setting, strict=True)))
        made = text_table(
            "drafting", "verifier", right=("nodes", "accepted", "share", "to bv", "to the best")
        )
        for row in members:
            nodes, share = row["nodes_expected"], row["share"]
            made.add_row(
                plain(row["drafting"]),
                plain(row["verifier"]),
                "" if nodes is None else f"{nodes:.1f}",
                f"{row['accepted']:.4f}",
                "" if share is None else f"{share:.2%}",
                _said(row, "to_bv"),
                _said(row, "to_best"),
            )
        out.print(made)


def _said(row: dict[str, Any], name: str) -> str:
    """A difference with its interval; "=" for that to itself."""
    interval = row[f"{name}_interval"]
    if row[name] is None:
        return ""
    if row[name] == 0:
        return "="
    return f"{row[name]:+.4f}" + ("" if interval is None else " ({:+.4f} {:+.4f})".format(*interval))


def main() -> None:
    """Run a study, write its table and print the means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path, metavar="CONFIG")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the table [default: beside CONFIG]")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes [default: 1]")
    options = parser.parse_args()
    file = options.out or options.config.with_suffix(".parquet")
    try:
        table = run_study(load_study(options.config), file, options.config.parent, options.workers)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print_study(summaries(table.to_pylist()))
    print(f"{file}: {table.num_rows} rows")


if __name__ == "__main__":
    main()
