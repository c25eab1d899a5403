"""What a verifier is: the law of the accepted node and the next token, given the drafted paths."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import array_api_compat
from nodebudget.lp.instances.arguments import check_kind
from nodebudget.lp.instances.tables import html_table
from nodebudget.lp.instances.trees import format_context
from nodebudget.lp.numbers.rationals import to_fraction

from ..arithmetic.arrays import Array
from .paths import DraftTree


class AcceptanceLaw:
    """The law of (Z, Y) given drafted paths: Z the accepted node, Y the token emitted after it.

    Enumerated over drafted tuples it gives an exact audit, summed it gives the expected number of accepted
    tokens without sampling noise, and `sample` draws from it. Everything stays on the tree's device.
    """

    def __init__(self, tree: DraftTree, stop: Array, rows: Callable[[Array], Array]) -> None:
        """Build from the two conditional laws.

        Args:
            tree: the drafted paths.
            stop: (n,), Pr[Z = node] for each node of the tree.
            rows: from an index array (m,) of nodes to (m, V), the law of Y given Z = node. Called with an
                array on the tree's device, whose values it must not read on the host.
        """
        check_kind("tree", tree, DraftTree, "the DraftTree that the verifier was given")
        _check_shape("stop", stop, tree, (len(tree.nodes),), "one entry per node")
        self.tree = tree
        numbers = tree.arrays.numbers
        self._stop = numbers(stop) if tree.exact else stop
        self._rows = (lambda index: numbers(rows(index))) if tree.exact else rows

    @classmethod
    def from_joint(cls, tree: DraftTree, joint: Array) -> AcceptanceLaw:
        """Build from one table, Pr[Z = node, Y = token], of shape (n, V).

        Raises ValueError for another shape, for a negative entry (not looked for on a device), and for a float
        table where the tree is exact.
        """
        _check_shape("joint", joint, tree, (len(tree.nodes), tree.vocab), "nodes by tokens")
        if (joint.dtype == object) != tree.exact:
            raise ValueError(f"joint: got a table of {joint.dtype}; expected the kind of number of {tree!r}")
        arrays = tree.arrays
        if not arrays.torch and not bool((joint >= 0).all()):
            raise ValueError("joint: got a negative entry or NaN; expected probabilities")
        table = arrays.numbers(joint)
        target, _ = tree.working_rows()
        return cls(
            tree,
            arrays.sum(table),
            lambda index: arrays.normalise(arrays.take(table, index), lambda: arrays.take(target, index)),
        )

    def __repr__(self) -> str:
        nodes = self.tree.nodes
        return (
            f"AcceptanceLaw(E|Z| = {float(self.expected_accepted):.6g}, {nodes.summary}, "
            f"vocab={self.tree.vocab}, {self.tree.arrays.precision})"
        )

    def _repr_html_(self) -> str:
        nodes = self.tree.nodes
        rows = (
            [format_context(nodes.path(node)) or "root", mass] for node, mass in enumerate(self.stop.tolist())
        )
        return html_table(["node z", "Pr[Z = z]"], rows, repr(self), count=len(nodes))

    @cached_property
    def stop(self) -> Array:
        """(n,): Pr[Z = node], Fractions where the tree is exact."""
        return self.tree.handed_out(self._stop if self.tree.exact else self._stop + 0)

    def next_row(self, node: int) -> Array:
        """(V,): the law of Y given Z = node; at a node that is never accepted, some law."""
        if not 0 <= node < len(self.tree.nodes):
            raise ValueError(f"node: got {node}; expected a node of the tree, 0..{len(self.tree.nodes) - 1}")
        return self.tree.handed_out(self._rows(self.tree.arrays.index([node]))[0])

    @property
    def expected_accepted(self) -> Any:
        """E|Z|, the expected number of accepted draft tokens: a Fraction, a numpy float, or a 0-d tensor."""
        arrays = self.tree.arrays
        lengths = self.tree.nodes.lengths if arrays.exact else arrays.from_host(self.tree.nodes.lengths)
        total = arrays.sum(self._stop * lengths)
        return to_fraction(total) if arrays.exact else self.tree.handed_out(total)

    def joint(self) -> Array:
        """(n, V): Pr[Z = node, Y = token], for audits."""
        everywhere = self.tree.arrays.positions(len(self.tree.nodes))
        return self.tree.handed_out(self._stop[:, None] * self._rows(everywhere))

    def working(self) -> tuple[Array, Callable[[Array], Array]]:
        """The two conditional laws in the numbers they are computed in; for sampling."""
        return self._stop, self._rows


def residual_laws(tree: DraftTree, index: Array, left: Callable[[], Array], inside: Array) -> Array:
    """(m, V): the laws of Y given Z at an index array (m,): what is left of the target, over its sum.

    The target's own law where nothing is, and where the mask `inside` (m,) is False, as after a leaf. The memory of
    the rows that `left` makes (m, V) is used up.
    """
    arrays = tree.arrays
    if arrays.numpy and not inside.any():
        return tree.target_rows(index)
    rows = left()
    if not (arrays.numpy and inside.all()):
        rows *= arrays.xp.where(inside, arrays.one, arrays.zero)[:, None]
    return arrays.normalise(rows, lambda: tree.target_rows(index))


def _check_shape(name: str, values: Any, tree: DraftTree, shape: tuple[int, ...], entries: str) -> None:
    """ValueError unless the values are an array of the tree's library and of this shape."""
    of_torch = array_api_compat.is_torch_array(values)
    if of_torch != tree.arrays.torch or not (of_torch or array_api_compat.is_numpy_array(values)):
        expected = "a torch tensor" if tree.arrays.torch else "a numpy array"
        raise ValueError(f"{name}: got {type(values).__name__}; expected {expected}, as the tree's rows are")
    if tuple(values.shape) != shape:
        raise ValueError(f"{name}: got shape {tuple(values.shape)}; expected {shape}, {entries}")
