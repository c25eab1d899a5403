"""A search for instances where mixed multi-path block verification is below BV or below GBV.

    python -m nodebudget.experiments.mixed_search --minutes 4

draws instances whose laws are small integers over their sum, and changes one entry at a time for as long as the
difference falls. What is printed is computed again in rationals. The instances that lose go to a folder, one
JSON file each, where one is named.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from nodebudget.experiments.arguments import decimal, integer
from nodebudget.lp import (
    Instance,
    accepted_tokens,
    block_budgets,
    greedy_skewed_draft,
    save_instance,
    skewed_draft,
    stable_greedy_skewed_draft,
)

SHAPES = ((2, 2), (3, 2), (2, 3), (3, 3), (2, 4), (2, 5))
"""(V, L) that are searched."""

LARGEST = 4
"""Largest integer of a law, over the sum of its row."""

PATIENCE = 30
"""Changes without success after which the search starts again."""

Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class IntegerLaws:
    """An instance by integers: one row per context, in level order, for the target and for the draft."""

    vocab: int
    depth: int
    target: Rows
    draft: Rows

    def instance(self) -> Instance:
        """The exact instance."""
        contexts = [
            context for d in range(self.depth) for context in itertools.product(range(self.vocab), repeat=d)
        ]
        laws = (
            {c: [Fraction(x, sum(row)) for x in row] for c, row in zip(contexts, rows, strict=True)}
            for rows in (self.target, self.draft)
        )
        return Instance.from_laws(self.vocab, self.depth, *laws)


def random_laws(vocab: int, depth: int, rng: np.random.Generator) -> IntegerLaws:
    """Independent rows; a third of the draft's are the target's."""
    count = sum(vocab**d for d in range(depth))
    target = tuple(_row(vocab, rng) for _ in range(count))
    return IntegerLaws(
        vocab, depth, target, tuple(row if rng.random() < 1 / 3 else _row(vocab, rng) for row in target)
    )


def changed(laws: IntegerLaws, rng: np.random.Generator) -> IntegerLaws:
    """The same laws with one row replaced or one entry moved by one, in the target or in the draft."""
    name = ("target", "draft")[int(rng.integers(2))]
    rows: list[tuple[int, ...]] = list(getattr(laws, name))
    at = int(rng.integers(len(rows)))
    row = list(rows[at])
    if rng.random() < 0.5:
        y = int(rng.integers(laws.vocab))
        row[y] = min(LARGEST, max(0, row[y] + (1 if rng.random() < 0.5 else -1)))
    if not any(row) or tuple(row) == rows[at]:
        row = list(_row(laws.vocab, rng))
    rows[at] = tuple(row)
    return replace(laws, target=tuple(rows)) if name == "target" else replace(laws, draft=tuple(rows))


def _row(vocab: int, rng: np.random.Generator) -> tuple[int, ...]:
    while True:
        row = rng.integers(0, LARGEST + 1, size=vocab)
        if row.any():
            return tuple(int(x) for x in row)


def over_block(instance: Instance, paths: int) -> float | Fraction:
    """Accepted tokens of mixed selection over those of BV."""
    return _mixed(instance, paths) - accepted_tokens(block_budgets(instance))


def over_greedy(instance: Instance, paths: int) -> float | Fraction:
    """Accepted tokens of mixed selection over those of GBV."""
    pick = greedy_skewed_draft if instance.exact else stable_greedy_skewed_draft
    return _mixed(instance, paths) - accepted_tokens(block_budgets(instance, pick(instance, paths)))


def _mixed(instance: Instance, paths: int) -> float | Fraction:
    return accepted_tokens(skewed_draft(instance, paths)[1])


Margin = Callable[[Instance, int], "float | Fraction"]
MARGINS: dict[str, Margin] = {"bv": over_block, "gbv": over_greedy}


def search(
    vocab: int, depth: int, paths: int, margin: Margin, seconds: float, rng: np.random.Generator
) -> tuple[IntegerLaws, int]:
    """The laws with the smallest margin found in so many CPU seconds, and how many were tried."""
    until = time.process_time() + seconds
    best, least, tried = random_laws(vocab, depth, rng), float("inf"), 0
    while time.process_time() < until:
        for laws, value in _descent(vocab, depth, paths, margin, until, rng):
            tried += 1
            if value < least:
                best, least = laws, value
    return best, tried


def _descent(
    vocab: int, depth: int, paths: int, margin: Margin, until: float, rng: np.random.Generator
) -> Iterator[tuple[IntegerLaws, float]]:
    """From random laws by changes that lower the margin, or leave it where it is."""
    here, least, failures = random_laws(vocab, depth, rng), float("inf"), 0
    other = here
    while failures < PATIENCE and time.process_time() < until:
        value = float(margin(other.instance().to_float(), paths))
        yield other, value
        failures = 0 if value < least - 1e-12 else failures + 1
        if value <= least:
            here, least = other, value
        other = changed(here, rng)


def main() -> None:
    """Read the command line, search, and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=decimal, default=4, help="CPU minutes, shared evenly")
    parser.add_argument("--paths", type=integer, default=2, help="number K of drafted paths")
    parser.add_argument("--seed", type=integer, default=0)
    parser.add_argument("--out", type=Path, help="folder for the instances that lose")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    seconds = 60 * options.minutes / (len(SHAPES) * len(MARGINS))
    print("V  L  against  tried  least of mixed minus it")
    for (vocab, depth), (name, margin) in itertools.product(SHAPES, MARGINS.items()):
        laws, tried = search(vocab, depth, options.paths, margin, seconds, rng)
        instance = laws.instance()
        value = margin(instance, options.paths)
        print(f"{vocab}  {depth}  {name:7}{tried:7d}  {float(value):+.6f}", flush=True)
        if value < 0:
            print(f"       target {laws.target}\n       draft  {laws.draft}", flush=True)
            if options.out is not None:
                options.out.mkdir(parents=True, exist_ok=True)
                save_instance(instance, options.out / f"below_{name}_v{vocab}_l{depth}.json")


if __name__ == "__main__":
    main()
