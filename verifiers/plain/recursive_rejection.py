"""Recursive rejection: the draws below a node in turn, each against what earlier ones left of the target.

Source: arXiv:2305.09781, arXiv:2402.12374; statement 15.2. The fast twin is `algorithms/recursive_rejection.py`.
"""

from __future__ import annotations

from . import specinfer
from .shared import Laws, Outcomes, Row, accept, excess, normalised
from .trees import Drawn, walk


def law(drawn: Drawn, target: Laws, draft: Laws) -> Outcomes:
    """Pr[Z, Y] for draws with replacement, given what was drawn. See `nodebudget.verifiers.plain` for the arguments."""
    return walk(drawn, target, draft, specinfer.emit)


def law_without(drawn: Drawn, target: Laws, draft: Laws) -> Outcomes:
    """The same for draws without replacement."""
    return walk(drawn, target, draft, emit_without)


def emit_without(r: Row, d: Row, tokens: list[int]) -> Row:
    """t_1 with probability min(1, r/d), else go on with max(0, r - d) over its sum, and with d without t_1."""
    if not tokens:
        return r
    t, *others = tokens
    left = normalised([0 if y == t else mass for y, mass in enumerate(d)])
    rejected = emit_without(normalised(excess(1, r, d)), left, others)
    return accept(min(1, r[t] / d[t]), t, rejected)
