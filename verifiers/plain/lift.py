"""The lift of a one-step rule: it decides from the leaves up, the whole tree.

Source: statement 14.2; of greedy tree sampling it is UniVer, arXiv:2605.04543. The fast twin is `algorithms/lift.py`.
"""

from __future__ import annotations

from fractions import Fraction

from .shared import Context, Emit, Laws, Number, Outcomes
from .trees import Drawn


def law(drawn: Drawn, target: Laws, draft: Laws, emit: Emit) -> Outcomes:
    """Pr[Z, Y], given what was drawn. See `nodebudget.verifiers.plain` for the arguments.

    emit(P, q, tokens) is a one-step rule. Its rows have one entry more than there are tokens: "none", of which the
    target has 1 - W and the draft nothing.
    """

    def decide(z: Context, W: Number) -> Outcomes:
        """What is accepted at z or below: with probability W, averaged over what is drawn there."""
        tokens = drawn.get(z, [])
        if not tokens:
            return {(z, y): W * mass for y, mass in enumerate(target(z))}
        a = emit([*(W * mass for mass in target(z)), 1 - W], [*draft(z), 0], tokens)
        out: Outcomes = {}
        failed = left = Fraction(1)
        for t in dict.fromkeys(tokens):
            below = decide((*z, t), a[t] / left) if left else {}
            out |= {outcome: failed * mass for outcome, mass in below.items()}
            failed *= 1 - sum(below.values())
            left -= a[t]
        if left:  # what is left is the chance of no child, of which a[-1] is "none"
            off = {(z, y): failed * mass / left for y, mass in enumerate(a[:-1]) if y not in tokens}
            out |= off
        return out

    return decide((), Fraction(1))
