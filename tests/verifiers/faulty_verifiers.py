"""Deliberately broken verifiers: negative controls of the audit, each with one fault.

They are the plain verifiers with one step of the mathematics done wrong, so that nothing but the fault is theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from unittest import mock

from nodebudget.verifiers import Verifier, plain
from nodebudget.verifiers.plain import bv, gbv, nss, specinfer, spectr, token, traversal
from nodebudget.verifiers.plain.adapter import PlainLaw
from nodebudget.verifiers.plain.shared import (
    Context,
    Laws,
    Number,
    Outcomes,
    Row,
    accept,
    excess,
    normalised,
    walk,
)


def changed(module: ModuleType, **steps: Callable[..., object]) -> PlainLaw:
    """A plain verifier with some of its functions replaced while its law is computed."""

    def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
        with mock.patch.multiple(module, **steps):
            return module.law(paths, target, draft)

    return law


def bonus_from_parent(law: PlainLaw) -> PlainLaw:
    """The token after a whole path is drawn from the target's law one token earlier."""

    def wrong(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
        return law(paths, lambda z: target(z[: len(paths[0]) - 1]), draft)

    return wrong


def token_residual(w: Number, p: Row, q: Row) -> Row:
    """That of token verification, max(0, p - q)."""
    return normalised(excess(1, p, q))


def residual_or_target(w: Number, p: Row, q: Row) -> Row:
    """The right residual; the target's law where nothing is left, at a stop that the right coins never make."""
    left = excess(w, p, q)
    return normalised(left) if any(left) else p


def token_against_largest(p: Row, q: Row, tokens: list[int]) -> Row:
    return accept(p[tokens[0]] / max(p), tokens[0], token_residual(1, p, q) if p != q else p)


def token_resampled_from_target(p: Row, q: Row, tokens: list[int]) -> Row:
    return accept(min(1, p[tokens[0]] / q[tokens[0]]), tokens[0], p)


def token_only_rejected_removed(p: Row, q: Row, tokens: list[int]) -> Row:
    t = tokens[0]
    rest = normalised([0 if y == t else mass for y, mass in enumerate(p)])
    return accept(min(1, p[t] / q[t]), t, rest if any(rest) else p)


def nss_reweighted(p: Row, q: Row, tokens: list[int]) -> Row:
    return normalised([2 * mass if y in tokens else mass for y, mass in enumerate(p)])


def specinfer_merged(p: Row, q: Row, tokens: list[int]) -> Row:
    return specinfer.emit(p, q, list(dict.fromkeys(tokens)))


def specinfer_forgetful(p: Row, q: Row, tokens: list[int]) -> Row:
    emitted = token_residual(1, p, q)
    for t in reversed(tokens):
        emitted = accept(min(1, p[t] / q[t]), t, emitted)
    return emitted


def spectr_undivided(p: Row, q: Row, tokens: list[int]) -> Row:
    """The division factor is 1, and what becomes negative in the residual is left out."""
    kept = [min(qy, py) for py, qy in zip(p, q, strict=True)]
    tries = sum((1 - sum(kept)) ** i for i in range(len(tokens)))
    emitted = normalised(excess(1, p, [k * tries for k in kept]))
    for t in reversed(tokens):
        emitted = accept(min(1, p[t] / q[t]), t, emitted)
    return emitted


def spectr_unweighted(p: Row, q: Row, tokens: list[int]) -> Row:
    """The residual p - min(q, p/g), without its factor, for g = m."""
    m = len(tokens)
    emitted = normalised([py - min(qy, py / m) for py, qy in zip(p, q, strict=True)])
    for t in reversed(tokens):
        emitted = accept(min(1, p[t] / (m * q[t])), t, emitted)
    return emitted


def walking(emit: Callable[[Row, Row, list[int]], Row], *, first_path_only: bool = False) -> PlainLaw:
    def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
        return walk(paths[:1] if first_path_only else paths, target, draft, emit)

    return law


def block_to_the_first_failure(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
    """A failed coin is not rescued by a later success."""
    x, reached = paths[0], Fraction(1)
    w, out = bv.weights(x, target, draft), {}
    inner = [bv.coin(w[i], target(x[:i]), draft(x[:i])) for i in range(1, len(x))]
    h = [1, *inner, w[-1], 0]
    for i in range(len(x) + 1):
        emitted = residual_or_target(w[i], target(x[:i]), draft(x[:i])) if i < len(x) else target(x)
        goes_on = h[i + 1]
        out |= {(x[:i], y): reached * (1 - goes_on) * mass for y, mass in enumerate(emitted)}
        reached *= goes_on
    return out


def pick_with_ties_by_drafting(cap: float = float("inf")) -> Callable[..., Context]:
    """The path with the best ratios p/q, capped at a number; of equal ones the one that was drafted first."""

    def pick(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Context:
        for i in range(len(paths[0])):
            z = paths[0][:i]
            p, q = target(z), draft(z)
            best = max(paths, key=lambda x: min(cap, p[x[i]] / q[x[i]]))
            paths = tuple(x for x in paths if x[i] == best[i])
        return paths[0]

    return pick


def one_path_less(x: Context, K: int, target: Laws, draft: Laws, right: Callable = gbv.skewed_draft) -> Laws:
    return right(x, max(1, K - 1), target, draft)


def no_skew(x: Context, K: int, target: Laws, draft: Laws) -> Laws:
    return draft


def first_in_insertion_order(nodes: list[Context]) -> Context:
    """The first leaf by when it was inserted, path after path."""
    parents = {z[:-1] for z in nodes if z}
    return next(z for z in nodes if z not in parents)


def not_renormalised(d: Row, y: int) -> Row:
    return [0 if t == y else mass for t, mass in enumerate(d)]


def _verifier(name: str, law: PlainLaw, multipath: bool) -> Verifier:
    return Verifier(name, plain.on_tree(law), multipath, "a control")


SOUND = [
    _verifier("token", token.law, False),
    _verifier("nss", nss.law, True),
    _verifier("specinfer", specinfer.law, True),
    _verifier("spectr", spectr.law, True),
    _verifier("spectr with g = m", changed(spectr, division_factor=lambda p, q, m: Fraction(m)), True),
    _verifier("block", bv.law, False),
    _verifier("greedy", gbv.law, True),
    _verifier("traversal", traversal.law, True),
]
"""The same without a fault: what the audit must let pass. A division factor of m is always valid."""

FAULTY = [
    _verifier(
        "token: ratio against the largest target probability",
        walking(token_against_largest, first_path_only=True),
        False,
    ),
    _verifier(
        "token: resampled from the target", walking(token_resampled_from_target, first_path_only=True), False
    ),
    _verifier(
        "token: only the rejected token removed",
        walking(token_only_rejected_removed, first_path_only=True),
        False,
    ),
    _verifier("token: bonus token from the parent's row", bonus_from_parent(token.law), False),
    _verifier("nss: drafted tokens favoured", walking(nss_reweighted), True),
    _verifier("specinfer: duplicates merged", walking(specinfer_merged), True),
    _verifier("specinfer: residual forgotten between tries", walking(specinfer_forgetful), True),
    _verifier("spectr: division factor 1", walking(spectr_undivided), True),
    _verifier("spectr: residual without its factor", walking(spectr_unweighted), True),
    _verifier("block: stops at the first failure", block_to_the_first_failure, False),
    _verifier(
        "block: coins of probability w",
        changed(bv, coin=lambda w, p, q: w, residual=residual_or_target),
        False,
    ),
    _verifier("block: residual of the token rule", changed(bv, residual=token_residual), False),
    _verifier("block: bonus token from the parent's row", bonus_from_parent(bv.law), False),
    _verifier("greedy: ties by drafting order", changed(gbv, pick=pick_with_ties_by_drafting()), True),
    _verifier(
        "greedy: ratio capped at 1, ties by drafting order",
        changed(gbv, pick=pick_with_ties_by_drafting(cap=1)),
        True,
    ),
    _verifier("greedy: K - 1 in the skewed draft", changed(gbv, skewed_draft=one_path_less), True),
    _verifier("greedy: the draft in place of the skewed draft", changed(gbv, skewed_draft=no_skew), True),
    _verifier("traversal: draft not renormalised", changed(traversal, without=not_renormalised), True),
    _verifier(
        "traversal: leaves in insertion order", changed(traversal, first_leaf=first_in_insertion_order), True
    ),
]
"""One fault each."""
