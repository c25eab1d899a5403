"""From the signatures that samplers usually have to the one that is audited, and from this package's verifiers.

>>> from nodebudget.verifiers import get_verifier
>>> from nodebudget.verifiers.audit import audit_sampler
>>> audit_sampler(as_sampler(get_verifier("nss")), samples=250).passed
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from nodebudget.lp.drafting import IidPaths

from ..drafts.nodes import PathNodes
from ..drafts.paths import DraftTree
from ..registry import as_verifier
from ..sampling import sample
from ..verifier import LawFunction, Verifier
from .sampler_calls import MisuseError, Sampler
from .token_trees import TREE_IDS, TokenTree, flat_tree, shown_tree


class FlatChain(NamedTuple):
    """One drafted chain per request, all chains one after the other, as serving engines lay them out.

    Attributes:
        draft_tokens: (N,) ids, N the drafted tokens of all B requests together.
        lengths: (B,) drafted tokens per request.
        target_rows, draft_rows: (N, V), the laws that each drafted token is checked against and was drawn from.
        recovered_rows: (N, V), the residuals max(0, target - draft), normalised (the target row where that is
            zero): what token verification emits from after rejecting the token. An engine that computes its
            own should be audited with its own.
        bonus_rows: (B, V), the target's law after a whole chain.
    """

    draft_tokens: Any
    lengths: Any
    target_rows: Any
    draft_rows: Any
    recovered_rows: Any
    bonus_rows: Any


def flat_chain(verify: Callable[[FlatChain, Any], Any]) -> Sampler:
    """A sampler from `verify(chain, generator)`, which returns one output of 1 to L + 1 tokens per request.

    An output may be padded with -1, so an array of shape (B, L + 1) will do. For audits with `batch` set and one
    path per request (K = 1); raises ValueError for others.
    """

    def sampler(paths: Any, target_rows: Any, draft_rows: Any, generator: Any) -> Any:
        if paths.ndim != 3 or paths.shape[1] != 1:
            raise MisuseError(
                f"flat_chain: got drafted paths of shape {tuple(paths.shape)}; expected (B, 1, L), so batch=B and "
                "instances with paths=1"
            )
        requests, _, depth = paths.shape
        vocab = target_rows.shape[-1]
        checked = target_rows[:, 0, :-1].reshape(-1, vocab)
        drafted = draft_rows[:, 0].reshape(-1, vocab)
        return verify(
            FlatChain(
                paths.reshape(-1),
                _like(paths, np.full(requests, depth)),
                checked,
                drafted,
                _residuals(checked, drafted),
                target_rows[:, 0, -1],
            ),
            generator,
        )

    return sampler


def token_tree(verify: Callable[[TokenTree, Any], Any]) -> Sampler:
    """A sampler from `verify(tree, generator)`, which returns the emitted tokens; for one request a call.

    K i.i.d. paths are merged into a tree; what is drafted otherwise comes as one already.
    """

    def sampler(*request: Any) -> Any:
        *given, generator = request
        if len(given) == 1:
            return verify(given[0], generator)
        paths, target_rows, draft_rows = given
        if paths.ndim != 2:
            raise MisuseError(
                f"token_tree: got drafted paths of shape {tuple(paths.shape)}; expected batch=None"
            )
        nodes = PathNodes(paths)
        path, position = nodes.first_passing
        where = _like(paths, path), _like(paths, position)
        inner = (where[0][: nodes.inner], where[1][: nodes.inner])
        tree = flat_tree(nodes, target_rows[where], draft_rows[inner], IidPaths(nodes.paths))
        ids = {name: _like(paths, getattr(tree, name)) for name in TREE_IDS}
        return verify(tree._replace(**ids), generator)

    return sampler


def as_sampler(verifier: Verifier | LawFunction | str) -> Sampler:
    """A verifier of this package, or a user's own law, as a sampler of one request: its law, then `sample`.

    The sampler is for any drafting for which the verifier is defined; for others it raises ValueError.

    Raises ValueError for what is no verifier, as `as_verifier` does.
    """
    chosen = as_verifier(verifier)

    def sampler(*request: Any) -> list[int]:
        *given, generator = request
        if len(given) == 1:
            tree = shown_tree(chosen, given[0])
        else:
            shown = len(given[0]) if chosen.multipath else 1
            tree = DraftTree.from_paths(*(part[:shown] for part in given))
        accepted, following = sample(chosen.law(tree), generator)
        return [*accepted, following]

    sampler.__name__ = chosen.name
    return sampler


def _like(array: Any, values: np.ndarray[Any, Any]) -> Any:
    """Host integers in the library, and on the device, of another array."""
    if isinstance(array, np.ndarray):
        return np.array(values)
    import torch

    return torch.tensor(values, device=array.device)


def _residuals(target: Any, draft: Any) -> Any:
    rest = (target - draft).clip(0)
    total = rest.sum(-1)[:, None]
    empty = total <= 0
    return rest / (total + empty) * ~empty + target * empty
