"""Greedy tree sampling: the likeliest tokens for sure, and one draw u from the others.

Source: arXiv:2502.18779; statement 15.3. The fast twin is `algorithms/greedy_tree.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .shared import Laws, Outcomes, Row, accept, excess, normalised
from .trees import Drawn, off_top, walk


def law(drawn: Drawn, target: Laws, draft: Laws, counts: Sequence[int]) -> Outcomes:
    """Pr[Z, Y], given what was drawn: m - 1 likeliest tokens and a draw, m = counts[length of the context].

    See `nodebudget.verifiers.plain` for the other arguments.
    """

    return walk(drawn, target, off_top(drawn, draft, counts), emit)


def emit(p: Row, ms: Row, tokens: list[int]) -> Row:
    """u with probability min(1, p/ms), else from max(0, p - ms) over its sum."""
    u = tokens[-1]
    if not ms[u]:  # nothing was left to draw from: u is one of the likeliest
        return p
    return accept(min(1, p[u] / ms[u]), u, normalised(excess(1, p, ms)))
