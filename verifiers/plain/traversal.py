"""Traversal verification: from the leaves up, the whole tree.

Source: arXiv:2505.12398; section 10, statement 10.1. The fast twin is `algorithms/traversal.py`.
"""

from __future__ import annotations

from .shared import Context, Laws, Number, Outcomes, Row, excess, normalised


def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
    """Pr[Z, Y], given the drafted paths. See `nodebudget.verifiers.plain` for the arguments.

    The first leaf in depth-first order is accepted with its weight W, the root always. A rejected one is removed, which
    changes the weight W, the residual r and the draft d of the node above it; then the next leaf has its turn.
    """
    nodes = list(dict.fromkeys(x[:i] for x in paths for i in range(len(x) + 1)))
    r = {z: target(z) for z in nodes}
    d = {z: draft(z) for z in nodes if len(z) < len(paths[0])}
    changed: dict[Context, Number] = {(): 1}

    def W(z: Context) -> Number:
        """min(1, W(z) r(y)/d(y)) from the node above, until a node has lost a child."""
        return changed[z] if z in changed else min(1, W(z[:-1]) * r[z[:-1]][z[-1]] / d[z[:-1]][z[-1]])

    out: Outcomes = {}
    alive = 1
    while nodes:
        z = first_leaf(nodes)
        a = W(z) if z else 1
        out |= {(z, y): alive * a * mass for y, mass in enumerate(r[z])}
        alive *= 1 - a
        nodes.remove(z)
        if z:
            z, y = z[:-1], z[-1]
            R = excess(W(z), r[z], d[z])
            changed[z] = sum(R) / (sum(R) + 1 - W(z)) if sum(R) else 0
            r[z] = normalised(R) if sum(R) else r[z]
            d[z] = without(d[z], y)
    return out


def first_leaf(nodes: list[Context]) -> Context:
    """From the root always down to the first child, children in order of first appearance."""
    z: Context = ()
    while below := [x for x in nodes if x and x[:-1] == z]:
        z = below[0]
    return z


def without(d: Row, y: int) -> Row:
    """The draft's law without a token."""
    return normalised([0 if t == y else mass for t, mass in enumerate(d)])
