"""How fast LP_K is solved: large trees, certificates, other drafts, the plain formulation, and the enumerated program.

    python -m nodebudget.experiments.bench_lp [--smoke]

Seconds are processor seconds of one process, so that other people's jobs count less; every ratio is taken within
one run. The brackets of the first table are proven in rationals. Peak memory is that of the whole process so far.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import sys
import time
from dataclasses import dataclass

from nodebudget.lp import (
    Instance,
    Optimum,
    count_antichains,
    proven_lower_bound,
    proven_upper_bound,
    random_instance,
    random_top_k_instance,
    solve_multi_path,
)
from nodebudget.lp.drafting import Drafting, IidPaths, Problem, WithReplacement
from nodebudget.lp.optimum import Method
from nodebudget.lp.programs.linear_program import BudgetVariables
from nodebudget.lp.programs.multi_path import starting_program
from nodebudget.lp.solving.cutting_planes import cutting_planes
from nodebudget.lp.solving.slopes import slope_phase


@dataclass(frozen=True)
class Setting:
    """One size of the benchmark: the logits family, or sparse top-k laws where `top_k` is given."""

    vocab: int
    depth: int
    paths: int
    similarity: float = 0.9
    concentration: float = 1.0
    top_k: int | None = None

    def instance(self) -> Instance:
        shape = {"similarity": self.similarity, "concentration": self.concentration}
        if self.top_k is None:
            return random_instance("logits", self.vocab, self.depth, 0, **shape)
        return random_top_k_instance(self.vocab, self.depth, 0, top_k=self.top_k, **shape)


MILD, SPREAD = (0.9, 1.0), (0.5, 2.0)
SIZES = ((64, 2, 4), (16, 3, 4), (32, 3, 2), (8, 4, 4), (4, 6, 2))
LARGE = (
    *(Setting(*size, *laws) for size in SIZES for laws in (MILD, SPREAD)),
    Setting(32768, 3, 4, concentration=3.0, top_k=20),
    Setting(32768, 4, 4, concentration=3.0, top_k=20),
    Setting(32768, 3, 4, concentration=3.0, top_k=50),
)
A_THOUSAND = ((10, 3, 2), (31, 2, 3), (5, 4, 4), (1000, 1, 2))
CERTIFIED = (
    *(Setting(*size, *laws) for size in A_THOUSAND for laws in (MILD, SPREAD)),
    Setting(64, 2, 4, *MILD),
    Setting(64, 2, 4, *SPREAD),
)
PLAIN = (Setting(64, 2, 4),)
AGAINST_ENUMERATION = (Setting(2, 3, 2), Setting(3, 2, 3), Setting(2, 4, 2))
SMOKE = (Setting(4, 2, 2),)
REPLACED = (
    ("flat", {}),
    *(("logits", {"similarity": s, "concentration": c}) for s in (0.0, 0.5, 0.9) for c in (1.0, 2.0)),
)


def large_trees(settings: tuple[Setting, ...]) -> None:
    """The table of the slope programs."""
    print("large trees: slope programs, bracket proven in rationals")
    print(
        "    V  L  K  top-k  simil.  scale   nodes   build   solve  separate  repair   proof  rounds    rows"
        "    cuts  iterations  peak MB    upper bound  relative width"
    )
    for s in settings:
        instance = s.instance()
        found = slope_phase(instance, s.paths)
        start = time.process_time()
        exact = instance.without_leaf_laws().to_exact()
        upper = proven_upper_bound(exact, s.paths, found.weights, found.ratios)
        lower = proven_lower_bound(exact, s.paths, found.feasible)
        proof = time.process_time() - start
        width = float((upper - lower) / upper)
        spent = found.seconds
        print(
            f"{s.vocab:5} {s.depth:2} {s.paths:2} {s.top_k or '-':>6} {s.similarity:7} {s.concentration:6} "
            f"{len(instance.tree):7} {spent['build']:7.2f} {spent['solve']:7.2f} {spent['separate']:9.2f} "
            f"{spent['repair']:7.2f} {proof:7.2f} {found.rounds:7} {found.rows:7} {found.cuts:7} "
            f"{found.iterations:11} {peak_megabytes():8.0f} {float(upper):14.9f} {width:15.1e}",
            flush=True,
        )


def certified_optima(settings: tuple[Setting, ...]) -> None:
    """Certificates in rationals, their verification included."""
    print("\ncertified optima: solve, prove and verify")
    print("    V  L  K  simil.  scale   nodes  seconds  rounds  status")
    for s in settings:
        spent, found = timed(s, "cuts", certify=True)
        print(
            f"{s.vocab:5} {s.depth:2} {s.paths:2} {s.similarity:7} {s.concentration:6} {len(found.budgets):7} "
            f"{spent:8.2f} {found.rounds:7}  {found.verdict}",
            flush=True,
        )


def peak_megabytes() -> float:
    """The largest resident size of this process so far."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (2**20 if sys.platform == "darwin" else 2**10)


