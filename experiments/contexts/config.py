"""What `nodebudget contexts` is asked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

LARGEST_TREE = 100_000
"""Most nodes of a context's tree."""


@dataclass(frozen=True)
class ContextsConfig:
    """What to keep.

    Attributes:
        prompts: as `load_prompts` takes them.
        length: drafted tokens L that the contexts will be evaluated with, at most.
        top_k: the likeliest draft tokens after each node get a node; laws of a smaller top-k fit in, too.
        pair: a preset's name; or None, with `target` and `draft` as `load_pair` takes them.
        contexts: how many, one after each of the first prompts.
        continued: at most so many tokens of the target's own follow the prompt in a context; how many is drawn anew
            for each, uniformly from 0 to this number. They are sampled at temperature 1 with `top_k`.
        keep: logits of each row that are kept, at least top_k + 1.
        temperatures: those for which the mass of all other tokens is kept, for laws of top-p without top-k.
        seed: of the continuations.
        dtype, device: as `load_pair` takes them.

    Raises:
        ValueError: for a number out of its range.
    """

    prompts: str
    length: int
    top_k: int = 8
    pair: str | None = None
    target: str | None = None
    draft: str | None = None
    contexts: int = 32
    continued: int = 32
    keep: int = 64
    temperatures: tuple[float, ...] = (0.2, 0.6, 1.0)
    seed: int = 0
    dtype: str = "auto"
    device: str | None = None

    def __post_init__(self) -> None:
        for option, value, least in (
            ("--length", self.length, 1),
            ("--top-k", self.top_k, 1),
            ("--contexts", self.contexts, 1),
            ("--continued", self.continued, 0),
            ("--keep", self.keep, self.top_k + 1),
            ("--seed", self.seed, 0),
        ):
            if value < least:
                raise ValueError(f"{option}: got {value}; expected at least {least}")
        if self.rows > LARGEST_TREE:
            raise ValueError(
                f"--length {self.length} with --top-k {self.top_k}: more than {LARGEST_TREE} rows of each model in a "
                "context; expected less of one of them"
            )
        if not self.temperatures or min(self.temperatures) <= 0 or max(self.temperatures) == float("inf"):
            said = ",".join(f"{each:g}" for each in self.temperatures) or "none"
            raise ValueError(f"--temperatures: got {said}; expected finite ones above 0")

    @property
    def rows(self) -> int:
        """Rows of each model in a context, where no two draft tokens tie."""
        total, level = 0, 1
        for _ in range(self.length):
            total += level
            if total > LARGEST_TREE:
                break
            level *= self.top_k
        return total

    def document(self) -> dict[str, Any]:
        """The configuration as it stands in a file."""
        return asdict(self)
