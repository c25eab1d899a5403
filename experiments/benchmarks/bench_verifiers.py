"""What verification costs, from drafted rows to the sampled token, in passes over the rows of one path.

    python -m nodebudget.experiments.bench_verifiers [--vocab 32000 --vocab 152064 ...] [--smoke]

The unit is `minimum(target, draft).sum()` over the L rows of one path: the least that any verifier reads. Unit
and verifier alternate in one run, and the ratio of their median times is printed, building the tree included: CPU time
of one thread, or wall-clock time of several.
Memory is what numpy allocates beyond the given rows, at most at once, in rows of the laws' precision times L.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from nodebudget.experiments.arguments import integer
from nodebudget.verifiers import VERIFIERS, DraftTree, PathNodes, sample

LENGTH = 8
LAWS = {"mild": (1.0, 0.5), "peaked": (4.0, 0.5), "close": (1.0, 1e-3)}
"""Scale of the target's normal logits, and the draft's noise on them in that scale."""


def drafted_rows(
    vocab: int, paths: int, scale: float, noise: float, top_k: int | None, dtype: Any
) -> tuple[PathNodes, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Paths drafted from the draft's own laws, and the laws of both models at their nodes."""
    rng = np.random.default_rng(0)
    target_logits = scale * rng.standard_normal((LENGTH + 1, vocab), dtype=np.float32)
    moved = scale * noise * rng.standard_normal((LENGTH + 1, vocab), dtype=np.float32)
    target, draft = (laws(logits, top_k) for logits in (target_logits, target_logits + moved))
    tokens = np.array([[rng.choice(vocab, p=row) for row in draft[:-1]] for _ in range(paths)])
    nodes = PathNodes(tokens)
    # Laws depend on the depth alone: it is the number of rows that counts here.
    return nodes, target[nodes.lengths].astype(dtype), draft[nodes.lengths[: nodes.inner]].astype(dtype)


def laws(logits: np.ndarray[Any, Any], top_k: int | None) -> np.ndarray[Any, Any]:
    """Softmax of logits cut to their largest."""
    masses = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    if top_k is not None and top_k < logits.shape[1]:
        masses[logits < np.partition(logits, -top_k, axis=1)[:, -top_k, None]] = 0
    return masses / masses.sum(axis=1, keepdims=True)


def alternated(
    first: Callable[[], Any], second: Callable[[], Any], repeats: int, clock: Callable[[], float]
) -> tuple[float, float]:
    """Median seconds of two things that take turns."""
    times: list[tuple[float, float]] = []
    for _ in range(repeats + 1):
        start = clock()
        first()
        middle = clock()
        second()
        times.append((middle - start, clock() - middle))
    one, other = (statistics.median(column[1:]) for column in zip(*times, strict=True))
    return one, other


def main() -> None:
    """Print one line for each setting."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vocab", type=integer, action="append", help="vocabulary size; repeat for more")
    parser.add_argument("--paths", type=integer, action="append", help="number of paths; repeat for more")
    parser.add_argument(
        "--verifier", action="append", choices=tuple(VERIFIERS), help="repeat for more; default: all"
    )
    parser.add_argument("--kind", action="append", choices=("numpy", "torch"), help="default: numpy")
    parser.add_argument("--rows", default="float32", choices=("float32", "float64"), help="of both models")
    parser.add_argument("--dtype", default="float64", choices=("float32", "float64"), help="of the laws")
    parser.add_argument("--laws", action="append", choices=tuple(LAWS), help="default: mild and peaked")
    parser.add_argument("--top-k", type=integer, action="append", help="0 for all tokens; default: 0 and 50")
    parser.add_argument("--repeats", type=integer, default=5)
    parser.add_argument("--threads", type=integer, default=1, help="of torch")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes")
    options = parser.parse_args()
    if options.smoke:
        options.vocab, options.paths, options.repeats = [100], [1, 2], 1
    kinds = options.kind or ["numpy"]
    if "torch" in kinds:
        import torch

        torch.set_num_threads(options.threads)
    # A thread that waits for work takes processor time too.
    clock, what = (time.process_time, "CPU") if options.threads == 1 else (time.perf_counter, "wall-clock")
    print(
        f"{os.cpu_count()} cores; L = {LENGTH}, {options.rows} rows, {options.dtype} laws, medians of {what} time"
    )
    print(f"{'verifier':10} {'K':>2} {'V':>7} {'kind':5} {'laws':6} {'top-k':>5} {'unit ms':>8} {'ms':>8} "
          f"{'units':>7} {'units/K':>7} {'memory/L':>8}")  # fmt: skip
    for vocab in options.vocab or [32_000]:
        for kind_of_laws in options.laws or ["mild", "peaked"]:
            for top_k in [0, 50] if options.top_k is None else options.top_k:
                for paths in options.paths or [1, 4]:
                    for kind in kinds:
                        rows = drafted_rows(vocab, paths, *LAWS[kind_of_laws], top_k or None, options.rows)
                        for name in options.verifier or VERIFIERS:
                            if paths == 1 or VERIFIERS[name].multipath:
                                line = measured(name, rows, kind, options.dtype, options.repeats, clock)
                                setting = f"{name:10} {paths:2} {vocab:7} {kind:5} {kind_of_laws:6} {top_k or 'all':>5}"
                                print(f"{setting} {line}", flush=True)


def measured(
    name: str,
    given: tuple[PathNodes, Any, Any],
    kind: str,
    dtype: str,
    repeats: int,
    clock: Callable[[], float],
) -> str:
    """Unit and verifier in milliseconds, their ratio, as it is and over K, and peak memory where it can be seen."""
    nodes: PathNodes
    target: Any
    draft: Any
    nodes, target, draft = given
    on_path = nodes.path_nodes[0, :-1]
    path_target: Any
    path_draft: Any
    path_target, path_draft = (np.ascontiguousarray(rows[on_path]) for rows in (target, draft))
    minimum: Any = np.minimum
    if kind == "torch":
        import torch

        minimum = torch.minimum
        target, draft, path_target, path_draft = map(
            torch.from_numpy, (target, draft, path_target, path_draft)
        )

    def unit() -> None:
        minimum(path_target, path_draft).sum()

    def verify() -> None:
        tree = DraftTree(nodes, target, draft, dtype=dtype)
        sample(VERIFIERS[name].law(tree), np.random.default_rng(0))

    one, other = alternated(unit, verify, repeats, clock)
    memory = "-"
    if kind == "numpy":
        tracemalloc.start()
        verify()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        memory = f"{peak / (np.dtype(dtype).itemsize * target.shape[1] * nodes.depth):.1f}"
    ratio = other / max(one, 1e-9)
    return f"{1000 * one:8.2f} {1000 * other:8.1f} {ratio:7.1f} {ratio / nodes.paths:7.1f} {memory:>8}"


if __name__ == "__main__":
    main()
