"""How fast LP_K is solved: the cutting planes alone, and against the enumerated program.

    python -m nodebudget.experiments.bench_lp [--smoke]

Every ratio is taken within one run. Times include building the program. Nothing is certified here: the
certificates of small instances are part of `nodebudget check`.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass

from nodebudget.lp import Optimum, count_antichains, random_instance, solve_multi_path
from nodebudget.lp.optimum import Method


@dataclass(frozen=True)
class Setting:
    """One size of the benchmark: a float instance of the logits family."""

    vocab: int
    depth: int
    paths: int
    similarity: float = 0.9
    concentration: float = 1.0


ALONE = (
    Setting(64, 2, 4),
    Setting(64, 2, 4, similarity=0.5, concentration=5.0),
    Setting(64, 2, 4, similarity=0.5, concentration=2.0),
    Setting(16, 3, 4),
)
AGAINST_ENUMERATION = (Setting(2, 3, 2), Setting(3, 2, 3), Setting(2, 4, 2))
SMOKE = (Setting(4, 2, 2),)


def timed(setting: Setting, method: Method) -> tuple[float, Optimum]:
    """Seconds to build and solve in floats, and the optimum."""
    instance = random_instance(
        "logits", setting.vocab, setting.depth, seed=0,
        similarity=setting.similarity, concentration=setting.concentration,
    )  # fmt: skip
    start = time.perf_counter()
    optimum = solve_multi_path(instance, setting.paths, method=method, certify=False)
    return time.perf_counter() - start, optimum


def main() -> None:
    """Print the two tables."""
    parser = argparse.ArgumentParser(description="Times of LP_K: cutting planes, and against enumeration.")
    parser.add_argument("--smoke", action="store_true", help="one small size in each table")
    smoke = parser.parse_args().smoke
    print(f"{os.cpu_count()} cores; logits family, seed 0\n")
    print("cutting planes alone")
    print(
        "   V  L  K  similarity  scale   seconds  rounds  antichains  OPT_K, or the bracket when stopped early"
    )
    for s in SMOKE if smoke else ALONE:
        seconds, optimum = timed(s, "cuts")
        low, high = optimum.bracket
        value = f"{high:.9f}" if high - low <= 1e-6 else f"[{low:.6f}, {high:.6f}]"
        print(
            f"{s.vocab:4} {s.depth:2} {s.paths:2}  {s.similarity:10}  {s.concentration:5}  {seconds:8.2f}  "
            f"{optimum.rounds:6}  {optimum.antichains:10}  {value}",
            flush=True,
        )
    print("\nagainst the enumerated program (build + solve)")
    print("   V  L  K  antichains  cuts, s  enumerated, s   ratio  difference of the optima")
    for s in SMOKE if smoke else AGAINST_ENUMERATION:
        fast, by_cuts = timed(s, "cuts")
        slow, by_list = timed(s, "enumerate")
        count = count_antichains(random_instance("logits", s.vocab, s.depth, seed=0).tree)
        print(
            f"{s.vocab:4} {s.depth:2} {s.paths:2}  {count:10}  {fast:7.3f}  {slow:13.3f}  {slow / fast:6.1f}  "
            f"{abs(by_cuts.value - by_list.value):.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
