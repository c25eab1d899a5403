"""Selection by scores: tokens in classes, paths compared by what lies below where their tokens tie (section 12).

Every drafted path has a score in [0, 1] at each node that it passes. At a leaf it is a uniform random number.
At a node above, an ordering puts the tokens into classes, and the classes, from the lowest to the highest, take
up intervals of [0, 1] as long as their draft mass: the score at z of a path with next token y is c + B u, u its
score at zy, B the mass of the class of y, c that of the lower classes. So scores are uniform under the draft at
every node, the token within its class is independent of the score, and the largest score of K paths has the
distribution function t^K, whatever the laws and the orderings. The path with the largest score at the root is
selected.

What is known at z of the selected path, without looking at the drafted ones, is the score state:
G_z(t) = Pr[the selected path passes z with a score of at most t] = sum over n of g_z[n] t^n, g_z[n] >= 0, and

    G_zy(t) = q(y|z) (G_z(c + B t) - G_z(c)) / B          nu(zy) = G_zy(1).

One of R families of orderings is drawn beforehand, so that the state of a node is a table, families by powers.
Rows are batches of nodes, of rationals, numpy floats, or torch tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import array_api_compat

Array = Any
"""A numpy array (float, or object holding rationals) or a torch tensor."""


@dataclass(frozen=True, eq=False)
class OnPath:
    """What a node rule is given for g nodes: numbers that the path to the node determines, nothing else.

    A cell is a token; in a large vocabulary the last cells are tokens of about the same p/q together (`cells`).

    Attributes:
        target, draft: (g, C), the next-token laws by cells.
        weight: (g,), w = D(z) / nu(z) in [0, 1], nu(z) = Pr[the selected path passes z].
        state: (g, R, K), the score state given that the selected path passes z; entry [r, n - 1] belongs to
            family r and t^n, and each node's entries sum to one.
        remaining: the number of draft tokens from here to the leaves, at least 1.
        rounding: how far, relatively, ratios that should be equal may be apart; 0 where exact.
    """

    target: Array
    draft: Array
    weight: Array
    state: Array
    remaining: int
    rounding: float

    def mapped(self, change: Callable[[Array], Array]) -> OnPath:
        """The same data with every array changed."""
        names = ("target", "draft", "weight", "state")
        return replace(self, **{name: change(getattr(self, name)) for name in names})

    def at(self, chosen: Array) -> OnPath:
        """The numbers of some of the nodes, by an index array or a mask."""
        return self.mapped(lambda numbers: numbers[chosen])


def classes(draft: Array, ranks: Array) -> tuple[Array, Array]:
    """Draft mass of the lower classes and of the own class, for each cell.

    Args:
        draft: (g, C), masses of the cells.
        ranks: (g, ..., C) integers; 0 is the highest class, equal ranks share a class.

    Returns:
        two arrays of the shape of `ranks`.
    """
    xp = array_api_compat.array_namespace(draft)
    shape, cells = ranks.shape, draft.shape[1]
    mass = xp.broadcast_to(draft.reshape((draft.shape[0], *[1] * (ranks.ndim - 2), cells)), shape)
    ranks = ranks.reshape((-1, cells))
    # From the lowest class up: masses of lower classes are sums of what is there, and the lowest has exactly 0.
    order = xp.argsort(-ranks, axis=1, stable=True)
    listed = xp.take_along_axis(mass.reshape((-1, cells)), order, axis=1)
    upto = xp.concat([listed[:, :1] * 0, xp.cumsum(listed, 1)], axis=1).reshape(-1)
    # All rows are searched at once: each row's ranks are moved beyond those of the row before.
    span = xp.max(ranks) - xp.min(ranks) + 1
    row = xp.cumsum(ranks[:, :1] * 0 + 1, 0) - 1
    keys = xp.reshape(row * span - ranks, (-1,))
    ordered = xp.reshape(row * span - xp.take_along_axis(ranks, order, axis=1), (-1,))
    # Each row of sums has one entry more than cells, the 0 in front.
    shift = xp.broadcast_to(row, ranks.shape).reshape(-1)
    below, through = (upto[xp.searchsorted(ordered, keys, side=side) + shift] for side in ("left", "right"))
    return below.reshape(shape), (through - below).reshape(shape)


def lift(state: Array, below: Array, mass: Array) -> Array:
    """(G(c + B) - G(c)) / B: by which factor the selection raises the draft's probability of a token.

    Args:
        state: (g, K), score states of one family; below, mass: (g, ..., C), c and B of each cell.

    The divided difference of G is formed by Horner's scheme; nothing cancels.
    """
    upto = below + mass
    *lower, highest = (state[:, n].reshape([-1] + [1] * (below.ndim - 1)) for n in range(state.shape[1]))
    value, slope = below * 0 + highest, below * 0
    for coefficient in reversed(lower):
        slope = slope * upto + value
        value = value * below + coefficient
    # One more step for the factor t of G(t) = t (g_1 + g_2 t + ...).
    return slope * upto + value


def lifts(state: Array, below: Array, mass: Array) -> Array:
    """(g, ...): the lifts summed over families; state (g, R, K), below and mass (g, R, ...)."""
    xp = array_api_compat.array_namespace(below)
    nodes, families, count = state.shape
    flat = (nodes * families, *below.shape[2:])
    factor = lift(state.reshape((nodes * families, count)), below.reshape(flat), mass.reshape(flat))
    return xp.sum(factor.reshape(below.shape), axis=1)


def next_state(state: Array, draft: Array, below: Array, mass: Array) -> Array:
    """(m, R, K): the score states of m children, times nu(y|z), from the states of their parents.

    Args:
        state: (m, R, K), the parents' states.
        draft: (m,), the draft's probabilities of the children's tokens.
        below, mass: (m, R), c and B of the tokens' classes.
    """
    xp = array_api_compat.array_namespace(draft)
    return draft[:, None, None] * xp.stack(within(state, below, mass), axis=2)


def within(state: Array, below: Array, mass: Array) -> list[Array]:
    """The coefficients of t, .., t^K in (G(c + B t) - G(c)) / B; nothing cancels.

    Args:
        state: (..., K), the coefficients of t, .., t^K in G.
        below, mass: c and B, of a shape that `state` without its last axis broadcasts to.
    """
    *lower, highest = (state[..., n] for n in range(state.shape[-1]))
    value = below * 0 + highest
    slopes: list[Array] = []
    # One more step for the factor t of G(t) = t (g_1 + g_2 t + ...).
    for coefficient in (*reversed(lower), None):
        raised = [value, *(mass * slope for slope in slopes)]
        for n, slope in enumerate(slopes):
            raised[n] = slope * below + raised[n]
        slopes = raised
        if coefficient is not None:
            value = value * below + coefficient
    return slopes
