"""Token verification: the first path, one token at a time.

Source: arXiv:2211.17192 and arXiv:2302.01318; statement 5.4. The fast twin is `algorithms/token_verification.py`.
"""

from __future__ import annotations

from .shared import Context, Laws, Outcomes, Row, accept, excess, normalised, walk


def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
    """Pr[Z, Y], given the drafted paths; only the first counts. See `nodebudget.verifiers.plain` for the arguments."""
    return walk(paths[:1], target, draft, emit)


def emit(p: Row, q: Row, tokens: list[int]) -> Row:
    """The drafted token t with probability min(1, p/q), else a token from max(0, p - q) over its sum."""
    [t] = tokens
    return accept(min(1, p[t] / q[t]), t, normalised(excess(1, p, q)))
