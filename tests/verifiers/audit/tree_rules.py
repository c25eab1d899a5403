"""Samplers of drafted trees as rules of (tree, coins), right ones and faulty ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from known_faults import draw, positive

TreeRule = Callable[[Any, Any], list[int]]


def below(tree: Any, node: int, token: int) -> int | None:
    """The drafted child of a node."""
    for child in np.flatnonzero(tree.parents == node):
        if tree.tokens[child] == token:
            return int(child)
    return None


def drawn_below(tree: Any, node: int) -> list[int]:
    """What was drawn below a node, in order, copies repeated."""
    return [child for child in tree.drawn.tolist() if tree.parents[child] == node]


def walk(tree: Any, coins: Any) -> list[int]:
    """Naive speculative sampling. Coins: one a token."""
    node: int | None = 0
    emitted: list[int] = []
    while node is not None:
        emitted.append(draw(tree.target_rows[node], coins[len(emitted)]))
        node = below(tree, node, emitted[-1])
    return emitted


def accepts_anyway(tree: Any, coins: Any) -> list[int]:
    """At the root the first drafted token is kept although another one, which was not drafted, came up."""
    token = draw(tree.target_rows[0], coins[0])
    node = below(tree, 0, token)
    if node is None:
        node = drawn_below(tree, 0)[0]
    return [int(tree.tokens[node]), draw(tree.target_rows[node], coins[1])]


def recursive(renormalised: bool = True, merged: bool = False) -> TreeRule:
    """Recursive rejection down the tree, the draft renormalised without the tokens that were rejected, or not.

    Right without replacement if renormalised, and with replacement if not, on trees of one level. Coins: one for each
    draw that is looked at, one for the token after the last.
    """

    def rule(tree: Any, coins: Any) -> list[int]:
        node, emitted, used = 0, [], 0
        while drawn := drawn_below(tree, node):
            left, q, accepted = tree.target_rows[node], tree.draft_rows[node].copy(), None
            for child in dict.fromkeys(drawn) if merged else drawn:
                token, used = int(tree.tokens[child]), used + 1
                if coins[used - 1] * q[token] < left[token]:
                    accepted = child
                    break
                rest = positive(left - q)
                left = rest / rest.sum() if rest.sum() > 0 else left
                if renormalised:
                    q[token] = q[token] * 0
                    q = q / q.sum() if q.sum() > 0 else q
            if accepted is None:
                return [*emitted, draw(left, coins[-1])]
            node = accepted
            emitted.append(int(tree.tokens[node]))
        return [*emitted, draw(tree.target_rows[node], coins[-1])]

    return rule


def tossed(rule: TreeRule, coins: int) -> Callable[[Any, Any], list[int]]:
    """The rule as a black box; rows with NaN are refused."""

    def sampler(tree: Any, generator: Any) -> list[int]:
        if not (np.isfinite(tree.target_rows).all() and np.isfinite(tree.draft_rows).all()):
            raise ValueError("the rows have NaN or infinite entries")
        return rule(tree, generator.random(coins))

    return sampler