def against_plain(settings: tuple[Setting, ...]) -> None:
    """Plain cutting planes, one variable per node and one row per antichain, in the same run."""
    print("\nagainst plain cutting planes (build + solve, floats)")
    print("   V  L  K   nodes  slopes, s  plain, s   ratio  width of slopes   width of plain")
    for s in settings:
        instance = s.instance()
        start = time.process_time()
        fast = slope_phase(instance, s.paths)
        middle = time.process_time()
        slow = cutting_planes(
            BudgetVariables(Problem(instance, IidPaths(s.paths))), starting_program(instance, s.paths)
        )
        end = time.process_time()
        print(
            f"{s.vocab:4} {s.depth:2} {s.paths:2} {len(instance.tree):7} {middle - start:10.2f} {end - middle:9.2f} "
            f"{(end - middle) / (middle - start):7.1f} {fast.upper - fast.lower:16.1e} "
            f"{max(0.0, slow.upper - slow.lower):16.1e}",
            flush=True,
        )


def timed(setting: Setting, method: Method, *, certify: bool = False) -> tuple[float, Optimum]:
    """Processor seconds to build and solve, in floats or with a certificate, and the optimum."""
    instance = setting.instance()
    start = time.process_time()
    optimum = solve_multi_path(instance, setting.paths, method=method, certify=certify)
    return time.process_time() - start, optimum


def against_enumeration(settings: tuple[Setting, ...]) -> None:
    """The program with every antichain written out, on trees where that can be done."""
    print("\nagainst the enumerated program (build + solve)")
    print("   V  L  K  antichains  cuts, s  enumerated, s   ratio  difference of the optima")
    for s in settings:
        fast, by_cuts = timed(s, "cuts")
        slow, by_list = timed(s, "enumerate")
        count = count_antichains(s.instance().tree)
        print(
            f"{s.vocab:4} {s.depth:2} {s.paths:2}  {count:10}  {fast:7.3f}  {slow:13.3f}  {slow / fast:6.1f}  "
            f"{abs(by_cuts.value - by_list.value):.1e}",
            flush=True,
        )


def any_draft(vocab: int, depth: int, seeds: int) -> None:
    """Two draws at each node with replacement, where certificates are not tried."""
    drafting = WithReplacement(*(2,) * depth)
    print(f"\nany draft: {drafting} at V = {vocab}, L = {depth}, both ends proven in rationals")
    print("  family  simil.  scale  seed   nodes  seconds  rounds    rows    upper bound  relative width")
    for (family, laws), seed in itertools.product(REPLACED, range(seeds)):
        instance = random_instance(family, vocab, depth, seed, **laws)
        spent, found = seconds_of(instance, drafting)
        low, high = found.proven or found.bracket
        print(
            f"{family:>8} {laws.get('similarity', '-'):>7} {laws.get('concentration', '-'):>6} {seed:5} "
            f"{len(instance.tree):7} {spent:8.2f} {found.rounds:7} {found.rows:7} {float(high):14.9f} "
            f"{float((high - low) / high):15.1e}",
            flush=True,
        )


def iid_as_a_drafting(settings: tuple[Setting, ...]) -> None:
    """The draft iid:K against the number K, in the same run: one route, so that the ratio should be 1."""
    print("\niid:K against K paths")
    print("    V  L  K  simil.  scale   nodes  iid:K, s  K, s   ratio")
    for s in settings:
        instance = s.instance()
        seconds_of(instance, s.paths)  # what is remembered of an instance is remembered for both
        general = min(seconds_of(instance, IidPaths(s.paths))[0] for _ in range(2))
        paths = min(seconds_of(instance, s.paths)[0] for _ in range(2))
        print(
            f"{s.vocab:5} {s.depth:2} {s.paths:2} {s.similarity:7} {s.concentration:6} {len(instance.tree):7} "
            f"{general:9.2f} {paths:5.2f} {general / paths:7.2f}",
            flush=True,
        )


def seconds_of(instance: Instance, drafted: int | Drafting) -> tuple[float, Optimum]:
    """Processor seconds to solve, prove and verify, and the optimum."""
    start = time.process_time()
    found = solve_multi_path(instance, drafted)
    return time.process_time() - start, found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description="Times of LP_K: large trees, certificates, other drafts, plain cuts, enumeration."
    )
    parser.add_argument("--smoke", action="store_true", help="one small size in each table")
    smoke = parser.parse_args().smoke
    print(f"{os.cpu_count()} cores; seed 0; processor seconds of one process\n")
    large_trees((*SMOKE, Setting(100, 2, 2, top_k=5)) if smoke else LARGE)
    certified_optima(SMOKE if smoke else CERTIFIED)
    any_draft(*(4, 2, 1) if smoke else (8, 4, 2))
    iid_as_a_drafting(SMOKE if smoke else CERTIFIED[:4])
    against_plain(SMOKE if smoke else PLAIN)
    against_enumeration(SMOKE if smoke else AGAINST_ENUMERATION)


if __name__ == "__main__":
    main()
