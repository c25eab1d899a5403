"""The verifiers to be read: Fractions, a few lines each, in the symbols of docs/mathematics.md.

Read first: `bv.py`, block verification along one path; then `gbv.py`, which picks the path. `mixed.py` picks it by
scores (`scores.py`), with the orderings of `orderings.py`. `token.py`, `nss.py`, `specinfer.py` and `spectr.py` walk
down from the root, `traversal.py` works from the leaves up. `shared.py` has the four functions that several use.

Each of these files has one function `law(paths, target, draft)`:

    paths   the K drafted paths, a tuple of token tuples of one length L
    target  from a context (a tuple of tokens) to the target's next-token law there, a list of V Fractions
    draft   the draft's, likewise

and gives {(Z, Y): Pr[Z, Y given the paths]}: Z is the accepted context, Y the token that is emitted after it.

Of drafted trees that are no paths: `recursive_rejection.py`, `greedy.py`, `spechub.py`, `transport.py`,
`transport_sample.py`, `race.py` and `lift.py`, with `trees.py`. There `law(drawn, target, draft)` is given `drawn`,
{context: [the tokens that were drawn after it, in order, with copies]}.
Nothing here is fast. The fast twins are in `nodebudget.verifiers.algorithms`, and the tests compare the two exactly.
`on_tree(law)` is the same law as a function of a `DraftTree`, for the judges in `nodebudget.verifiers.audit`.

>>> from fractions import Fraction
>>> p, q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
>>> found = bv.law(((0,),), lambda context: p, lambda context: q)
>>> print(found[(), 1], sum(found.values()))
1/2 1
"""

from __future__ import annotations

from . import (
    bv,
    gbv,
    greedy,
    lift,
    mixed,
    nss,
    race,
    recursive_rejection,
    spechub,
    specinfer,
    spectr,
    token,
    transport,
    transport_sample,
    traversal,
)
from .adapter import on_tree
from .trees import on_drawn_tree

__all__ = [
    "bv",
    "gbv",
    "greedy",
    "lift",
    "mixed",
    "nss",
    "on_drawn_tree",
    "on_tree",
    "race",
    "recursive_rejection",
    "spechub",
    "specinfer",
    "spectr",
    "token",
    "transport",
    "transport_sample",
    "traversal",
]
