"""What `nodebudget optimality` is asked."""

from __future__ import annotations

from dataclasses import dataclass

from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.numbers.rationals import shortened
from nodebudget.verifiers import VERIFIERS

LARGEST_TREE = 100_000


@dataclass(frozen=True)
class OptimalityConfig:
    """What to compute.

    Attributes:
        pair: a preset's name; or None, with `target` and `draft` as `load_pair` takes them.
        prompts: as `load_prompts` takes them.
        contexts: how many, one after each of the first prompts.
        continued: at most so many tokens of the target's own follow the prompt in a context; how many is drawn
            anew for each, uniformly from 0 to this number.
        paths: numbers K of drafted paths.
        length: drafted tokens L.
        temperature, top_k, top_p: of both models, as in `SamplingLaw`.
        nodes: most nodes of a tree; one that would be larger is made shorter.
        verifiers: names as `get_verifier` takes them.
        samples: random drafted tuples for a verifier whose value takes no single pass over the tree.
        seed: of the continuations and of the drafted tuples.
        dtype, device: as `load_pair` takes them.

    Raises:
        ValueError: for a number out of its range, no K or verifier, or one that is named twice.
    """

    prompts: str
    paths: tuple[int, ...]
    length: int
    pair: str | None = None
    target: str | None = None
    draft: str | None = None
    contexts: int = 32
    continued: int = 32
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    nodes: int = 2000
    verifiers: tuple[str, ...] = tuple(VERIFIERS)
    samples: int = 500
    seed: int = 0
    dtype: str = "auto"
    device: str | None = None

    def __post_init__(self) -> None:
        for option, value, least, most in (
            ("--contexts", self.contexts, 1, None),
            ("--continued", self.continued, 0, None),
            ("--length", self.length, 1, None),
            ("--nodes", self.nodes, 2, LARGEST_TREE),
            ("--samples", self.samples, 2, None),
            ("--seed", self.seed, 0, None),
        ):
            if value < least or (most is not None and value > most):
                allowed = f"at least {least}" if most is None else f"from {least} to {most}"
                raise ValueError(f"{option}: got {value}; expected {allowed}")
        for option, several in (("--paths", self.paths), ("--verifiers", self.verifiers)):
            if not several or len(set(several)) < len(several):
                said = ",".join(map(str, several)) or "none"
                raise ValueError(f"{option}: got {said}; expected at least one, each of them once")
        for paths in self.paths:
            check_paths(paths)


def parse_numbers(option: str, text: str) -> tuple[int, ...]:
    """Integers separated by commas; ValueError names the option."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise ValueError(
            f"{option}: got {shortened(text)}; expected integers separated by commas, such as 1,2,4"
        )
    return tuple(map(int, parts))
