"""The table of a sweep: one row for each instance, number of paths or drafting, and verifier."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pyarrow as pa
from nodebudget.lp import Instance, Optimum, SolverFailure, solve_multi_path
from nodebudget.lp.drafting import IidPaths
from nodebudget.lp.drafting.specs import Drafted
from nodebudget.lp.numbers.rationals import format_rational
from nodebudget.verifiers import get_verifier

from .config import InstanceKey, SweepConfig
from .drafted import defined_for, drafted_columns, drafting_of
from .values import evaluate, evaluate_tree

SCHEMA = pa.schema(
    [
        ("family", pa.string()),
        ("vocab", pa.int32()),
        ("depth", pa.int32()),
        ("similarity", pa.float64()),
        ("concentration", pa.float64()),
        ("zeros", pa.float64()),
        ("seed", pa.int64()),
        ("paths", pa.int32()),
        ("drafting", pa.string()),
        ("nodes_expected", pa.float64()),
        ("nodes_most", pa.int32()),
        ("optimum", pa.float64()),
        ("optimum_exact", pa.string()),
        ("optimum_low", pa.float64()),
        ("certified", pa.bool_()),
        ("status", pa.string()),
        ("verifier", pa.string()),
        ("accepted_tokens", pa.float64()),
        ("accepted_tokens_exact", pa.string()),
        ("standard_error", pa.float64()),
        ("how", pa.string()),
        ("tuples", pa.int64()),
        ("share", pa.float64()),
    ]
)
"""Columns. `paths` is K, missing where `drafting` is not i.i.d. paths; `nodes_expected` and `nodes_most` are the
numbers of nodes that the target's pass reads. `optimum` is OPT_K (its upper bound where the solver stopped early;
`optimum_low` is the lower one), `share` is accepted_tokens / optimum, missing where the optimum is 0. The exact ones
are rationals as text, missing where the number is a float."""


def chunk_table(config: SweepConfig, keys: Iterable[InstanceKey]) -> pa.Table:
    """The rows of some instances of a sweep; what a worker computes."""
    return pa.Table.from_pylist([row for key in keys for row in instance_rows(config, key)], schema=SCHEMA)


def instance_rows(config: SweepConfig, key: InstanceKey) -> list[dict[str, Any]]:
    """The rows of one instance, drafting by drafting, verifier by verifier."""
    instance = key.draw()
    if config.method == "float":
        instance = instance.to_float()
    verifiers = [get_verifier(name) for name in config.verifiers]
    rows = []
    for text in config.drafted:
        drafting = drafting_of(text, instance)
        about = {
            **vars(key),
            **drafted_columns(text, instance, drafting),
            **optimum_columns(instance, drafting, certify=config.method == "exact"),
        }
        for verifier in verifiers:
            if not defined_for(verifier, text):
                continue
            effort = {"enumerate_up_to": config.enumerate_up_to, "samples": config.samples}
            seed = _seed(key, drafting.paths if isinstance(drafting, IidPaths) else text)
            if isinstance(drafting, IidPaths):
                value = evaluate(verifier, instance, drafting.paths, **effort, seed=seed)
            else:
                value = evaluate_tree(verifier, instance, drafting, **effort, seed=seed)
            accepted, best = float(value.accepted), about["optimum"]
            rows.append(
                {
                    **about,
                    "verifier": verifier.name,
                    "accepted_tokens": accepted,
                    "accepted_tokens_exact": _text(value.exact),
                    "standard_error": value.standard_error,
                    "how": value.how,
                    "tuples": value.tuples,
                    "share": accepted / best if best else None,
                }
            )
    return rows


def optimum_columns(instance: Instance, drafted: Drafted, *, certify: bool) -> dict[str, Any]:
    """The columns about OPT_K; without a value where the solver reported none."""
    try:
        found: Optimum = solve_multi_path(instance, drafted, certify=certify)
    except SolverFailure as error:  # one instance without an optimum does not end a sweep
        nothing = dict.fromkeys(("optimum", "optimum_exact", "optimum_low"))
        return {**nothing, "certified": False, "status": f"no optimum: {error}"}
    exact = found.value if isinstance(found.value, Fraction) else None
    return {
        "optimum": float(found.value),
        "optimum_exact": _text(exact),
        "optimum_low": found.bracket[0],
        "certified": found.certified,
        "status": found.verdict,
    }


def _text(value: Fraction | None) -> str | None:
    return None if value is None else format_rational(value)


def _seed(key: InstanceKey, drafted: int | str) -> list[int]:
    """The seed of what is drafted on an instance; the same for every verifier, machine and order of work."""
    last = drafted if isinstance(drafted, int) else zlib.crc32(drafted.encode())
    return [zlib.crc32(repr(key).encode()), key.seed, last]
