"""The verifier LP from first principles: a variable per drafted tuple, accepted node and next token (sections 4, 7)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..drafting.drafting import Drafting
from ..drafting.replacement import IidPaths
from ..drafting.specs import Drafted, as_drafting
from ..drafting.tuples import DraftedTuple, count_drafted_tuples, drafted_tuples, prefixes, tuple_mass
from ..instances.instance import Instance, check_instance
from ..numbers.rationals import Array, constant, exact_array, fill
from .linear_program import LinearProgram, Row

VARIABLE_LIMIT = 500_000
"""Most variables that the verifier LP is built with."""

Entries = dict[int, Any]
"""Coefficients of a row by column."""


def verifier_program(instance: Instance, paths: Drafted) -> LinearProgram:
    """The verifier LP: the largest E|Z| of any valid verifier, straight from the definition (statement 4.1).

    Variables phi(w; z, y) >= 0, the probability of accepting z and emitting y when the tuple w was drafted,
    for every tuple of positive probability, prefix z of one of its paths, and token y. Maximise
    sum of q(w) |z| phi subject to

        sum over z, y of phi(w; z, y) == 1                                  simplex, for each w
        Pr[Z = z, Y = y] == p(y|z) D(z) - D(zy)                             target-matching (2.1), each z, y

    with D(z) the sum of q(w) phi(w; z', y') over z' at or below z. For another drafting than K i.i.d. paths w is a
    drafted tree, and its nodes take the place of the prefixes (statement 13.6).

    Args:
        instance: exact or float.
        paths: number K of drafted paths, or any drafting with a list of trees.

    Raises ValueError for more than `VARIABLE_LIMIT` variables or a sparse instance.
    """
    return tied_verifier_program([instance], paths)


def tied_verifier_program(instances: Sequence[Instance], paths: Drafted) -> LinearProgram:
    """The verifier LPs of several instances, tied where they look the same to the drafted paths (section 7).

    Where two instances show a drafted tuple the same on-path laws (target and draft at every prefix of its
    paths) they share its phi. The optimum is the largest sum of E|Z| that one algorithm can reach on all
    instances when it may only use on-path information.

    A variable's label is (number of the first instance that shows the tuple, leaves, node, token); with another
    drafting than i.i.d. paths the nodes of the tree stand for the leaves.

    Raises ValueError for no instance, instances on different trees or of different kinds, more than
    `VARIABLE_LIMIT` variables, or a sparse instance.
    """
    for instance in instances:
        check_instance(instance)
    if len({(inst.vocab, inst.depth, inst.exact) for inst in instances}) != 1:
        raise ValueError(
            "tied instances must agree in vocabulary, depth and in being exact; at least one is needed"
        )
    first, drafting = instances[0], as_drafting(paths)
    tree, one = first.tree, first.target[0]
    too_many = f"the verifier LP would have more than {VARIABLE_LIMIT} variables; use LP_K"
    if isinstance(drafting, IidPaths):
        smallest = sum(count_drafted_tuples(inst, drafting.paths) for inst in instances) // len(instances)
        if smallest * tree.vocab * (tree.depth + 1) > VARIABLE_LIMIT:
            raise ValueError(too_many)
    variables: list[tuple[int, DraftedTuple, int, int]] = []
    costs: list[Any] = []
    weights: list[float] = []
    rows: list[Row] = []
    start: dict[Any, int] = {}
    for number, instance in enumerate(instances):
        laws = [instance.target_law(node) for node in range(len(tree))]
        matching: dict[tuple[int, int], Entries] = {}
        for leaves, nodes, mass in _drafts(instance, drafting):
            shown = (leaves, _on_path_laws(instance, laws, nodes) if len(instances) > 1 else None)
            if shown not in start:
                start[shown] = len(variables)
                if len(variables) + len(nodes) * tree.vocab > VARIABLE_LIMIT:
                    raise ValueError(too_many)
                variables += [(number, leaves, z, y) for z in nodes for y in range(tree.vocab)]
                columns = tuple(range(start[shown], len(variables)))
                costs += [one * 0] * len(columns)
                weights += [0.0] * len(columns)
                rows.append(Row("simplex", (), columns, (one,) * len(columns), one, equality=True))
            shares = {z: [-p * mass for p in laws[z]] for z in nodes}
            for offset, (node, y) in enumerate(itertools.product(nodes, range(tree.vocab))):
                column = start[shown] + offset
                costs[column] += mass * len(tree.path(node))
                weights[column] = max(weights[column], float(mass))
                _enter(matching, instance, shares, node, y, column, mass)
        for (node, _), entries in sorted(matching.items()):
            kept = {column: value for column, value in entries.items() if value}
            if kept:
                coefficients = tuple(kept.values())
                rows.append(
                    Row("target-matching", (node,), tuple(kept), coefficients, one * 0, equality=True)
                )
    pack = fill if first.exact else np.array
    name = f"verifier LP, {drafting}" + (f", {len(instances)} instances tied" if len(instances) > 1 else "")
    return LinearProgram(name, tuple(variables), pack(costs), tuple(rows), 1.0 / np.array(weights))


def _drafts(instance: Instance, drafting: Drafting) -> Iterator[tuple[tuple[int, ...], list[int], Any]]:
    """Everything that can be drafted: a name, its nodes with the root, and its probability."""
    if isinstance(drafting, IidPaths):
        for leaves, mass in drafted_tuples(instance, drafting.paths):
            yield leaves, prefixes(instance, leaves), mass
    else:
        for nodes, mass in drafting.trees(instance):
            yield nodes, list(nodes), mass


def verifier_budgets(instance: Instance, program: LinearProgram, values: Any) -> Array:
    """array (n,): the node budgets D(z) of a solution of the verifier LP of one instance with i.i.d. paths."""
    budgets = list(constant(instance.target, 0))
    for (_, leaves, node, _), value in zip(program.variables, values, strict=True):
        mass, z = tuple_mass(instance, leaves) * value, node
        while z >= 0:
            budgets[z] += mass
            z = int(instance.tree.parent[z])
    return exact_array(budgets) if instance.exact else np.array(budgets)


def _enter(
    matching: dict[tuple[int, int], Entries],
    instance: Instance,
    shares: dict[int, list[Any]],
    node: int,
    y: int,
    column: int,
    mass: Any,
) -> None:
    """Put phi(w; node, y) into every equation Pr[Z = z, Y = t] + D(zt) - p(t|z) D(z) == 0 that it enters.

    `shares` has -p(t|z) q(w) for every prefix z of the drafted tuple w, `mass` is q(w).
    """

    def add(z: int, token: int, value: Any) -> None:
        entries = matching.setdefault((z, token), {})
        entries[column] = entries[column] + value if column in entries else value

    add(node, y, mass)
    below, z = None, node
    while z >= 0:
        for token in range(instance.vocab):
            add(z, token, shares[z][token])
        if below is not None:
            add(z, int(instance.tree.token[below]), mass)
        below, z = z, int(instance.tree.parent[z])


def _on_path_laws(instance: Instance, laws: list[Array], nodes: list[int]) -> tuple[tuple[Any, ...], ...]:
    """Target and draft laws at these nodes, as something that can be compared."""
    inner = [node for node in nodes if node not in instance.tree.leaves]
    return tuple(tuple(laws[node]) for node in nodes) + tuple(
        tuple(instance.draft_law(node)) for node in inner
    )
