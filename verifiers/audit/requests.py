"""What a sampler is shown: drafted paths of an instance with the laws along them, in numpy or in torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from nodebudget.lp.instances.trees import full_size

from .trial_instances import TrialInstance

STRING_LIMIT = 1_000_000
"""Most strings of L + 1 tokens whose law is tested."""

Drafter = Callable[[Any, int, Any], tuple[Any, Any]]
"""From (instance, K, generator) to K x L token ids and the (K, L, V) draft rows that the sampler is told."""


@dataclass(frozen=True)
class Request:
    """What one call is given, apart from the generator.

    Attributes:
        arguments: (paths, target rows, draft rows), with a leading batch dimension in a batch; or one `TokenTree`.
        parts: the arrays among them, by name; "target rows" and "draft rows" are always there.
        depth, vocab: of the instance.
    """

    arguments: tuple[Any, ...]
    parts: dict[str, Any]
    depth: int
    vocab: int


class Drawn(NamedTuple):
    """Drafted paths on the host, with the names that their tokens go by.

    A lossless sampler is lossless under any names, so the same instance with its tokens renamed is another one
    of the same shape: rows of a batch can differ, and every token can be the first or the last of the vocabulary.
    """

    paths: Any  # (K, L), renamed like the rows
    target: Any  # (K, L + 1, V)
    draft: Any  # (K, L, V)
    names: Any = None  # (V,): names[y] is what the instance's token y is called

    @property
    def accepted(self) -> str:
        """What all emitted tokens but the last must do, for messages."""
        return "begin one of the paths"

    @property
    def text(self) -> str:
        """What was drafted, for messages."""
        return f"paths {self.paths.tolist()}"

    def original(self, tokens: Any) -> Any:
        """The instance's tokens from names; what is negative stays as it is."""
        return np.where(tokens < 0, tokens, np.argsort(self.names)[tokens])

    def has(self, tokens: tuple[int, ...]) -> bool:
        """Whether tokens begin one of the paths."""
        return any(tuple(path[: len(tokens)]) == tokens for path in self.paths.tolist())

    def request(self, backend: Backend) -> Request:
        """Fresh arrays, which the sampler may spoil without harm to the audit."""
        parts = {
            "paths": backend.ids(self.paths),
            "target rows": backend.rows(self.target),
            "draft rows": backend.rows(self.draft),
        }
        return Request(tuple(parts.values()), parts, *map(int, self.draft.shape[-2:]))


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

            try:
                device = torch.device(self.device)
            except RuntimeError:
                raise ValueError(f"device: got {self.device!r}; expected 'cpu', 'cuda' or 'cuda:0'") from None
            if device.type == "cuda" and not torch.cuda.is_available():
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

    def _tensor(self, array: np.ndarray[Any, Any]) -> Any:
        import torch

        return torch.from_numpy(array).to(self.device)


class Source:
    """Draws requests of one trial instance, and judges what comes back by the target's law of L + 1 tokens.

    What is drafted are K i.i.d. paths, or what a user's drafter gives; `TreeSource` has any other drafting.
    """

    def __init__(self, trial: TrialInstance, drafter: Drafter | None) -> None:
        instance = trial.instance
        tree = instance.tree
        self.trial = trial
        self.vocab, self.depth = tree.vocab, tree.depth
        if self.vocab < 2:
            raise ValueError(f"instance {trial.name!r}: it has one token; expected at least two")
        if len(tree) != full_size(tree.vocab, tree.depth):
            raise ValueError(f"instance {trial.name!r}: its tree is sparse; expected one on the full tree")
        if self.vocab ** (self.depth + 1) > STRING_LIMIT:
            raise ValueError(
                f"instance {trial.name!r}: {self.vocab} tokens to the power {self.depth + 1} are too many strings "
                f"to test; expected at most {STRING_LIMIT} (a smaller vocabulary or depth)"
            )
        self.drafter = drafter
        self._paths = trial.problem.paths or 0
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

    def draw(self, count: int, rng: np.random.Generator, coins: Any, *, renamed: float = 0.0) -> list[Any]:
        """`count` requests, a share `renamed` of them with their tokens renamed at random.

        `rng` is the audit's own; `coins` is the generator that a user's drafter is given. A drafter may share
        randomness with the sampler, so its requests are never renamed.
        """
        same = np.arange(self.vocab)
        if self.drafter is not None:
            return [Drawn(*self._drafted(self.drafter, coins), same) for _ in range(count)]
        paths = self._digits(self._draw_leaves(rng, (count, self._paths)))
        nodes = self._nodes(paths)
        target, draft = self._target[nodes], self._draft[nodes[..., :-1]]
        names = np.tile(same, (count, 1))
        chosen = rng.random(count) < renamed
        if chosen.any():
            names[chosen] = rng.permuted(names[chosen], axis=1)
            paths = np.take_along_axis(names[:, None, :], paths, axis=2)
            back = np.argsort(names, axis=1)[:, None, None, :]
            target = np.take_along_axis(target, np.broadcast_to(back, target.shape), axis=3)
            draft = np.take_along_axis(draft, np.broadcast_to(back, draft.shape), axis=3)
        return [Drawn(*parts) for parts in zip(paths, target, draft, names, strict=True)]

    def first_off(self, tokens: np.ndarray[Any, Any], drawn: Sequence[Any]) -> int | None:
        """The first output (n, L + 1), padded with -1, whose tokens but the last were not drafted."""
        accepted = (tokens >= 0).sum(1) - 1
        agree = tokens[:, None, :-1] == np.array([one.paths for one in drawn])
        beyond = np.arange(self.depth) >= accepted[:, None, None]
        off = ~(agree | beyond).all(2).any(1)
        return int(np.argmax(off)) if off.any() else None

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
        drafted = drafter(self.trial.instance, self._paths, coins)
        try:
            paths, draft = drafted
            paths, draft = np.asarray(paths), np.asarray(draft, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"drafter: got {drafted!r}; expected a pair of paths and draft rows") from None
        wanted = (self._paths, self.depth)
        if paths.shape != wanted or draft.shape != (*wanted, self.vocab):
            raise ValueError(
                f"drafter: got paths of shape {paths.shape} with draft rows of shape {draft.shape}; expected "
                f"{wanted} and {(*wanted, self.vocab)}"
            )
        if not (np.issubdtype(paths.dtype, np.integer) and (paths >= 0).all() and (paths < self.vocab).all()):
            raise ValueError(f"drafter: got the paths {paths.tolist()}; expected tokens 0..{self.vocab - 1}")
        if not ((draft >= 0).all() and np.allclose(draft.sum(-1), 1, rtol=0, atol=1e-6)):
            raise ValueError("drafter: a draft row is no law (negative, NaN, or a sum other than 1)")
        return paths, self._target[self._nodes(paths)], draft
