"""What the plain verifiers of drafted trees share: what was drawn, the walk down from the root, and the adapter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from .shared import Context, Emit, Laws, Outcomes, Row, normalised

Drawn = dict[Context, list[int]]
"""The tokens that were drawn after each context, in order, copies repeated; a context without any may be missing."""

TreeLaw = Callable[[Drawn, Laws, Laws], Outcomes]


def walk(drawn: Drawn, target: Laws, draft: Laws, emit: Emit, z: Context = ()) -> Outcomes:
    """The walk down from node z (statement 14.1): at each node one token is emitted, given the tokens drawn there.

    Where the emitted token y was drawn the walk moves to zy, however y came about; else it stops, Z = z and Y = y.
    Where nothing was drawn Y is drawn from the target.
    """
    tokens = drawn.get(z, [])
    if not tokens:
        return {(z, y): mass for y, mass in enumerate(target(z))}
    out: Outcomes = {}
    for y, mass in enumerate(emit(target(z), draft(z), tokens)):
        below = walk(drawn, target, draft, emit, (*z, y)) if y in tokens and mass else {(z, y): 1}
        out |= {outcome: mass * chance for outcome, chance in below.items()}
    return out


def off_top(drawn: Drawn, draft: Laws, counts: Sequence[int]) -> Laws:
    """ms: the draft off the likeliest m - 1 tokens, renormalised; all zeros where none has mass.

    m = counts[length of the context], and the likeliest ones are the first that were drawn.
    """

    def row(z: Context) -> Row:
        q, top = draft(z), drawn.get(z, [])[: counts[len(z)] - 1]
        return normalised([0 if y in top else mass for y, mass in enumerate(q)])

    return row


def on_drawn_tree(law: Callable[[DraftTree], TreeLaw]) -> Callable[[DraftTree], AcceptanceLaw]:
    """A plain verifier of drafted trees as a function of an exact `DraftTree`, for the judges.

    Args:
        law: from the tree, whose `drafting` says how it was drawn, to the law of (Z, Y) by {context: drawn tokens},
            target and draft.

    The function raises ValueError for a tree of floats.

    >>> from nodebudget.lp import random_instance
    >>> from nodebudget.verifiers import Verifier, plain
    >>> from nodebudget.verifiers.audit import audit_exact
    >>> from nodebudget.verifiers.verifier import ANY_DRAFTING
    >>> mine = on_drawn_tree(lambda tree: plain.recursive_rejection.law)
    >>> read = Verifier("mine", mine, multipath=True, reference="to be read", needs=ANY_DRAFTING)
    >>> audit_exact(read, random_instance("flat", 3, 1, seed=1), drafting="with:2").lossless
    True
    """

    def law_on_tree(tree: DraftTree) -> AcceptanceLaw:
        if not tree.exact:
            raise ValueError(f"plain verifiers compute in Fractions: got {tree!r}; expected an exact tree")
        nodes = tree.nodes
        place = {nodes.path(node): node for node in range(len(nodes))}
        drawn = {
            nodes.path(node): [int(nodes.token[child]) for child in below]
            for node, below in enumerate(nodes.drawn)
        }

        def target(context: Context) -> Row:
            return list(tree.target[place[context]])

        def draft(context: Context) -> Row:
            return list(tree.draft[place[context]])

        joint = tree.target * 0
        for (accepted, token), mass in law(tree)(drawn, target, draft).items():
            joint[place[accepted], token] += mass
        return AcceptanceLaw.from_joint(tree, joint)

    return law_on_tree
