"""E|Z| of a verifier on an instance: by one pass over the tree, or over everything that can be drafted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nodebudget.lp import Instance, accepted_tokens
from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.drafting.tuples import (
    DraftedTuple,
    check_count,
    count_drafted_tuples,
    drafted_tuples,
)
from nodebudget.lp.instances.instance import check_instance
from nodebudget.lp.instances.progress import watched

from .drafts.paths import DraftTree
from .registry import as_verifier
from .verifier import LawFunction, Verifier

INSTEAD = (
    "take fewer paths or a smaller instance, or average verifier.law(DraftTree.from_instance(instance, drafted))"
    ".expected_accepted over drafted = instance.draw_paths(paths, seed)"
)


def expected_accepted(verifier: Verifier | LawFunction | str, instance: Instance, paths: int) -> Any:
    """E|Z|, the expected number of accepted tokens of a verifier with K i.i.d. drafted paths.

    From the verifier's node budgets where they take one pass over the tree, else by going through everything that
    can be drafted, with a progress bar on stderr where that takes more than two seconds. There is no sampling.

    Args:
        verifier: one of `VERIFIERS` or its name, a `Verifier`, or a law function from `DraftTree` to `AcceptanceLaw`.
        instance: exact or float; a verifier without budgets by one pass needs the full tree.
        paths: number K of drafted paths. A verifier that looks at one path is shown the first only.

    Returns:
        a Fraction for an exact instance, a float otherwise.

    Raises ValueError for arguments of another kind, more drafted tuples than can be gone through, a sparse instance
    where that is needed, and a user's verifier that does not return the law of the tree it was given.

    >>> from nodebudget.lp import random_instance
    >>> small = random_instance("iid", 2, 2, seed=1)
    >>> expected_accepted("bv", small, 1), expected_accepted("traversal", small, 2)
    (Fraction(11, 8), Fraction(3, 2))
    """
    verifier = as_verifier(verifier)
    check_instance(instance)
    check_paths(paths)
    if (found := from_budgets(verifier, instance, paths)) is not None:
        return found
    shown = paths if verifier.multipath else 1
    try:
        count = count_drafted_tuples(instance, shown, ordered=verifier.ordered)
    except ValueError as error:
        raise ValueError(f"{verifier.name}: {error} ({INSTEAD})") from None
    check_count(count, shown, INSTEAD)
    every = drafted_tuples(instance, shown, ordered=verifier.ordered)
    return average(verifier, instance, watched(every, "tuple", count))


def from_budgets(verifier: Verifier, instance: Instance, paths: int) -> Any:
    """E|Z| by one pass over the tree; None for a verifier without such a form, and where it would be too large."""
    budgets = verifier.one_pass(instance, paths) if verifier.one_pass else None
    if budgets is None:
        return None
    total = accepted_tokens(budgets)
    return total if instance.exact else float(total)


def average(verifier: Verifier, instance: Instance, drafted: Iterable[tuple[DraftedTuple, Any]]) -> Any:
    """E|Z| over drafted leaves with their probabilities, as `drafted_tuples` gives them."""
    total = sum(
        (mass * given(verifier, instance, _paths(instance, leaves)) for leaves, mass in drafted),
        instance.target[0] * 0,
    )
    return total if instance.exact else float(total)


def given(verifier: Verifier, instance: Instance, drafted: Sequence[Sequence[int]]) -> Any:
    """E|Z| given drafted paths, as tokens; ValueError for a verifier that fails on them."""
    accepted = verifier.ask(DraftTree.from_instance(instance, drafted), lambda law: law.expected_accepted)
    return accepted if instance.exact else float(accepted)


def _paths(instance: Instance, leaves: DraftedTuple) -> list[tuple[int, ...]]:
    return [instance.tree.path(leaf) for leaf in leaves]
