"""What is drafted in each block, by whom: paths and trees of the draft, its likeliest strings, or a prompt lookup."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from nodebudget.lp.drafting import Drafting, GivenTree, GrownTree, IidPaths, WithReplacement
from nodebudget.lp.drafting.grown import Counted
from nodebudget.lp.drafting.specs import KINDS, parse_drafting
from nodebudget.lp.numbers.rationals import shortened
from nodebudget.verifiers.drafts.nodes import PathNodes
from nodebudget.verifiers.drafts.tree_nodes import TreeNodes
from torch import Tensor

from .branch_reader import BranchReader
from .caches import CachedModel
from .drafting import draft_paths, keep_drafted
from .prompt_lookup import continuations
from .sampling_laws import SamplingLaw
from .tree_drafting import draft_tree, likeliest_strings

SPECS = (
    "iid:4, with:2,2, without:2,2, top-sample:3,2, top:2,2, delayed:1,4, best-draft:8 (the 8 likeliest strings) or "
    "lookup:2 (2 continuations found in the text so far)"
)


@dataclass(frozen=True)
class Start:
    """Where a block starts.

    Attributes:
        draft: the draft, None where no model is needed.
        tokens: all committed ones; the last of them was not read by the target.
        length: drafted tokens that fit.
        sampling: how logits become laws.
        dtype: of the laws.
        device: of the laws, where no model says.
        vocab: their length.
        rng: of the draws.
    """

    draft: CachedModel | None
    tokens: Sequence[int]
    length: int
    sampling: SamplingLaw
    dtype: torch.dtype
    device: torch.device
    vocab: int
    rng: np.random.Generator


@dataclass(frozen=True)
class Drafted:
    """What was drafted in a block.

    Attributes:
        nodes: the distinct nodes.
        laws: (nodes.inner, V), the draft's, on its device; of a tree without chance they do not matter.
        drafting: of which the tree is one outcome, None for a tree without chance.
        keep: commits the path to an accepted node in the draft's cache, and forgets the rest.
    """

    nodes: TreeNodes
    laws: Tensor
    drafting: Drafting | None
    keep: Callable[[int], None]


class Drafter(ABC):
    """A way to draft.

    Attributes:
        length: the most tokens of a drafted string.
        paths: K where K i.i.d. paths are drafted, else 0.
        uses_model: whether the draft is asked at all.
        drafting: what is drafted, for a verifier to say whether it is defined; of trees that differ from block to block
            some tree.
    """

    length: int
    drafting: Drafting
    paths = 0
    uses_model = True

    @abstractmethod
    def __str__(self) -> str:
        """The text form, without the length where that is asked for on its own."""

    @abstractmethod
    def draft(self, start: Start) -> Drafted | None:
        """Draft a block; None where there is nothing to draft."""


class Paths(Drafter):
    """K i.i.d. paths of one length."""

    def __init__(self, paths: int, length: int) -> None:
        self.paths, self.length = paths, length
        self.drafting = IidPaths(paths)

    def __str__(self) -> str:
        return str(self.drafting)

    def draft(self, start: Start) -> Drafted:
        """Nothing is read from the device but the tokens."""
        draft = start.draft
        assert draft is not None
        uniforms = torch.from_numpy(start.rng.random((self.paths, start.length)))
        drafted = draft_paths(draft, start.tokens[draft.length :], start.sampling, uniforms, start.dtype)
        nodes = PathNodes(drafted.tokens)
        return Drafted(
            nodes, drafted.node_laws(nodes), self.drafting, lambda node: keep_drafted(draft, nodes, node)
        )


class Grown(Drafter):
    """A tree that is grown node by node."""

    def __init__(self, drafting: GrownTree, length: int) -> None:
        self.drafting, self.length = drafting, length
        self.counts: tuple[int, ...] = drafting.counts(length)

    def __str__(self) -> str:
        return str(self.drafting)

    def draft(self, start: Start) -> Drafted:
        """The tokens are read level by level."""
        drafting: Drafting = self.drafting
        if start.length < self.length:  # at the end of the context
            kind = type(drafting) if isinstance(drafting, Counted) else WithReplacement
            drafting = kind(*self.counts[: start.length])
        assert start.draft is not None
        reader = BranchReader(start.draft, start.tokens)
        counts = self.counts[: start.length]
        nodes, laws = draft_tree(reader, start.sampling, drafting, counts, start.rng, start.dtype)
        return Drafted(nodes, laws, drafting, lambda node: _keep(reader, nodes, node))


class LikeliestStrings(Drafter):
    """The N strings that are likeliest under the draft: a tree that expands where the draft is sure."""

    drafting = GivenTree([(0,)])

    def __init__(self, count: int, length: int) -> None:
        self.count, self.length = count, length

    def __str__(self) -> str:
        return f"best-draft:{self.count}"

    def draft(self, start: Start) -> Drafted:
        """The likeliest tokens are read level by level."""
        assert start.draft is not None
        reader = BranchReader(start.draft, start.tokens)
        nodes, laws = likeliest_strings(reader, start.sampling, self.count, start.length, start.dtype)
        return Drafted(nodes, laws, None, lambda node: _keep(reader, nodes, node))


class PromptLookup(Drafter):
    """What followed the last tokens where they stood before, in prompt or output: a draft that costs nothing."""

    drafting = GivenTree([(0,)])
    uses_model = False

    def __init__(self, count: int, length: int) -> None:
        self.count, self.length = count, length

    def __str__(self) -> str:
        return f"lookup:{self.count}"

    def draft(self, start: Start) -> Drafted | None:
        """None where the last token is new."""
        found = continuations(start.tokens, self.count, start.length)
        if not found:
            return None
        strings = dict.fromkeys(path[:end] for path in found for end in range(1, len(path) + 1))
        nodes = TreeNodes(list(strings))
        uniform = torch.full((1, start.vocab), 1 / start.vocab, dtype=start.dtype, device=start.device)
        return Drafted(nodes, uniform.expand(nodes.inner, -1), None, lambda node: None)


def parse_drafter(spec: str, length: int | None) -> Drafter:
    """A drafter from its text form.

    Args:
        spec: as `parse_drafting` takes it, but for a fixed tree, whose tokens are those of one context; or
            best-draft:N, or lookup:K.
        length: drafted tokens L; None where the text says it, by as many counts.

    Raises ValueError that says what would be right.
    """
    kind, _, rest = spec.partition(":")
    if kind in ("best-draft", "lookup"):
        if not (rest.isascii() and rest.isdigit() and 0 < len(rest) <= 4 and int(rest)):
            raise ValueError(
                f"drafting: got {shortened(spec)}; expected a number from 1 to 9999, such as {kind}:4"
            )
        made = LikeliestStrings if kind == "best-draft" else PromptLookup
        return made(int(rest), _needed(spec, length))
    if kind not in KINDS:
        raise ValueError(f"drafting: got {shortened(spec)}; expected {SPECS}")
    drafting = parse_drafting(spec)
    if isinstance(drafting, Counted):
        length = len(drafting.children) if length is None else length
    length = _needed(spec, length)
    assert isinstance(drafting, GrownTree)
    drafting.counts(length)
    paths = drafting.iid_paths(length)
    return Grown(drafting, length) if paths is None else Paths(paths, length)


def _needed(spec: str, length: int | None) -> int:
    if length is None:
        raise ValueError(
            f"drafting {shortened(spec)}: it does not say how many tokens; expected a length, too"
        )
    return length


def _keep(reader: BranchReader, nodes: TreeNodes, node: int) -> None:
    """Commit what the draft has read of the path to a node; without a tree mask it has read nothing that stays."""
    if not reader.cached.tree_mask:
        return
    path = nodes.path(node)
    columns = [reader.columns.get(path[:end]) for end in range(1, len(path) + 1)]
    reader.cached.keep([column for column in columns if column is not None])
