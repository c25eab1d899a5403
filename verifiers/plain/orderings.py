"""The orderings of tokens that `mixed` uses, asked of the library's rule (`nodebudget.lp.selection`) in Fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from nodebudget.lp.numbers.rationals import fmpq_array, to_fraction
from nodebudget.lp.selection.node_choices import choose_exactly
from nodebudget.lp.selection.scores import OnPath
from nodebudget.lp.selection.selections import mixed_selection

from .shared import Context, Number, Row

Orderings = Callable[[Context, Row, Row, Number, list[Row], int], tuple[list[Row], list[list[int]]]]
"""From numbers on the path to node z: z, p, q, w, each family's score state G and how many levels remain.

To the states, which at the root the families share out by their probabilities, and each family's ranks of the tokens:
0 is the highest class. A state is the coefficients of t .. t^K.
"""


def library_orderings(
    z: Context, p: Row, q: Row, w: Number, states: list[Row], remaining: int
) -> tuple[list[Row], list[list[int]]]:
    """What the library's selection does at node z (statement 12.4)."""
    vocab, every = len(p), np.arange(len(p))
    state = fmpq_array([Fraction(g) for G in states for g in G]).reshape(1, len(states), -1)
    data = OnPath(fmpq_array(p)[None], fmpq_array(q)[None], fmpq_array([Fraction(w)]), state, remaining, 0)
    [choice] = choose_exactly(mixed_selection(vocab), data, root=not z)
    ranks = choice.along(choice.ranks, every * 0, every)
    return [[to_fraction(g) for g in G] for G in choice.state[0]], ranks.T.tolist()
