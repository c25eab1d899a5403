"""A plain verifier where a law of a drafted tree is wanted: in the judges, and in `module:function` of the commands."""

from __future__ import annotations

from collections.abc import Callable

from ..drafts.laws import AcceptanceLaw
from ..drafts.paths import DraftTree
from .shared import Context, Laws, Outcomes, Row

PlainLaw = Callable[[tuple[Context, ...], Laws, Laws], Outcomes]


def on_tree(law: PlainLaw) -> Callable[[DraftTree], AcceptanceLaw]:
    """The same verifier as a function of an exact `DraftTree`.

    Args:
        law: from drafted paths, target and draft to {(Z, Y): probability}, as each file of `nodebudget.verifiers.plain`
            has one; outcomes that are not there have probability 0.

    The function raises ValueError for a tree of floats, one that is not of K paths, and for an accepted context that
    was not drafted.

    >>> from nodebudget.lp import random_instance
    >>> from nodebudget.verifiers import Verifier, plain
    >>> from nodebudget.verifiers.audit import audit_exact
    >>> mine = Verifier("mine", plain.on_tree(plain.gbv.law), multipath=True, reference="to be read")
    >>> audit_exact(mine, random_instance("flat", 3, 1, seed=1), paths=2).lossless
    True
    """

    def law_on_tree(tree: DraftTree) -> AcceptanceLaw:
        if not tree.exact:
            raise ValueError(f"plain verifiers compute in Fractions: got {tree!r}; expected an exact tree")
        nodes = tree.of_paths
        place = {nodes.path(node): node for node in range(len(nodes))}

        def target(context: Context) -> Row:
            return list(tree.target[place[context]])

        def draft(context: Context) -> Row:
            return list(tree.draft[place[context]])

        joint = tree.target * 0
        paths = tuple(nodes.path(int(leaf)) for leaf in nodes.path_nodes[:, -1])
        for (accepted, token), mass in law(paths, target, draft).items():
            if accepted not in place:
                raise ValueError(f"accepted: got {accepted}; expected a prefix of a drafted path, {paths}")
            joint[place[accepted], token] += mass
        return AcceptanceLaw.from_joint(tree, joint)

    return law_on_tree
