"""Block verification: one path, judged as a whole.

Source: arXiv:2403.10444; section 5, statements 5.1 to 5.3. The fast twin is `algorithms/block_verification.py`.
"""

from __future__ import annotations

from .shared import Context, Laws, Number, Outcomes, Row, excess, normalised


def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
    """Pr[Z, Y], given the drafted paths; only the first counts. See `nodebudget.verifiers.plain` for the arguments.

    The draft's laws are looked at along the path only. Of a path that was picked among several, give the laws nu of the
    picked one instead of q (section 6): that is how `gbv` and `mixed` end.
    """
    x, missed = paths[0], 1
    out: Outcomes = {}
    w = weights(x, target, draft)
    for i in reversed(range(len(x) + 1)):
        z = x[:i]
        if i == len(x):
            h, emitted = w[i], target(z)
        else:
            h = coin(w[i], target(z), draft(z)) if i else 1
            emitted = residual(w[i], target(z), draft(z))
        # The largest i whose coin shows success: all coins behind it have failed.
        out |= {(z, y): missed * h * mass for y, mass in enumerate(emitted)}
        missed *= 1 - h
    return out


def weights(x: Context, target: Laws, draft: Laws) -> Row:
    """w_0 .. w_L: w_0 = 1 and w_i = min(1, w_(i-1) p/q)."""
    w = [1]
    for i, y in enumerate(x):
        w.append(min(1, w[i] * target(x[:i])[y] / draft(x[:i])[y]))
    return w


def coin(w: Number, p: Row, q: Row) -> Number:
    """h = S / (S + 1 - w) with S the sum of max(0, w p - q); 1 where the denominator is 0."""
    S = sum(excess(w, p, q))
    return S / (S + 1 - w) if S + 1 - w else 1


def residual(w: Number, p: Row, q: Row) -> Row:
    """max(0, w p - q) over its sum."""
    return normalised(excess(w, p, q))
