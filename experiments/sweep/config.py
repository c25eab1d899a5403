"""What a sweep goes through, read from a TOML file and frozen."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from nodebudget.lp import Instance, random_instance
from nodebudget.verifiers import VERIFIERS

Method = Literal["float", "exact"]


@dataclass(frozen=True)
class InstanceKey:
    """One instance of a sweep: what `random_instance` needs to draw it again.

    `similarity`, `concentration` and `zeros` are None where the family does not use them.
    """

    family: str
    vocab: int
    depth: int
    similarity: float | None
    concentration: float | None
    zeros: float | None
    seed: int

    def draw(self) -> Instance:
        """The instance."""
        given = {name: getattr(self, name) for name in ("similarity", "concentration", "zeros")}
        used = {name: value for name, value in given.items() if value is not None}
        return random_instance(self.family, self.vocab, self.depth, self.seed, **used)


@dataclass(frozen=True)
class SweepConfig:
    """A sweep: every instance of a product, every K or drafting, every verifier. `config_file.load_config` checks one.

    Attributes:
        families: names in `nodebudget.lp.FAMILIES`.
        vocab, depth, paths: values of V, L and K.
        drafting: what is drafted, as `drafted.text_of` gives it, instead of `paths`, which is then empty.
        seeds: the seeds of every family and size.
        similarity, concentration: for the family `logits` only; see `random_instance`.
        zeros: for the other families only; the probability that a token's weight is zero.
        verifiers: names in the registry, or "module:function".
        method: "exact" certifies every optimum and keeps rationals where the family is exact; "float" computes
            in floats.
        enumerate_up_to: a verifier without a shorter way is evaluated on everything that can be drafted, up to
            this many tuples of paths; above, on `samples` random ones.
        samples: drafted tuples per estimate.
        chunk: instances that a worker takes at once: what an interruption loses at most, per worker.
    """

    families: tuple[str, ...]
    vocab: tuple[int, ...]
    depth: tuple[int, ...]
    paths: tuple[int, ...]
    seeds: tuple[int, ...]
    similarity: tuple[float, ...] = (0.9,)
    concentration: tuple[float, ...] = (1.0,)
    zeros: tuple[float, ...] = (0.0,)
    drafting: tuple[str, ...] = ()
    verifiers: tuple[str, ...] = tuple(VERIFIERS)
    method: Method = "float"
    enumerate_up_to: int = 1000
    samples: int = 1000
    chunk: int = 25

    def document(self) -> dict[str, Any]:
        """The configuration as it stands in a result file: without `drafting` where numbers of paths are given."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
            if name != "drafting" or value
        }

    @property
    def drafted(self) -> tuple[str, ...]:
        """What is drafted, in text form, whether it is given by `paths` or by `drafting`."""
        return self.drafting or tuple(f"iid:{paths}" for paths in self.paths)

    def keys(self) -> Iterator[InstanceKey]:
        """Every instance, in a fixed order."""
        for family, vocab, depth in itertools.product(self.families, self.vocab, self.depth):
            for similarity, concentration, zeros in self._shapes(family):
                for seed in self.seeds:
                    yield InstanceKey(family, vocab, depth, similarity, concentration, zeros, seed)

    def chunks(self) -> list[list[InstanceKey]]:
        """The instances in portions of `chunk`, in the same order."""
        keys = list(self.keys())
        return [keys[start : start + self.chunk] for start in range(0, len(keys), self.chunk)]

    def _shapes(self, family: str) -> list[tuple[float | None, float | None, float | None]]:
        if family == "logits":
            return [(s, c, None) for s, c in itertools.product(self.similarity, self.concentration)]
        return [(None, None, zeros) for zeros in self.zeros]
