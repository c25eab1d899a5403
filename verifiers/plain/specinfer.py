"""SpecInfer: the drafted continuations of a node in turn, each against what earlier ones left of the target.

Source: arXiv:2305.09781; statement 10.1. The fast twin is `algorithms/specinfer.py`.
"""

from __future__ import annotations

from .shared import Context, Laws, Outcomes, Row, accept, excess, normalised, walk


def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
    """Pr[Z, Y], given the drafted paths. See `nodebudget.verifiers.plain` for the arguments."""
    return walk(paths, target, draft, emit)


def emit(r: Row, q: Row, tokens: list[int]) -> Row:
    """t_1 with probability min(1, r/q), r = p at first; else go on with the others and max(0, r - q) over its sum."""
    if not tokens:
        return r
    t, *others = tokens
    rejected = emit(normalised(excess(1, r, q)), q, others)
    return accept(min(1, r[t] / q[t]), t, rejected)
