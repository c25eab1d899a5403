"""What recycling gains, and where Gumbel-list sampling stands: shares of OPT_2 on small random instances.

    python -m nodebudget.experiments.recycling_study

goes through two drafted paths of all instances with V = 3, L = 2: five families, ten seeds each, in floats.
"""

from __future__ import annotations

import argparse

import numpy as np
from nodebudget.experiments.tables import console, text_table
from nodebudget.lp import Instance, random_instance, solve_multi_path
from nodebudget.verifiers import expected_accepted

VOCAB, DEPTH, PATHS, SEEDS = 3, 2, 2, range(10)
SIMILARITIES = (None, 0.0, 0.5, 0.8, 0.95)
"""None for the family flat, else of the family logits."""

NAMES = ("nss", "gumbel-list", "bv", "recycle:bv", "specinfer", "gbv", "recycle:gbv")


def instance(similarity: float | None, seed: int) -> Instance:
    """One of a family."""
    family = "flat" if similarity is None else "logits"
    return random_instance(family, VOCAB, DEPTH, seed, similarity=similarity).to_float()


def shares(similarity: float | None) -> dict[str, float]:
    """Each verifier's mean share of OPT_2."""
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    for seed in SEEDS:
        here = instance(similarity, seed)
        best = float(solve_multi_path(here, PATHS, certify=False).value)
        for name in NAMES:
            found[name].append(float(expected_accepted(name, here, PATHS)) / best)
    return {name: float(np.mean(values)) for name, values in found.items()}


def line(similarity: float | None) -> list[str]:
    """A row of the table: the family, and each share."""
    name = "flat" if similarity is None else f"logits, similarity {similarity}"
    return [name, *(f"{share:.1%}" for share in shares(similarity).values())]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    table = text_table("family", right=NAMES)
    for similarity in SIMILARITIES:
        table.add_row(*line(similarity))
    console(110).print(table)


if __name__ == "__main__":
    main()
