"""What verification of drafted trees costs, against recursive rejection of the same tree.

    python -m nodebudget.experiments.bench_trees [--vocab 32000 ...] [--drafting with:2,2,2,2 ...] [--smoke]

Recursive rejection (SpecInfer, of i.i.d. paths and of draws with replacement) and each verifier alternate in one run,
and the ratio of their median times is printed, building the tree and drawing the sample included: CPU time of one
thread. For a draft of the likeliest and one sample, greedy tree sampling is what the others are compared with. Units
are passes over the rows of one path, as bench_verifiers has them. Gumbel-list sampling, whose law is a sum over V^K
terms, and optimal transport without replacement, which is a flow, are for small vocabularies and left out.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from nodebudget.experiments.arguments import integer
from nodebudget.experiments.benchmarks.bench_verifiers import LAWS, alternated, laws
from nodebudget.lp.drafting import Drafting, LikeliestAndSample, parse_drafting
from nodebudget.lp.drafting.grown import GrownTree
from nodebudget.verifiers import DraftTree, PathNodes, TreeNodes, get_verifier, sample

DRAFTINGS = ("iid:4", "with:2,2,2,2", "top-sample:2,2,2,2", "without:2,2,2,2")
PATH_LENGTH = 8
"""Of i.i.d. paths."""

NAMES = (
    "specinfer",
    "recursive-rejection",
    "greedy",
    "univer",
    "transport",
    "lift:recursive-rejection",
    "lift:transport",
    "recycle:gbv",
    "race",
)
HEAVY = {("without", "transport"), ("without", "lift:transport")}
"""What takes a flow at every node, and is for small vocabularies."""


def drawn_tree(spec: str, vocab: int, scale: float, noise: float) -> tuple[Any, Any, Any, Drafting]:
    """A tree drawn from laws that depend on the depth alone, with the rows of both models, float32."""
    drafting = parse_drafting(spec)
    assert isinstance(drafting, GrownTree)
    depth = PATH_LENGTH if spec.startswith("iid") else len(spec.split(","))
    rng = np.random.default_rng(0)
    target_logits = scale * rng.standard_normal((depth + 1, vocab), dtype=np.float32)
    moved = scale * noise * rng.standard_normal((depth + 1, vocab), dtype=np.float32)
    target, draft = (laws(logits, None) for logits in (target_logits, target_logits + moved))
    strings: list[tuple[int, ...]] = []
    level: list[tuple[int, ...]] = [()]
    for row, count in zip(draft[:-1], drafting.counts(depth), strict=True):
        level = [(*path, token) for path in level for token in _children(drafting, row, count, rng)]
        strings += level
    nodes = PathNodes(level) if spec.startswith("iid") else TreeNodes(strings)
    lengths = nodes.lengths
    return nodes, target[lengths].astype("f4"), draft[lengths[: nodes.inner]].astype("f4"), drafting


def _children(drafting: Drafting, row: np.ndarray, count: int, rng: np.random.Generator) -> list[int]:
    if isinstance(drafting, LikeliestAndSample):
        top = np.argsort(-row)[: count - 1]
        rest = row.copy()
        rest[top] = 0
        return [*top.tolist(), int(rng.choice(len(row), p=rest / rest.sum()))]
    replaced = not str(drafting).startswith("without")
    return list(rng.choice(len(row), size=count, replace=replaced, p=row).tolist())


def main() -> None:
    """Print one line for each vocabulary, draft and verifier."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vocab", type=integer, action="append", help="vocabulary size; repeat for more")
    parser.add_argument(
        "--drafting", action="append", help=f"repeat for more; default: {' '.join(DRAFTINGS)}"
    )
    parser.add_argument("--verifier", action="append", help=f"repeat for more; default: {' '.join(NAMES)}")
    parser.add_argument("--laws", default="mild", choices=tuple(LAWS))
    parser.add_argument("--repeats", type=integer, default=5)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes")
    options = parser.parse_args()
    if options.smoke:
        options.vocab, options.repeats = [100], 1
    print(f"{options.laws} laws, float32 rows, medians of CPU time")
    print(f"{'drafting':18} {'V':>7} {'verifier':28} {'ms':>8} {'units':>7} {'ratio':>6}")
    for vocab in options.vocab or [32_000]:
        for spec in options.drafting or DRAFTINGS:
            given = drawn_tree(spec, vocab, *LAWS[options.laws])
            for name in options.verifier or NAMES:
                if (spec.partition(":")[0], name) not in HEAVY and get_verifier(name).needs.met(given[-1]):
                    print(
                        f"{spec:18} {vocab:7} {name:28} {measured(name, given, options.repeats)}", flush=True
                    )


def measured(name: str, given: tuple[Any, Any, Any, Drafting], repeats: int) -> str:
    """Milliseconds, passes over the rows of one path, and the ratio to the verifier that all are compared with."""
    nodes, target, draft, drafting = given
    plain = "greedy" if isinstance(drafting, LikeliestAndSample) else "recursive-rejection"

    def run(verifier: str) -> None:
        tree = DraftTree(nodes, target, draft, drafting=drafting)
        sample(get_verifier(verifier).law(tree), np.random.default_rng(0))

    one, other = alternated(lambda: run(plain), lambda: run(name), repeats, time.process_time)
    path = target[: nodes.depth], draft[:1].repeat(nodes.depth, axis=0)
    unit, _ = alternated(lambda: np.minimum(*path).sum(), lambda: None, repeats, time.process_time)
    return f"{1000 * other:8.1f} {other / max(unit, 1e-9):7.1f} {other / max(one, 1e-9):6.2f}"


if __name__ == "__main__":
    main()
