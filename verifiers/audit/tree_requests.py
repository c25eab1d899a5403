"""What a sampler of drafted trees is shown: one outcome of any drafting, with the laws at its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from nodebudget.lp import Instance
from nodebudget.lp.drafting import Drafting

from ..drafts.instance_rows import instance_rows
from ..drafts.tree_nodes import TreeNodes
from .requests import Backend, Drafter, Request, Source
from .token_trees import TREE_IDS, flat_tree
from .trial_instances import TrialInstance


@dataclass(frozen=True)
class DrawnTree:
    """A drafted tree on the host."""

    nodes: TreeNodes
    target: Any  # (n, V)
    draft: Any  # (nodes.inner, V)
    drafting: Drafting
    depth: int
    strings: frozenset[tuple[int, ...]]

    @classmethod
    def of(cls, instance: Instance, drawn: Iterable[Sequence[int]], drafting: Drafting) -> DrawnTree:
        """The tree of drawn nodes, as `Drafting.draw` gives them; rows exact where the instance is."""
        nodes = TreeNodes([tuple(string) for string in drawn])
        rows = instance_rows(instance, nodes, from_draft=drafting.from_draft)
        strings = frozenset(nodes.path(node) for node in range(len(nodes)))
        return cls(nodes, *rows, drafting, instance.depth, strings)

    @property
    def accepted(self) -> str:
        """What all emitted tokens but the last must do, for messages."""
        return "be one of the nodes"

    @property
    def text(self) -> str:
        """What was drafted, for messages."""
        return f"nodes {self.nodes.as_text()}"

    def original(self, tokens: Any) -> Any:
        """The tokens: nothing goes by another name here."""
        return tokens

    def has(self, tokens: tuple[int, ...]) -> bool:
        """Whether tokens are a drafted node."""
        return tokens in self.strings

    def request(self, backend: Backend) -> Request:
        """Fresh arrays, which the sampler may spoil without harm to the audit."""
        tree = flat_tree(self.nodes, backend.rows(self.target), backend.rows(self.draft), self.drafting)
        ids = {name: backend.ids(getattr(tree, name)) for name in TREE_IDS}
        tree = tree._replace(**ids)
        parts = ids | {"target rows": tree.target_rows, "draft rows": tree.draft_rows}
        return Request((tree,), parts, self.depth, int(self.target.shape[1]))


class TreeSource(Source):
    """Draws trees of the drafting of one trial instance.

    Tokens are never renamed: which are drafted may depend on their ids.
    """

    def __init__(self, trial: TrialInstance) -> None:
        super().__init__(trial, None)
        self._floats = trial.instance.to_float()
        self._known: dict[Any, DrawnTree] = {}

    def draw(self, count: int, rng: np.random.Generator, coins: Any, *, renamed: float = 0.0) -> list[Any]:
        """`count` drafted trees."""
        drafting = self.trial.problem.drafting
        drawn = []
        for _ in range(count):
            strings = drafting.draw(self.trial.instance, rng)
            if strings not in self._known:
                self._known[strings] = DrawnTree.of(self._floats, strings, drafting)
            drawn.append(self._known[strings])
        return drawn

    def first_off(self, tokens: np.ndarray[Any, Any], drawn: Sequence[Any]) -> int | None:
        """The first output (n, L + 1), padded with -1, whose tokens but the last are no drafted node."""
        for place, (row, one) in enumerate(zip(tokens, drawn, strict=True)):
            if not one.has(tuple(row[row >= 0][:-1].tolist())):
                return place
        return None


def source_of(trial: TrialInstance, drafter: Drafter | None, batch: int | None) -> Source:
    """Where the requests of a trial instance come from.

    Raises ValueError for a user's drafter, or a batch, where other things than i.i.d. paths are drafted.
    """
    if trial.problem.paths:
        return Source(trial, drafter)
    what = f"with the drafting {trial.problem.drafting} of instance {trial.name!r}"
    if drafter is not None:
        raise ValueError(f"drafter: got one {what}; expected a number of paths, which it draws")
    if batch is not None:
        raise ValueError(f"batch: got {batch} {what}; expected None: one tree a call")
    return TreeSource(trial)
