"""A drafted tree with the laws at its nodes: all that a verifier is shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from nodebudget.lp.drafting import Drafting, GivenTree, IidPaths
from nodebudget.lp.instances.arguments import check_kind
from nodebudget.lp.instances.instance import Instance, check_instance
from nodebudget.lp.numbers.rationals import exact_array

from ..arithmetic.arrays import DTYPES, Array, Arrays
from .given_rows import GivenRows
from .instance_rows import instance_rows
from .nodes import PathNodes
from .read_rows import check_rows, path_rows, read_rows, rounding_of, sum_tolerance
from .row_checks import check_laws, row_error
from .row_pairs import row_pairs
from .tree_nodes import TreeNodes

Rows = Array | Callable[[tuple[int, ...]], Any]
"""Next-token laws: an array, or a function from a context (tuple of token ids) to its law."""


class DraftTree:
    """A drafted tree as distinct nodes, with the target's and the draft's next-token law at each of them.

    The shape (`nodes`) is host integers. The laws are rationals (numpy object arrays of Fractions), numpy
    floats, or torch tensors, which stay on their device. Float rows are converted to `dtype` and divided by
    their sum, so that rows given in float16 or bfloat16 are laws again. That is done when a row is needed: the
    caller's arrays are never changed, and should not be until a sample is drawn.

    The draft rows must be the very laws that the tree was drawn from, after temperature, top-k and top-p; the
    target rows must have gone through the same. How it was drawn from them, `drafting` says.

    Attributes:
        nodes: the distinct nodes: `PathNodes`, or any `TreeNodes`; n of them, `nodes.inner` above the deepest level.
        drafting: what was drafted, of which this tree is one outcome.
        arrays: the operations on the numbers that laws are computed in.
        pairs: the rows as they were given, and the sums over the vocabulary that verifiers need (`RowPairs`).
        rounding: how far, relatively, numbers that should be equal may be apart in these rows; 0 where exact.
    """

    def __init__(
        self,
        nodes: TreeNodes,
        target: Array,
        draft: Array,
        *,
        drafting: Drafting | None = None,
        dtype: str = "float64",
        check: bool | None = None,
    ) -> None:
        """Build from one row per distinct node, as a tree-attention pass gives them.

        Args:
            nodes: the shape.
            target: (n, V), the target's law after each node, in the order of `nodes`.
            draft: (nodes.inner, V), the draft's law after each node above the deepest level.
            drafting: what was drafted; K i.i.d. paths where it is left out and the nodes are those of paths, else the
                tree is taken as fixed, whatever the draft's law.
            dtype: what float laws are computed in, "float64" or "float32"; rationals stay rationals.
            check: look at the values as well. True raises for a row that is not a law and for a drafted token
                to which the draft gives no probability. The default is True for numpy rows and False for
                torch rows, because looking at them makes the host wait for the device. Rows that were not
                looked at here are still judged when a sample is drawn, if they had a part in the law.

        Raises ValueError for rows of the wrong shape, of different kinds or on different devices, for a
        drafted token outside the vocabulary, and for what `check` finds.
        """
        check_kind("nodes", nodes, TreeNodes, "a PathNodes or TreeNodes; `from_paths` takes paths themselves")
        if dtype not in DTYPES:
            raise ValueError(
                f"dtype: got {dtype!r}; expected {' or '.join(DTYPES)}, for rows of any precision"
            )
        target, draft = read_rows("target", target), read_rows("draft", draft)
        check_rows(target, draft, nodes)
        self.nodes = nodes
        self.drafting = drafting or _usual(nodes)
        self.arrays = Arrays(target, dtype)
        self._as_tensors: Callable[[Array], Array] | None = None
        self.rounding = max(rounding_of(rows, self.arrays.precision) for rows in (target, draft))
        self._tolerance = max(sum_tolerance(rows, self.arrays.precision) for rows in (target, draft))
        numbers = self.arrays.numbers
        self.pairs = row_pairs(
            *(GivenRows(numbers(rows) if self.exact else rows, self.arrays) for rows in (target, draft))
        )
        if check or (check is None and not self.arrays.torch):
            check_laws(self, self._tolerance)

    @classmethod
    def from_paths(
        cls, paths: Any, target: Rows, draft: Rows, *, dtype: str = "float64", check: bool | None = None
    ) -> DraftTree:
        """Build from rows per path position, as a decoding loop has them, or from functions.

        Args:
            paths: K x L token ids.
            target: (K, L + 1, V); `target[k, i]` is the target's law after the first i tokens of path k. Or a
                function from a context to its law, called once per distinct node.
            draft: (K, L, V), likewise.
            dtype, check: as in `DraftTree`.

        Where several paths pass a node, the row of the first of them is used.

        Raises ValueError as `DraftTree` does.

        >>> import numpy as np
        >>> uniform = np.full(3, 1 / 3)
        >>> tree = DraftTree.from_paths([[0, 2], [0, 1]], lambda context: uniform, lambda context: uniform)
        >>> tree
        DraftTree(paths=2, depth=2, nodes=4, vocab=3, float64)
        """
        nodes = PathNodes(paths)
        rows = [path_rows(name, given, nodes) for name, given in (("target", target), ("draft", draft))]
        return cls(nodes, rows[0], rows[1], dtype=dtype, check=check)

    @classmethod
    def from_instance(cls, instance: Instance, paths: Any) -> DraftTree:
        """Build from drafted paths of an instance; exact where the instance is.

        The paths are K independent draws from the draft, in drafting order, as `instance.draw_paths(K, seed)` gives
        them; a path that was drafted twice is there twice. Only what cannot be draws at all is refused: of paths that
        came about otherwise, such as the two likeliest tokens in every context, E|Z| means nothing. Such trees are
        built by `from_drawn`, which is told what was drafted.

        A drafted token that a sparse instance has no node for has target probability zero: neither it nor anything
        below it is ever accepted. The rows below it are taken as uniform; they do not matter.

        Raises ValueError for what is no instance, a set or mapping of paths (which has no order, and a path only
        once), paths of another length than the instance's depth, a token outside its vocabulary, and a drafted
        token to which the draft gives probability zero.
        """
        check_instance(instance)
        nodes = PathNodes(paths)
        return cls(nodes, *instance_rows(instance, nodes), check=False)

    @classmethod
    def from_drawn(cls, instance: Instance, strings: Any, drafting: Drafting | None = None) -> DraftTree:
        """Build from one outcome of a drafting on an instance; exact where the instance is.

        Args:
            instance: the models.
            strings: the token string of each drafted node in the order of drawing, copies repeated, as `drafting.draw`
                gives them; for example [(0,), (1,), (0, 2)].
            drafting: what was drafted; where it is left out, the tree is taken as fixed.

        Raises ValueError for a node whose parent is missing, a string longer than the instance's depth, a token outside
        its vocabulary, and where the drafting draws from the draft's law, a token to which that gives nothing.

        >>> from nodebudget.lp import random_instance
        >>> DraftTree.from_drawn(random_instance("flat", 3, 2, seed=1), [(0,), (1,), (0, 2)])
        DraftTree(depth=2, nodes=4, draws=3, vocab=3, exact)
        """
        check_instance(instance)
        nodes = TreeNodes(strings)
        drafting = drafting or _usual(nodes)
        rows = instance_rows(instance, nodes, from_draft=drafting.from_draft)
        return cls(nodes, *rows, drafting=drafting, check=False)

    def __repr__(self) -> str:
        return f"DraftTree({self.nodes.summary}, vocab={self.vocab}, {self.arrays.precision})"

    def in_memory(self) -> DraftTree:
        """What verifiers compute on: torch rows in this machine's memory as numpy arrays, else the tree itself.

        Numpy's operations on a few numbers cost far less. The memory is shared, and what the tree that is
        returned and its laws hand out are torch tensors all the same.
        """
        rows = (self.pairs.target.rows, self.pairs.draft.rows)
        if not (self.arrays.torch and self.arrays.hosted and all(part.itemsize >= 4 for part in rows)):
            return self
        tree = DraftTree.__new__(DraftTree)
        tree.nodes, tree.drafting = self.nodes, self.drafting
        tree.rounding, tree._tolerance = self.rounding, self._tolerance
        # DLPack refuses the memory of any other device.
        target, draft = (np.from_dlpack(part) for part in rows)
        tree.arrays = Arrays(target, self.arrays.precision)
        tree.pairs = row_pairs(GivenRows(target, tree.arrays), GivenRows(draft, tree.arrays))
        tree._as_tensors = self.arrays.xp.asarray
        return tree

    @property
    def of_paths(self) -> PathNodes:
        """The nodes with the K paths that pass them; ValueError for a tree that was not drafted as K i.i.d. paths."""
        if not isinstance(self.nodes, PathNodes):
            raise ValueError(
                f"a verifier of i.i.d. paths: got a tree drafted as {self.drafting}; expected K paths"
            )
        return self.nodes

    @property
    def vocab(self) -> int:
        """Vocabulary size V."""
        return int(self.pairs.target.rows.shape[1])

    @property
    def exact(self) -> bool:
        """True where the laws are rationals."""
        return self.arrays.exact

    @cached_property
    def target(self) -> Array:
        """(n, V): the target's law after each node, Fractions where exact."""
        return self._read_only(self.working_rows()[0])

    @cached_property
    def draft(self) -> Array:
        """(nodes.inner, V): the draft's law after each node above the leaves, Fractions where exact."""
        return self._read_only(self.working_rows()[1])

    def working_rows(self) -> tuple[Array, Array]:
        """`target` and `draft` in the numbers that laws are computed in: flint rationals where exact."""
        return self._working_rows

    @cached_property
    def _working_rows(self) -> tuple[Array, Array]:
        laws = tuple(
            self.arrays.laws(
                self.arrays.numbers(given.rows), given.totals(self.arrays.positions(len(given.rows)))
            )
            for given in (self.pairs.target, self.pairs.draft)
        )
        if not self.arrays.torch and self._as_tensors is None:
            for rows in laws:
                rows.setflags(write=False)
        return laws

    def target_rows(self, index: Array) -> Array:
        """(m, V): the target's laws after the nodes of an index array (m,), without a copy of all others."""
        return self.pairs.target.laws(index)

    def draft_rows(self, index: Array, scale: Array | None = None) -> Array:
        """(m, V): the draft's laws after the nodes of an index array (m,), all above the leaves, times scale (m,)."""
        return self.pairs.draft.laws(index, scale)

    @cached_property
    def wanted(self) -> Array:
        """(n - 1,): the target's probability of each node's last token, without the root; working numbers."""
        return self.pairs.target.entries(*self._edges)

    @cached_property
    def drafted(self) -> Array:
        """(n - 1,): the draft's probability of each node's last token, without the root; working numbers."""
        return self.pairs.draft.entries(*self._edges)

    def wanted_along(self, path: Array) -> Array:
        """(L,): `wanted` of the nodes below the root of a path, an index array (L + 1,)."""
        if self.arrays.numpy:
            return self.pairs.target.entries(path[:-1], self.nodes.token[path[1:]])
        return self.arrays.take(self.wanted, path[1:] - 1)

    def drafted_along(self, path: Array) -> Array:
        """(L,): `drafted` of the nodes below the root of a path, an index array (L + 1,)."""
        if self.arrays.numpy:
            return self.pairs.draft.entries(path[:-1], self.nodes.token[path[1:]])
        return self.arrays.take(self.drafted, path[1:] - 1)

    @cached_property
    def _edges(self) -> tuple[Array, Array]:
        """(n - 1,) twice: each node's parent and last token, without the root."""
        return self.arrays.index(self.nodes.parent[1:]), self.arrays.index(self.nodes.token[1:])

    @property
    def row_error(self) -> Array:
        """(1,): how far the given float rows are from laws, on the device; at most 1 where all is well.

        The largest distance of a row's total from one, in units of the tolerance for the rows' precision; NaN
        or infinite for NaN, for a negative entry, and for a drafted token that the draft gives no
        probability. Of numpy rows, those that were looked at so far.
        """
        return row_error(self, self._tolerance)

    def handed_out(self, values: Array) -> Array:
        """Working numbers as callers have them: Fractions where exact, torch tensors where the rows were given so."""
        if self.exact:
            return exact_array(values.ravel()).reshape(values.shape)
        return values if self._as_tensors is None else self._as_tensors(values)

    def _read_only(self, rows: Array) -> Array:
        out = self.handed_out(rows)
        if self.exact:
            out.setflags(write=False)
        return out


def _usual(nodes: TreeNodes) -> Drafting:
    """What was drafted, where it is not said."""
    if isinstance(nodes, PathNodes):
        return IidPaths(nodes.paths)
    return GivenTree(nodes.path(node) for node in range(1, len(nodes)))
