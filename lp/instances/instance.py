"""An instance: a prefix tree with the target's and the draft's next-token law in every context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..numbers.rationals import Array, constant, fast, fill, float_array, is_exact, settled
from .arguments import check_array, check_kind
from .drawing import draw_paths
from .laws import Law, check_context, check_law, check_tables, dyadic_law, is_exact_law, law_of
from .tables import html_table, node_name
from .trees import PrefixTree, check_tree


@dataclass(frozen=True, eq=False)
class Instance:
    """Target and draft laws on a prefix tree (section 1 of the mathematics), exact (Fraction) or float.

    A node stands for the token that leads to it: `target[z]` is the target's conditional probability of the
    last token of z given the rest, `draft[z]` the draft's. `Instance.from_laws` builds one from laws.

    Attributes:
        tree: the prefix tree; in a sparse one, tokens without both target and draft mass have no node.
        target: array (n,) of conditional target probabilities, 1 at the root.
        draft: array (n,) of conditional draft probabilities, 1 at the root.
        leaf_target: array (number of leaves, V), the target's law after each string of length `depth`
            (the bonus token's law), or None where it was not given: then it is uniform. It never matters for
            acceptance.
        off_tree: for a sparse tree, the rest of the laws: node -> {token: (target, draft)} for the tokens
            that have no node.
    """

    tree: PrefixTree
    target: Array
    draft: Array
    leaf_target: Array | None = None
    off_tree: Mapping[int, Mapping[int, tuple[Any, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_tree(self.tree)
        for name, array in (("target", self.target), ("draft", self.draft)):
            check_array(name, array)
            if array.shape != (len(self.tree),):
                raise ValueError(
                    f"{name}: got shape {array.shape}; expected one entry per node, {len(self.tree)}"
                )
        if is_exact(self.target) != is_exact(self.draft):
            raise ValueError("target and draft must both be exact (Fraction) or both be float")
        self.target.setflags(write=False)
        self.draft.setflags(write=False)

    @classmethod
    def from_laws(
        cls,
        vocab: int,
        depth: int,
        target: Mapping[tuple[int, ...], Law],
        draft: Mapping[tuple[int, ...], Law],
        *,
        sparse: bool = False,
        drafted: bool = False,
    ) -> Instance:
        """Build an instance from a law per context.

        Args:
            vocab: vocabulary size V.
            depth: draft length L.
            target: context (tuple of token ids) -> law, for every context shorter than L, and for those of
                length L where the bonus token's law matters (uniform where missing).
            draft: context -> law, for every context shorter than L.
            sparse: keep only nodes with both target and draft mass; contexts are then needed only for those.
            drafted: with `sparse`, keep all nodes with draft mass: then it is known how many nodes are drafted.

        The instance is exact when every entry is an int or a Fraction, and float otherwise.

        Raises ValueError that names the context for a missing law, a token outside the vocabulary, a wrong
        number of entries, a negative or non-finite entry, or a law that does not sum to one (exactly for
        rationals, within 1e-9 for floats).

        >>> from fractions import Fraction as F
        >>> small = Instance.from_laws(2, 1, {(): [F(1, 3), F(2, 3)]}, {(): [F(2, 3), F(1, 3)]})
        >>> small.exact, small.target.tolist()
        (True, [Fraction(1, 1), Fraction(1, 3), Fraction(2, 3)])
        """
        laws = {"target": target, "draft": draft}
        check_tables(laws)
        exact = all(is_exact_law(law) for table in laws.values() for law in table.values())
        checked = {
            name: {ctx: check_law(law, vocab, exact, law_of(name, ctx))
                   for ctx, law in table.items()}
            for name, table in laws.items()
        }  # fmt: skip
        for name, table in checked.items():
            for ctx in table:
                check_context(ctx, vocab, depth, name)

        def both(context: tuple[int, ...]) -> tuple[dict[int, Any], dict[int, Any]]:
            for name, table in checked.items():
                if context not in table:
                    raise ValueError(
                        f"{law_of(name, context)} is missing; a law is needed for every "
                        f"context of fewer than {depth} tokens"
                    )
            return checked["target"][context], checked["draft"][context]

        if sparse:
            other = 1 if drafted else 0  # whose mass is needed besides the draft's
            tree = PrefixTree.grow(vocab, depth, lambda ctx: both(ctx)[1].keys() & both(ctx)[other].keys())
        else:
            tree = PrefixTree.full(vocab, depth)
        return cls._on_tree(tree, both, checked["target"], exact)

    @classmethod
    def _on_tree(
        cls, tree: PrefixTree, both: Any, target: Mapping[tuple[int, ...], Any], exact: bool
    ) -> Instance:
        zero = Fraction(0) if exact else 0.0
        target_edge: list[Any] = [zero + 1]
        draft_edge: list[Any] = [zero + 1]
        off_tree: dict[int, dict[int, tuple[Any, Any]]] = {}
        for node in range(tree.leaves.start):
            target_law, draft_law = both(tree.path(node))
            tokens = [int(tree.token[child]) for child in tree.children(node)]
            target_edge += [target_law.get(y, zero) for y in tokens]
            draft_edge += [draft_law.get(y, zero) for y in tokens]
            rest = (target_law.keys() | draft_law.keys()).difference(tokens)
            if rest:
                off_tree[node] = {y: (target_law.get(y, zero), draft_law.get(y, zero)) for y in sorted(rest)}
        rows = [target.get(tree.path(leaf)) for leaf in tree.leaves]
        leaf_target = None
        if any(row is not None for row in rows):
            uniform = Fraction(1, tree.vocab) if exact else 1.0 / tree.vocab
            full = [[uniform if row is None else row.get(y, zero) for y in range(tree.vocab)] for row in rows]
            leaf_target = np.array(full, dtype=object if exact else np.float64)
        pack = fill if exact else np.array
        return cls(tree, pack(target_edge), pack(draft_edge), leaf_target, off_tree)

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "float"
        return f"Instance(vocab={self.vocab}, depth={self.depth}, nodes={len(self.tree)}, {kind})"

    def _repr_html_(self) -> str:
        rows = ([node_name(self.tree, z), self.target[z], self.draft[z]] for z in range(1, len(self.tree)))
        headers = ["node", "p(last token | rest)", "q(last token | rest)"]
        return html_table(headers, rows, repr(self), count=len(self.tree) - 1)

    @property
    def vocab(self) -> int:
        """Vocabulary size V."""
        return self.tree.vocab

    @property
    def depth(self) -> int:
        """Draft length L."""
        return self.tree.depth

    @property
    def exact(self) -> bool:
        """True where every probability is a Fraction."""
        return is_exact(self.target)

    @cached_property
    def joint_target(self) -> Array:
        """array (n,): the target's probability of each node's whole string."""
        return self._joint(self.target)

    @cached_property
    def joint_draft(self) -> Array:
        """array (n,): the draft's probability of each node's whole string."""
        return self._joint(self.draft)

    def _joint(self, conditional: Array) -> Array:
        return settled(self.tree.multiply_down(fast(conditional)))

    @cached_property
    def live(self) -> Array:
        """bool array (n,): nodes with both target and draft mass. Every other node has budget zero."""
        return np.asarray((self.joint_target > 0) & (self.joint_draft > 0), dtype=bool)

    def target_law(self, node: int) -> Array:
        """array (V,): the target's next-token law at a node, the leaves included."""
        if node in self.tree.leaves:
            if self.leaf_target is None:
                return constant(self.target[:1], 1).repeat(self.vocab) / self.vocab
            return np.array(self.leaf_target[node - self.tree.leaves.start])
        return self._law(node, self.target, 0)

    def draft_law(self, node: int) -> Array:
        """array (V,): the draft's next-token law at a node above the leaves."""
        if node in self.tree.leaves:
            raise ValueError(f"the draft has no law after {self.depth} tokens, the draft length")
        return self._law(node, self.draft, 1)

    def laws(self) -> tuple[dict[tuple[int, ...], Array], dict[tuple[int, ...], Array], bool]:
        """The target's and the draft's laws by their contexts, and whether the instance is sparse: for `from_laws`."""
        tree = self.tree
        inner = range(tree.leaves.start)
        draft = {tree.path(node): self.draft_law(node) for node in inner}
        told = inner if self.leaf_target is None else range(len(tree))
        target = {tree.path(node): self.target_law(node) for node in told}
        lacks = any(self.off_tree) or bool((tree.child_count[: tree.leaves.start] != tree.vocab).any())
        return target, draft, lacks

    def _law(self, node: int, edges: Array, which: int) -> Array:
        law = constant(edges[:1], 0).repeat(self.vocab)
        below = self.tree.children(node)
        law[self.tree.token[below.start : below.stop]] = edges[below.start : below.stop]
        for y, pair in self.off_tree.get(node, {}).items():
            law[y] = pair[which]
        return law

    def draw_paths(self, paths: int, seed: Any) -> Array:
        """int array (K, L): K i.i.d. paths drawn from the draft, as tokens; what `DraftTree.from_instance` takes.

        A token may be drawn that a sparse instance has no node for; below it the path goes on with zeros. The laws
        of an exact instance are rounded to floats for the draw.

        Args:
            paths: number K of drafted paths.
            seed: as numpy's `default_rng` takes it: an integer, several integers, or a generator, which then moves
                on. The same seed gives the same paths.

        Raises ValueError for paths < 1, or another kind of seed.

        >>> fair = Instance.from_laws(2, 3, *[{(): [1, 0], (0,): [1, 0], (0, 0): [0, 1]}] * 2, sparse=True)
        >>> fair.draw_paths(2, seed=0).tolist()
        [[0, 0, 1], [0, 0, 1]]
        """
        return draw_paths(self, paths, seed)

    def to_float(self) -> Instance:
        """The same instance in floats, every probability rounded to the nearest."""
        if not self.exact:
            return self
        off_tree = {
            z: {y: (float(p), float(q)) for y, (p, q) in rest.items()} for z, rest in self.off_tree.items()
        }
        leaf = None if self.leaf_target is None else float_array(self.leaf_target)
        return Instance(self.tree, float_array(self.target), float_array(self.draft), leaf, off_tree)

    def without_leaf_laws(self) -> Instance:
        """The same instance without the target's laws at the leaves, on which no linear program depends.

        On a wide tree they are most of the numbers.
        """
        return Instance(self.tree, self.target, self.draft, off_tree=self.off_tree)

    def to_exact(self) -> Instance:
        """The rational reading of a float instance, on which an exact statement can be made.

        Every float is taken as the dyadic rational that it is, except that the largest entry of each law is
        replaced by one minus the others, so that the law sums to one exactly. That changes it by what the sum
        misses: some 1e-16 for a law in full precision, never more than the 1e-9 that is accepted.
        """
        if self.exact:
            return self
        laws: dict[str, dict[tuple[int, ...], dict[int, Fraction]]] = {"target": {}, "draft": {}}
        for node in range(len(self.tree)):
            path = self.tree.path(node)
            if node not in self.tree.leaves:
                laws["draft"][path] = dyadic_law(self.draft_law(node))
                laws["target"][path] = dyadic_law(self.target_law(node))
            elif self.leaf_target is not None:
                laws["target"][path] = dyadic_law(self.target_law(node))
        both = lambda context: (laws["target"][context], laws["draft"][context])  # noqa: E731
        return self._on_tree(self.tree, both, laws["target"], exact=True)

    def prune(self) -> Instance:
        """The sparse instance of the live nodes: the same linear programs on a smaller tree."""
        tree, old = self.tree.restrict(self.live)
        off_tree: dict[int, dict[int, tuple[Any, Any]]] = {}
        for new, node in enumerate(old):
            rest = dict(self.off_tree.get(int(node), {}))
            for child in self.tree.children(int(node)):
                pair = (self.target[child], self.draft[child])
                if not self.live[child] and any(pair):
                    rest[int(self.tree.token[child])] = pair
            if rest:
                off_tree[new] = rest
        leaf = None
        if self.leaf_target is not None:
            leaf = self.leaf_target[self.live[self.tree.leaves.start :]]
        return Instance(tree, self.target[old], self.draft[old], leaf, off_tree)


def check_instance(instance: object) -> None:
    """Raise ValueError for anything but an `Instance`."""
    check_kind(
        "instance",
        instance,
        Instance,
        "an Instance, as load_instance, random_instance or Instance.from_laws give it",
    )
