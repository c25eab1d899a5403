"""E|Z| of a verifier on an instance: by one pass over the tree, or over everything that can be drafted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nodebudget.lp import Instance, accepted_tokens
from nodebudget.lp.drafting import Drafting, IidPaths
from nodebudget.lp.drafting.specs import Drafted, as_drafting, which_drafting
from nodebudget.lp.drafting.tuples import (
    check_count,
    checked_count,
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


def expected_accepted(
    verifier: Verifier | LawFunction | str,
    instance: Instance,
    paths: Drafted | None = None,
    *,
    drafting: Drafted | None = None,
) -> Any:
    """E|Z|, the expected number of accepted tokens of a verifier.

    From the verifier's node budgets where they take one pass over the tree, else by going through everything that
    can be drafted, with a progress bar on stderr where that takes more than two seconds. There is no sampling.

    Args:
        verifier: one of `VERIFIERS` or its name, a `Verifier`, or a law function from `DraftTree` to `AcceptanceLaw`.
        instance: exact or float; a verifier without budgets by one pass needs the full tree.
        paths: number K of i.i.d. drafted paths. A verifier that looks at one path is shown the first only.
        drafting: instead of `paths`, what is drafted: a `Drafting`, or its text form such as "without:2,1".

    Returns:
        a Fraction for an exact instance, a float otherwise.

    Raises ValueError for arguments of another kind, a drafting for which the verifier is not defined, more than can be
    gone through, a sparse instance where that is needed, and a user's verifier that does not return the law of the
    tree it was given.

    >>> from nodebudget.lp import random_instance
    >>> small = random_instance("iid", 2, 2, seed=1)
    >>> expected_accepted("bv", small, 1), expected_accepted("nss", small, drafting="top:1,2")
    (Fraction(11, 8), Fraction(1, 1))
    """
    verifier = as_verifier(verifier)
    check_instance(instance)
    shown = verifier.shown(instance, which_drafting(paths, drafting))
    if (found := from_budgets(verifier, instance, shown)) is not None:
        return found
    if not isinstance(shown, IidPaths):
        every = watched(shown.outcomes(instance), "tree", checked_count(shown, instance))
        return average(verifier, instance, every, shown)
    try:
        count = count_drafted_tuples(instance, shown.paths, ordered=verifier.ordered)
    except ValueError as error:
        raise ValueError(f"{verifier.name}: {error} ({INSTEAD})") from None
    check_count(count, shown.paths, INSTEAD)
    tuples = drafted_tuples(instance, shown.paths, ordered=verifier.ordered)
    return average(verifier, instance, watched(tuples, "tuple", count), shown)


def from_budgets(verifier: Verifier, instance: Instance, drafted: Drafted) -> Any:
    """E|Z| by one pass over the tree; None for a verifier without such a form, and where it would be too large."""
    budgets = verifier.pass_over(instance, as_drafting(drafted))
    if budgets is None:
        return None
    total = accepted_tokens(budgets)
    return total if instance.exact else float(total)


def average(
    verifier: Verifier,
    instance: Instance,
    drafted: Iterable[tuple[Sequence[int], Any]],
    drafting: Drafting | None = None,
) -> Any:
    """E|Z| over outcomes with their probabilities: leaves of paths as `drafted_tuples` gives them, or drawn nodes."""
    total = sum(
        (
            mass * given(verifier, instance, [instance.tree.path(node) for node in outcome], drafting)
            for outcome, mass in drafted
        ),
        instance.target[0] * 0,
    )
    return total if instance.exact else float(total)


def given(
    verifier: Verifier, instance: Instance, drafted: Sequence[Sequence[int]], drafting: Drafting | None = None
) -> Any:
    """E|Z| given what was drafted, as tokens: K paths, or the nodes of another drafting.

    Raises ValueError for a verifier that fails on them.
    """
    if drafting is None or isinstance(drafting, IidPaths):
        tree = DraftTree.from_instance(instance, drafted)
    else:
        tree = DraftTree.from_drawn(instance, drafted, drafting)
    accepted = verifier.ask(tree, lambda law: law.expected_accepted)
    return accepted if instance.exact else float(accepted)
