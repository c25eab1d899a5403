"""How much of OPT_K - BV transport and its lift close, beside GBV and mixed selection.

    python -m nodebudget.experiments.transport_study [--vocab 3 --length 2 --paths 2 --seeds 12]

K i.i.d. paths on the families flat and logits of several similarities, seeds 1, 2, ..; all values take no sampling, the
optimum is the float one. A share is that of the sums over the seeds; behind it the least of a single instance. One at
which BV is within 1e-9 of the optimum has no share.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nodebudget.experiments.arguments import integer
from nodebudget.lp import random_instance, solve_multi_path
from nodebudget.verifiers import expected_accepted

VERIFIERS = ("transport", "gbv", "lift:transport", "mixed")
FAMILIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("flat", {}),
    *(("logits", {"similarity": similarity}) for similarity in (0.0, 0.5, 0.8, 0.95)),
)
LEAST_GAP = 1e-9


class Shares(NamedTuple):
    """What a verifier closes of OPT_K - BV on some instances.

    Attributes:
        all, least: of the sums over the instances, and of the instance where it is least.
    """

    all: float
    least: float


def shares(
    family: str, options: dict[str, Any], vocab: int, length: int, paths: int, seeds: Sequence[int]
) -> dict[str, Shares]:
    """The shares of each verifier on random instances of a family, one a seed.

    Raises ValueError where no instance has a gap, and where an instance is too large to be gone through.
    """
    gaps: list[float] = []
    gains: dict[str, list[float]] = {name: [] for name in VERIFIERS}
    for seed in seeds:
        instance = random_instance(family, vocab, length, seed=seed, **options)
        block = float(expected_accepted("bv", instance, 1))
        gap = float(solve_multi_path(instance, paths, certify=False).value) - block
        if gap <= LEAST_GAP:
            continue
        gaps.append(gap)
        for name in VERIFIERS:
            gains[name].append(float(expected_accepted(name, instance, paths)) - block)
    if not gaps:
        raise ValueError(f"seeds: got {list(seeds)}; expected one at which BV is below the optimum")
    return {
        name: Shares(sum(gained) / sum(gaps), min(g / gap for g, gap in zip(gained, gaps, strict=True)))
        for name, gained in gains.items()
    }


def lines(vocab: int, length: int, paths: int, seeds: Sequence[int]) -> Iterator[str]:
    """The table, a line a family."""
    yield f"{'family':<18}" + "".join(f"{name:>22}" for name in VERIFIERS)
    for family, options in FAMILIES:
        found = shares(family, options, vocab, length, paths, seeds)
        label = " ".join([family, *(f"{value:g}" for value in options.values())])
        yield f"{label:<18}" + "".join(f"{s.all:14.1%} ({s.least:5.0%})" for s in found.values())


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m nodebudget.experiments.transport_study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for option, default in (("--vocab", 3), ("--length", 2), ("--paths", 2), ("--seeds", 12)):
        parser.add_argument(option, type=integer, default=default)
    given = parser.parse_args(arguments)
    try:
        for line in lines(given.vocab, given.length, given.paths, range(1, given.seeds + 1)):
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
