"""What is drafted in a table: draftings by their text form, and the verifiers that are defined for them."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from typing import Any

from nodebudget.lp import Instance
from nodebudget.lp.drafting import Drafting, GivenTree, GrownTree, IidPaths, best_tree
from nodebudget.lp.drafting.drafting import knows_drafted
from nodebudget.lp.drafting.specs import DIGITS, parse_drafting
from nodebudget.lp.instances.instance_json import parse_context
from nodebudget.lp.numbers.rationals import shortened
from nodebudget.verifiers import Verifier

BEST = {"best-target": "target", "best-draft": "draft"}
"""Fixed trees that differ from instance to instance: the N nodes of largest probability, see `best_tree`."""


def text_of(spec: str) -> str:
    """The text form under which a drafting stands in a configuration and in a table.

    It is the text of `parse_drafting`, but that a tree from a file stands there with its nodes, "tree:0 1 0,2"; and
    "best-target:N" and "best-draft:N" are the best trees of N nodes.

    Raises ValueError that says what would be right.
    """
    kind, _, number = spec.partition(":")
    if kind not in BEST:
        return str(parse_drafting(spec))
    if not (number.isascii() and number.isdigit() and len(number) <= DIGITS and int(number)):
        raise ValueError(
            f"drafting: got {shortened(spec)}; expected a number of nodes from 1 on, such as {kind}:4"
        )
    return f"{kind}:{int(number)}"


def drafting_of(text: str, instance: Instance) -> Drafting:
    """The drafting of a text form (`text_of`) on an instance."""
    kind, _, rest = text.partition(":")
    if kind in BEST:
        return best_tree(instance, int(rest), by=BEST[kind])
    if kind == "tree":
        return GivenTree([parse_context(name, text) for name in rest.split()])
    return parse_drafting(text)


def check_fits(text: str, vocab: int, depth: int) -> None:
    """ValueError where a text form (`text_of`) is not for full trees of this size."""
    kind, _, rest = text.partition(":")
    if kind in BEST:
        return
    if kind != "tree":
        drafting = parse_drafting(text)
        assert isinstance(drafting, GrownTree)
        drafting.counts(depth)
        return
    for name in rest.split():
        path = parse_context(name, text)
        if len(path) > depth or max(path) >= vocab:
            raise ValueError(
                f"drafting {shortened(text)[1:-1]}: the node {name!r} is not on a tree of depth {depth} over {vocab} "
                "tokens"
            )


def is_iid(text: str) -> bool:
    """Whether a text form is that of i.i.d. paths."""
    return text.startswith("iid:")


def defined_for(verifier: Verifier, text: str) -> bool:
    """Whether a verifier is defined for the drafting of a text form."""
    kind, _, _ = text.partition(":")
    fixed = kind in BEST or kind == "tree"  # whatever the tree, it is a fixed one
    return verifier.needs.met(GivenTree([]) if fixed else parse_drafting(text))


def check_verifiers(drafted: Iterable[str], verifiers: Iterable[Verifier]) -> None:
    """ValueError for a text form for which none of the verifiers is defined: it would have no row."""
    asked = list(verifiers)
    for text in drafted:
        if not any(defined_for(verifier, text) for verifier in asked):
            names = ", ".join(verifier.name for verifier in asked)
            raise ValueError(
                f"verifiers: none of {names} is defined for {shortened(text)[1:-1]}; expected nss among them, which "
                "is defined for every draft"
            )


def drafted_columns(text: str, instance: Instance, drafting: Drafting) -> dict[str, Any]:
    """The columns about what is drafted.

    Where tokens with draft mass have no node in a sparse instance, a tree grown node by node counts with all its copies
    as the largest number of nodes, and the expected number is None.
    """
    expected: float | None = None
    if isinstance(drafting, GrownTree) and not knows_drafted(instance):
        most = copies(drafting.counts(instance.depth))
    else:
        expected, most = float(drafting.expected_nodes(instance)), drafting.most_nodes(instance)
    return {
        "paths": drafting.paths if isinstance(drafting, IidPaths) else None,
        "drafting": text,
        "nodes_expected": expected,
        "nodes_most": most,
    }


def copies(counts: tuple[int, ...]) -> int:
    """k_1 + k_1 k_2 + ...: the nodes of a tree that is grown with these counts."""
    return sum(itertools.accumulate(counts, operator.mul))
