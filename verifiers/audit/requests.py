"""What a sampler is shown: drafted paths of an instance with the laws along them, in numpy or in torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from nodebudget.lp.trees import full_size

from ..default_instances import TrialInstance

STRING_LIMIT = 1_000_000
"""Most strings of L + 1 tokens whose law is tested."""

Drafter = Callable[[Any, int, Any], tuple[Any, Any]]
"""From (instance, K, generator) to K x L token ids and the (K, L, V) draft rows that the sampler is told."""


class Request(NamedTuple):
    """What one call is given, apart from the generator; with a leading batch dimension in a batch."""

    paths: Any  # (K, L) token ids
    target: Any  # (K, L + 1, V) target rows
    draft: Any  # (K, L, V) draft rows


@dataclass(frozen=True)
class Backend:
    """Where the arrays of a request live.

    Attributes:
        library: "numpy" or "torch".
        dtype: of the rows, "float64" or "float32".
        device: of torch arrays and generators.
    """

    library: str = "numpy"
    dtype: str = "float64"
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.library not in ("numpy", "torch"):
            raise ValueError(f"library: got {self.library!r}; expected 'numpy' or 'torch'")
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"dtype: got {self.dtype!r}; expected 'float64' or 'float32'")
        if self.library == "torch":
            import torch

            if torch.device(self.device).type == "cuda" and not torch.cuda.is_available():
                raise ValueError(
                    f"device: got {self.device!r}, and torch sees no CUDA device; expected 'cpu'"
                )

    def generator(self, seed: int) -> Any:
        """A random generator of the library, on the device."""
        if self.library == "numpy":
            return np.random.default_rng(seed)
        import torch

        return torch.Generator(self.device).manual_seed(seed)

    def rows(self, values: Any) -> Any:
        """Laws as a fresh array."""
        array = np.array(values, dtype=self.dtype)
        return array if self.library == "numpy" else self._tensor(array)

    def ids(self, values: Any) -> Any:
        """Token ids as a fresh integer array."""
        array = np.array(values, dtype=np.int64)
        return array if self.library == "numpy" else self._tensor(array)

    def request(self, paths: Any, target: Any, draft: Any) -> Request:
        """A request of fresh arrays, which the sampler may spoil without harm to the audit."""
        return Request(self.ids(paths), self.rows(target), self.rows(draft))

    def _tensor(self, array: np.ndarray[Any, Any]) -> Any:
        import torch

        return torch.from_numpy(array).to(self.device)


class Source:
    """Draws requests of one trial instance, and judges what comes back by the target's law of L + 1 tokens."""

    def __init__(self, trial: TrialInstance, drafter: Drafter | None) -> None:
        instance = trial.instance
        tree = instance.tree
        self.trial = trial
        self.vocab, self.depth = tree.vocab, tree.depth
        if len(tree) != full_size(tree.vocab, tree.depth):
            raise ValueError(f"instance {trial.name!r}: its tree is sparse; expected one on the full tree")
        if self.vocab ** (self.depth + 1) > STRING_LIMIT:
            raise ValueError(
                f"instance {trial.name!r}: {self.vocab} tokens to the power {self.depth + 1} are too many strings "
                f"to test; expected at most {STRING_LIMIT} (a smaller vocabulary or depth)"
            )
        self.drafter = drafter
        self._target = np.array([[float(x) for x in instance.target_law(z)] for z in range(len(tree))])
        inner = tree.leaves.start
        self._draft = np.array([[float(x) for x in instance.draft_law(z)] for z in range(inner)])
        self._level_start = np.array([tree.level(d).start for d in range(self.depth + 1)])
        # The number of a string is that of its node within the level: tokens are digits in base V.
        leaf_mass = np.array([float(x) for x in instance.joint_draft[inner:]])
        self._leaf_cumulative = np.cumsum(leaf_mass) / leaf_mass.sum()
        self.expected = (
            np.array([float(x) for x in instance.joint_target[inner:]])[:, None] * self._target[inner:]
        ).ravel()

    def draw(self, count: int, rng: np.random.Generator, coins: Any) -> list[tuple[Any, Any, Any]]:
        """`count` requests as (paths, target rows, draft rows) on the host.

        `rng` is the audit's own; `coins` is the generator that a user's drafter is given.
        """
        if self.drafter is None:
            paths = self._digits(self._draw_leaves(rng, (count, self.trial.paths)))
            nodes = self._nodes(paths)
            return list(zip(paths, self._target[nodes], self._draft[nodes[..., :-1]], strict=True))
        return [self._drafted(self.drafter, coins) for _ in range(count)]

    def complete(self, emitted: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
        """The numbers of the strings of L + 1 tokens; what an output leaves open (-1) is drawn from the target."""
        codes = np.zeros(len(emitted), dtype=np.int64)
        for i in range(self.depth + 1):
            rows = np.cumsum(self._target[self._level_start[i] + codes], axis=1)
            drawn = (rows <= rng.random(len(codes))[:, None] * rows[:, -1:]).sum(1)
            codes = codes * self.vocab + np.where(emitted[:, i] < 0, drawn, emitted[:, i])
        return codes

    def prefix_mass(self, tokens: Any) -> float:
        """The target's probability of a string of at most L + 1 tokens."""
        left = self.vocab ** (self.depth + 1 - len(tokens))
        code = 0
        for y in tokens:
            code = code * self.vocab + int(y)
        return float(self.expected[code * left : (code + 1) * left].sum())

    def _draw_leaves(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        return np.searchsorted(self._leaf_cumulative, rng.random(shape), side="right")

    def _digits(self, codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        powers = self.vocab ** np.arange(self.depth)[::-1]
        return codes[..., None] // powers % self.vocab

    def _nodes(self, paths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """(..., L + 1): the node of the full tree after each prefix of the paths."""
        codes = np.zeros((*paths.shape[:-1], self.depth + 1), dtype=np.int64)
        for i in range(self.depth):
            codes[..., i + 1] = codes[..., i] * self.vocab + paths[..., i]
        return codes + self._level_start

    def _drafted(self, drafter: Drafter, coins: Any) -> tuple[Any, Any, Any]:
        paths, draft = drafter(self.trial.instance, self.trial.paths, coins)
        paths, draft = np.asarray(paths), np.asarray(draft, dtype=np.float64)
        wanted = (self.trial.paths, self.depth)
        if paths.shape != wanted or draft.shape != (*wanted, self.vocab):
            raise ValueError(
                f"drafter: got paths of shape {paths.shape} with draft rows of shape {draft.shape}; expected "
                f"{wanted} and {(*wanted, self.vocab)}"
            )
        if not (np.issubdtype(paths.dtype, np.integer) and (paths >= 0).all() and (paths < self.vocab).all()):
            raise ValueError(f"drafter: got the paths {paths.tolist()}; expected tokens 0..{self.vocab - 1}")
        return paths, self._target[self._nodes(paths)], draft
