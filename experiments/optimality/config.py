"""What `nodebudget optimality` is asked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.numbers.rationals import shortened
from nodebudget.verifiers import VERIFIERS, get_verifier

from ..contexts.config import LARGEST_TREE
from ..sweep.drafted import check_fits, check_verifiers, text_of

if TYPE_CHECKING:
    from ..contexts import KeptContexts


@dataclass(frozen=True)
class OptimalityConfig:
    """What to compute.

    Attributes:
        pair: a preset's name; or None, with `target` and `draft` as `load_pair` takes them.
        prompts: as `load_prompts` takes them.
        contexts: how many, one after each of the first prompts.
        continued: at most so many tokens of the target's own follow the prompt in a context; how many is drawn
            anew for each, uniformly from 0 to this number.
        paths: numbers K of drafted paths; empty where `drafting` says what is drafted.
        length: drafted tokens L.
        temperature, top_k, top_p: of both models, as in `SamplingLaw`.
        nodes: most nodes of a tree; one that would be larger is made shorter.
        verifiers: names as `get_verifier` takes them.
        samples: random drafted tuples for a verifier whose value takes no single pass over the tree.
        seed: of the continuations and of the drafted tuples.
        dtype, device: as `load_pair` takes them.
        drafting: what is drafted, as `sweep.drafted.text_of` takes it, instead of `paths`.
        kept: a digest of the kept contexts that are gone through; None where the models are run.

    Raises:
        ValueError: for a number out of its range, no K or verifier, or one that is named twice; both `paths` and
            `drafting`; a drafting for another length, a fixed tree (its tokens are those of one context), and one for
            which no verifier is defined.
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
    drafting: tuple[str, ...] = ()
    kept: str | None = None

    @classmethod
    def of_kept(cls, kept: KeptContexts, **what: Any) -> OptimalityConfig:
        """A configuration for kept contexts, which say what pair and prompts they are of.

        `what` is the rest, without `nodes` (all are there) and with `contexts` where fewer than all are wanted.
        """
        about = kept.document["config"]
        same = {
            name: about[name]
            for name in ("prompts", "pair", "target", "draft", "continued", "dtype", "device")
        }
        wanted = what.pop("contexts", len(kept))
        if wanted > len(kept):
            raise ValueError(f"--contexts: got {wanted}; expected at most {len(kept)}, as many as were kept")
        return cls(**same, contexts=wanted, kept=kept.digest, **what)

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
        if self.paths and self.drafting:
            raise ValueError("--paths and --drafting both say what is drafted; give one of them")
        object.__setattr__(self, "drafting", tuple(map(text_of, self.drafting)))
        what = ("--drafting", self.drafting) if self.drafting else ("--paths", self.paths)
        for option, several in (what, ("--verifiers", self.verifiers)):
            if not several or len(set(several)) < len(several):
                said = ",".join(map(str, several)) or "none"
                raise ValueError(f"{option}: got {said}; expected at least one, each of them once")
        for paths in self.paths:
            check_paths(paths)
        for text in self.drafting:
            if text.startswith("tree:"):
                raise ValueError(
                    "--drafting: a fixed tree has the tokens of one context; expected another drafting, or bound "
                    "--drafting for that context"
                )
            check_fits(text, 1, self.length)
        check_verifiers(self.drafted, map(get_verifier, self.verifiers))

    @property
    def drafted(self) -> tuple[str, ...]:
        """What is drafted, in text form, whether it is given by `paths` or by `drafting`."""
        return self.drafting or tuple(f"iid:{paths}" for paths in self.paths)

    def document(self) -> dict[str, Any]:
        """The configuration as it stands in a result file: `drafting` and `kept` only where they say something."""
        return {
            name: value for name, value in asdict(self).items() if name not in ("drafting", "kept") or value
        }


def parse_numbers(option: str, text: str) -> tuple[int, ...]:
    """Integers separated by commas; ValueError names the option."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise ValueError(
            f"{option}: got {shortened(text)}; expected integers separated by commas, such as 1,2,4"
        )
    return tuple(map(int, parts))
