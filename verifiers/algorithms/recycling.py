"""Recycling: a correction token that another drafted path has as well is no reason to stop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arithmetic.arrays import Array
from ..drafts.laws import AcceptanceLaw
from ..drafts.nodes import PathNodes
from ..drafts.paths import DraftTree
from ..verifier import LawFunction


def recycled(tree: DraftTree, law: LawFunction) -> AcceptanceLaw:
    """The law of a verifier that is asked again wherever its correction token was drafted.

    The verifier gives (Z, Y). If some drafted path passes ZY, it is asked again about what the paths that pass ZY have
    below it, in drafting order, and so on; at the end of the paths Y is drawn from the target.

    Lossless where, given (Z, Y) and how many paths pass ZY, what these have below ZY is still a draw from the draft:
    then the second question is one of the first kind, and by induction on the depth the output has the target's law.
    That is so for a verifier that looks at one path only, and for greedy multi-path block verification, which compares
    two paths at the first node where they part and at no later one (`Verifier.blind_below`). It is not so for
    verifiers that pick a path by scores which what is drafted below has a part in, as `mixed` does. Walks from the
    root, the lift and traversal verification never stop with a drafted token, so they have nothing to recycle.

    Args:
        tree: K drafted paths.
        law: the verifier, asked about fewer and shorter paths as well.
    """
    tree = tree.in_memory()
    nodes, arrays = tree.of_paths, tree.arrays
    below = [{int(nodes.token[child]): child for child in children} for children in nodes.children]
    joint = arrays.zeros(len(nodes), tree.vocab)

    def ask(root: int, paths: Sequence[int], chance: Array) -> None:
        """Add what comes of asking about the paths below a node that is reached with a chance (1,)."""
        if root >= nodes.inner:
            joint[root] += chance * tree.target_rows(arrays.index([root]))[0]
            return
        part, places = _below(tree, root, paths)
        stop, rows = law(part).working()
        table = chance * stop[:, None] * rows(part.arrays.positions(len(places)))
        for place, row in zip(places, table, strict=True):
            for token, child in below[place].items() if place < nodes.inner else ():
                mass = row[token : token + 1] + arrays.zero
                row[token] = arrays.zero
                if arrays.torch or mass[0]:
                    ask(child, [k for k in paths if child in nodes.path_nodes[k]], mass)
            joint[place] += row

    ask(0, range(nodes.paths), arrays.ones(1))
    return AcceptanceLaw.from_joint(tree, tree.handed_out(joint) if tree.exact else joint)


def _below(tree: DraftTree, root: int, paths: Sequence[int]) -> tuple[DraftTree, list[int]]:
    """What some paths have below a node that they pass, as drafted paths, and where their nodes are in the tree."""
    nodes, start = tree.of_paths, int(tree.nodes.lengths[root])
    chosen = nodes.path_nodes[np.array(paths), start:]
    if root == 0 and len(paths) == nodes.paths:
        return tree, list(range(len(nodes)))
    shape = PathNodes(nodes.token[chosen[:, 1:]])
    places = np.zeros(len(shape), dtype=np.int64)
    places[shape.path_nodes] = chosen
    index = tree.arrays.index(places)
    target = tree.arrays.take(tree.pairs.target.rows, index)
    draft = tree.arrays.take(tree.pairs.draft.rows, index[: shape.inner])
    dtype = "float64" if tree.exact else tree.arrays.precision
    return DraftTree(shape, target, draft, dtype=dtype, check=False), places.tolist()
