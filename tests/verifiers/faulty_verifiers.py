"""Deliberately broken verifiers: negative controls of the audit, each with one fault.

They are written out in rationals from the definitions and share nothing with the package's verifiers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import plain_references
from nodebudget.verifiers import AcceptanceLaw, DraftTree, Verifier

Row = list[Fraction]
Emit = Callable[[Row, Row, list[int]], Row]
ZERO, ONE = Fraction(0), Fraction(1)


def norm(row: Sequence[Fraction]) -> Row:
    """The row over its sum; a row without mass as it is."""
    total = sum(row, ZERO)
    return [mass / total for mass in row] if total else list(row)


def positive(row: Sequence[Fraction]) -> Row:
    return [max(ZERO, mass) for mass in row]


def top_down(emit: Emit, bonus_from_parent: bool = False) -> Callable[[DraftTree], AcceptanceLaw]:
    """The law of walking down with an emission law per node."""

    def law(tree: DraftTree) -> AcceptanceLaw:
        nodes = tree.nodes
        joint = tree.target * ZERO

        def walk(node: int, reach: Fraction, paths: list[int]) -> None:
            if node >= nodes.inner:
                row = tree.target[nodes.parent[node] if bonus_from_parent else node]
                joint[node] += reach * row
                return
            depth = int(nodes.lengths[node])
            below = [int(nodes.path_nodes[k, depth + 1]) for k in paths]
            tokens = [int(nodes.token[child]) for child in below]
            emitted = emit(list(tree.target[node]), list(tree.draft[node]), tokens)
            for y, mass in enumerate(emitted):
                if y in tokens:
                    child = below[tokens.index(y)]
                    walk(child, reach * mass, [k for k, c in zip(paths, below, strict=True) if c == child])
                else:
                    joint[node, y] += reach * mass

        walk(0, ONE, list(range(nodes.paths)))
        return AcceptanceLaw.from_joint(tree, joint)

    return law


def first_accepted(accept: Fraction, token: int, otherwise: Row) -> Row:
    """Emit `token` with probability `accept`, else draw from a law."""
    return [(accept if y == token else ZERO) + (1 - accept) * mass for y, mass in enumerate(otherwise)]


def token_against_largest(p: Row, q: Row, tokens: list[int]) -> Row:
    t = tokens[0]
    return first_accepted(
        p[t] / max(p), t, norm(positive([a - b for a, b in zip(p, q, strict=True)])) if p != q else p
    )


def token_resampled_from_target(p: Row, q: Row, tokens: list[int]) -> Row:
    t = tokens[0]
    return first_accepted(min(ONE, p[t] / q[t]), t, p)


def token_only_rejected_removed(p: Row, q: Row, tokens: list[int]) -> Row:
    t = tokens[0]
    rest = norm([ZERO if y == t else mass for y, mass in enumerate(p)])
    return first_accepted(min(ONE, p[t] / q[t]), t, rest if sum(rest) else p)


def token_correct(p: Row, q: Row, tokens: list[int]) -> Row:
    t = tokens[0]
    rest = norm(positive([a - b for a, b in zip(p, q, strict=True)]))
    return first_accepted(min(ONE, p[t] / q[t]), t, rest if sum(rest) else p)


def nss_reweighted(p: Row, q: Row, tokens: list[int]) -> Row:
    return norm([2 * mass if y in tokens else mass for y, mass in enumerate(p)])


def nss_correct(p: Row, q: Row, tokens: list[int]) -> Row:
    return p


def specinfer(merge: bool = False, forget: bool = False) -> Emit:
    def emit(p: Row, q: Row, tokens: list[int]) -> Row:
        residual, alive, out = list(p), ONE, [ZERO] * len(p)
        for t in dict.fromkeys(tokens) if merge else tokens:
            accept = min(ONE, residual[t] / q[t])
            out[t] += alive * accept
            alive *= 1 - accept
            if not forget:
                residual = norm(positive([a - b for a, b in zip(residual, q, strict=True)]))
        last = residual if not forget else norm(positive([a - b for a, b in zip(p, q, strict=True)]))
        return [a + alive * b for a, b in zip(out, last, strict=True)]

    return emit


def spectr(division: Fraction | None = None, weighted: bool = True) -> Emit:
    """K-SEQ; division None is m, which is always valid."""

    def emit(p: Row, q: Row, tokens: list[int]) -> Row:
        m = len(tokens)
        g = Fraction(m) if division is None else division
        kept = [min(b, a / g) for a, b in zip(p, q, strict=True)]
        b = sum(kept, ZERO)
        alive, out = ONE, [ZERO] * len(p)
        for t in tokens:
            accept = min(ONE, p[t] / (g * q[t]))
            out[t] += alive * accept
            alive *= 1 - accept
        factor = (1 - (1 - b) ** m) / b if weighted and b else ONE
        rest = norm(positive([a - k * factor for a, k in zip(p, kept, strict=True)]))
        return [a + alive * r for a, r in zip(out, rest, strict=True)]

    return emit


def block(
    stop: str = "largest", weight_coins: bool = False, token_residual: bool = False, bonus: str = "leaf"
) -> Any:
    """Block verification of the first path, with a fault switched on."""

    def law(tree: DraftTree) -> AcceptanceLaw:
        path = [int(node) for node in tree.nodes.path_nodes[0]]
        rows = [list(tree.draft[node]) for node in path[:-1]]
        return block_on(tree, path, rows, stop, weight_coins, token_residual, bonus)

    return law


def block_on(
    tree: DraftTree,
    path: list[int],
    draft: list[Row],
    stop: str = "largest",
    weight_coins: bool = False,
    token_residual: bool = False,
    bonus: str = "leaf",
) -> AcceptanceLaw:
    depth = len(path) - 1
    w, h, residuals = [ONE], [ONE], []
    for i in range(depth):
        p, q, y = list(tree.target[path[i]]), draft[i], int(tree.nodes.token[path[i + 1]])
        excess = positive([w[i] * a - b for a, b in zip(p, q, strict=True)])
        total = sum(excess, ZERO)
        if i:
            base = total + 1 - w[i]
            h.append(w[i] if weight_coins else (total / base if base else ONE))
        residuals.append(
            norm(positive([a - b for a, b in zip(p, q, strict=True)]) if token_residual else excess)
        )
        w.append(min(ONE, w[i] * p[y] / q[y]))
    h.append(w[depth])
    residuals.append(list(tree.target[path[depth if bonus == "leaf" else depth - 1]]))
    joint = tree.target * ZERO
    for i, node in enumerate(path):
        if stop == "largest":
            chance = h[i] * math.prod([1 - c for c in h[i + 1 :]], start=ONE)
        else:
            chance = math.prod(h[1 : i + 1], start=ONE) * (1 - h[i + 1] if i < depth else ONE)
        row = residuals[i] if sum(residuals[i]) else list(tree.target[node])
        joint[node] += np.array([chance * mass for mass in row], dtype=object)
    return AcceptanceLaw.from_joint(tree, joint)


def greedy(ties: str = "token", capped: bool = False, exponent_off: int = 0, skewed: bool = True) -> Any:
    """Greedy multi-path block verification, with a fault switched on."""

    def law(tree: DraftTree) -> AcceptanceLaw:
        nodes, count = tree.nodes, max(1, tree.nodes.paths - exponent_off)
        standing, path, rows = list(range(nodes.paths)), [0], []
        under, own = ZERO, ONE
        for i in range(nodes.depth):
            p, q = list(tree.target[path[-1]]), list(tree.draft[path[-1]])
            ratio = [
                (min(ONE, a / b) if capped else a / b) if b else Fraction(-1)
                for a, b in zip(p, q, strict=True)
            ]
            drafted = [int(nodes.token[nodes.path_nodes[k, i + 1]]) for k in standing]
            turn = {y: drafted.index(y) if y in drafted else len(drafted) + y for y in range(len(p))}
            order = sorted(range(len(p)), key=lambda y: (-ratio[y], turn[y] if ties == "drafting" else y))
            fixed = sorted(range(len(p)), key=lambda y: (-ratio[y], y))
            below, mass = {}, ZERO
            for y in reversed(fixed):
                below[y], mass = mass, mass + q[y]
            base = (under + own) ** count - under**count
            nu = [
                ((under + own * (below[y] + q[y])) ** count - (under + own * below[y]) ** count) / base
                for y in range(len(p))
            ]
            token = min(drafted, key=order.index)
            standing = [k for k, y in zip(standing, drafted, strict=True) if y == token]
            rows.append(nu if skewed else q)
            path.append(int(nodes.path_nodes[standing[0], i + 1]))
            under, own = under + own * below[token], own * q[token]
        return block_on(tree, path, rows)

    return law


def traversal(**faults: Any) -> Callable[[DraftTree], AcceptanceLaw]:
    """Traversal verification as the plain reference spells it out, with a fault switched on."""

    def law(tree: DraftTree) -> AcceptanceLaw:
        nodes = tree.nodes
        place = {nodes.path(node): node for node in range(len(nodes))}
        paths = [nodes.path(int(leaf)) for leaf in nodes.path_nodes[:, -1]]
        masses = plain_references.traversal(
            paths, lambda c: list(tree.target[place[c]]), lambda c: list(tree.draft[place[c]]), **faults
        )
        joint = tree.target * ZERO
        for context, row in masses.items():
            joint[place[context]] += np.array(row, dtype=object)
        return AcceptanceLaw.from_joint(tree, joint)

    return law


def _verifier(name: str, law: Any, multipath: bool) -> Verifier:
    return Verifier(name, law, multipath, "a negative control")


SOUND = [
    _verifier("token", top_down(token_correct), False),
    _verifier("nss", top_down(nss_correct), True),
    _verifier("specinfer", top_down(specinfer()), True),
    _verifier("spectr with g = m", top_down(spectr()), True),
    _verifier("block", block(), False),
    _verifier("greedy", greedy(), True),
    _verifier("traversal", traversal(), True),
]
"""The same code without a fault: what the audit must let pass."""

FAULTY = [
    _verifier("token: ratio against the largest target probability", top_down(token_against_largest), False),
    _verifier("token: resampled from the target", top_down(token_resampled_from_target), False),
    _verifier("token: only the rejected token removed", top_down(token_only_rejected_removed), False),
    _verifier(
        "token: bonus token from the parent's row", top_down(token_correct, bonus_from_parent=True), False
    ),
    _verifier("nss: drafted tokens favoured", top_down(nss_reweighted), True),
    _verifier("specinfer: duplicates merged", top_down(specinfer(merge=True)), True),
    _verifier("specinfer: residual forgotten between tries", top_down(specinfer(forget=True)), True),
    _verifier("spectr: division factor 1", top_down(spectr(division=ONE)), True),
    _verifier("spectr: residual without its factor", top_down(spectr(weighted=False)), True),
    _verifier("block: stops at the first failure", block(stop="first"), False),
    _verifier("block: coins of probability w", block(weight_coins=True), False),
    _verifier("block: residual of the token rule", block(token_residual=True), False),
    _verifier("block: bonus token from the parent's row", block(bonus="parent"), False),
    _verifier("greedy: ties by drafting order", greedy(ties="drafting"), True),
    _verifier(
        "greedy: ratio capped at 1, ties by drafting order", greedy(ties="drafting", capped=True), True
    ),
    _verifier("greedy: K - 1 in the skewed draft", greedy(exponent_off=1), True),
    _verifier("greedy: the draft in place of the skewed draft", greedy(skewed=False), True),
    _verifier("traversal: draft not renormalised", traversal(renormalise=False), True),
    _verifier("traversal: leaves in insertion order", traversal(order="insertion"), True),
]
"""One fault each."""
