"""The draft at the nodes of an instance, likeliest tokens first: what draftings draw from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..instances.instance import Instance
from ..numbers.rationals import Array, fast, to_fmpq, to_fraction


@dataclass(frozen=True)
class Support:
    """The draft at a node: its tokens with mass, likeliest first, equally likely ones from the smaller id on.

    Attributes:
        tokens: token ids.
        shares: their probabilities, flint rationals for an exact instance.
        children: the node that each leads to, None where a sparse tree has none.
    """

    tokens: tuple[int, ...]
    shares: tuple[Any, ...]
    children: tuple[int | None, ...]

    def law(self) -> Array:
        """float array: the probabilities, for drawing."""
        law = np.array([float(to_fraction(q)) for q in self.shares])
        return law / law.sum()

    @classmethod
    def at(cls, instance: Instance, node: int) -> Support:
        """The draft of an instance at a node above the leaves."""
        tree, below = instance.tree, instance.tree.children(node)
        tokens = tree.token[below.start : below.stop].tolist()
        shares = fast(instance.draft[below.start : below.stop]).tolist()
        listed: list[tuple[Any, int, int | None]] = list(zip(shares, tokens, below, strict=True))
        for y, (_, mass) in instance.off_tree.get(node, {}).items():
            listed.append((to_fmpq(mass) if instance.exact else mass, y, None))
        listed = sorted((entry for entry in listed if entry[0] > 0), key=lambda entry: (-entry[0], entry[1]))
        columns = tuple(zip(*listed, strict=True)) or ((), (), ())
        return cls(columns[1], columns[0], columns[2])


_KNOWN: WeakKeyDictionary[Instance, dict[int, Support]] = WeakKeyDictionary()


def support(instance: Instance, node: int) -> Support:
    """`Support.at`, remembered as long as the instance is."""
    known = _KNOWN.setdefault(instance, {})
    if node not in known:
        known[node] = Support.at(instance, node)
    return known[node]
