"""The verifier LP from first principles: one variable per drafted tuple, accepted node and next token (section 4)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .antichains import check_paths
from .instances import Instance
from .programs import LinearProgram, Row
from .rationals import Array, constant, exact_array, fill

VARIABLE_LIMIT = 500_000
"""Most variables that the verifier LP is built with."""

DraftedTuple = tuple[int, ...]
"""The leaves at which the K drafted paths end, in drafting order."""


def drafted_tuples(instance: Instance, paths: int) -> Iterator[tuple[DraftedTuple, Any]]:
    """Every tuple of K leaves with its probability under the draft, those of probability zero left out.

    Raises ValueError for a sparse instance, whose tree lacks drafted paths without target mass.
    """
    check_paths(paths)
    tree = instance.tree
    if len(tree.leaves) != tree.vocab**tree.depth:
        raise ValueError("drafted tuples need the full tree; this instance is sparse")
    drafted = [leaf for leaf in tree.leaves if instance.joint_draft[leaf] > 0]
    for leaves in itertools.product(drafted, repeat=paths):
        yield leaves, _product(instance.joint_draft, leaves)


def prefixes(instance: Instance, leaves: DraftedTuple) -> list[int]:
    """The nodes that are a prefix of at least one drafted path, the root first."""
    found = set()
    for node in leaves:
        while node >= 0 and node not in found:
            found.add(node)
            node = int(instance.tree.parent[node])
    return sorted(found)


def verifier_program(instance: Instance, paths: int) -> LinearProgram:
    """The verifier LP: the largest E|Z| of any valid verifier, straight from the definition (statement 4.1).

    Variables phi(w; z, y) >= 0, the probability of accepting z and emitting y when the tuple w was drafted,
    for every tuple of positive probability, prefix z of one of its paths, and token y. Maximise
    sum of q(w) |z| phi subject to

        sum over z, y of phi(w; z, y) == 1                                  simplex, for each w
        Pr[Z = z, Y = y] == p(y|z) D(z) - D(zy)                             target-matching (2.1), each z, y

    with D(z) the sum of q(w) phi(w; z', y') over z' at or below z.

    Raises ValueError for more than `VARIABLE_LIMIT` variables or a sparse instance.
    """
    tree = instance.tree
    tuples = list(itertools.islice(drafted_tuples(instance, paths), VARIABLE_LIMIT))
    per_tuple = [(leaves, weight, prefixes(instance, leaves)) for leaves, weight in tuples]
    size = tree.vocab * sum(len(nodes) for _, _, nodes in per_tuple)
    if size > VARIABLE_LIMIT or len(tuples) == VARIABLE_LIMIT:
        raise ValueError(f"the verifier LP would have more than {VARIABLE_LIMIT} variables; use LP_K")
    one = instance.target[0]
    lengths = tree.lengths
    laws = [instance.target_law(node) for node in range(len(tree))]
    variables: list[tuple[DraftedTuple, int, int]] = []
    costs: list[Any] = []
    units: list[float] = []
    rows: list[Row] = []
    matching: dict[tuple[int, int], dict[int, Any]] = {}

    for leaves, weight, nodes in per_tuple:
        first = len(variables)
        for node, y in itertools.product(nodes, range(tree.vocab)):
            column = len(variables)
            variables.append((leaves, node, y))
            costs.append(weight * int(lengths[node]))
            units.append(1.0 / float(weight))
            # Pr[Z = z, Y = y] + D(zy) - p(y|z) D(z) == 0 for every (z, y) that this variable enters.
            _add(matching, node, y, column, weight)
            below, z = None, node
            while z >= 0:
                for token in range(tree.vocab):
                    _add(matching, z, token, column, -laws[z][token] * weight)
                if below is not None:
                    _add(matching, z, int(tree.token[below]), column, weight)
                below, z = z, int(tree.parent[z])
        columns = tuple(range(first, len(variables)))
        rows.append(Row("simplex", (), columns, (one,) * len(columns), one, equality=True))
    for (node, _), entries in sorted(matching.items()):
        kept = {column: value for column, value in entries.items() if value}
        if kept:
            columns = tuple(kept)
            rows.append(
                Row("target-matching", (node,), columns, tuple(kept.values()), one * 0, equality=True)
            )
    pack = fill if instance.exact else np.array
    return LinearProgram(
        f"verifier LP, K={paths}", tuple(variables), pack(costs), tuple(rows), np.array(units)
    )


def verifier_budgets(instance: Instance, program: LinearProgram, values: Any) -> Array:
    """array (n,): the node budgets D(z) of a solution of the verifier LP."""
    budgets = list(constant(instance.target, 0))
    for (leaves, node, _), value in zip(program.variables, values, strict=True):
        mass, z = _product(instance.joint_draft, leaves) * value, node
        while z >= 0:
            budgets[z] += mass
            z = int(instance.tree.parent[z])
    return exact_array(budgets) if instance.exact else np.array(budgets)


def _add(matching: dict[tuple[int, int], dict[int, Any]], node: int, y: int, column: int, value: Any) -> None:
    entries = matching.setdefault((node, y), {})
    entries[column] = entries.get(column, 0) + value


def _product(joint: Array, leaves: DraftedTuple) -> Any:
    out = joint[leaves[0]]
    for leaf in leaves[1:]:
        out = out * joint[leaf]
    return out
