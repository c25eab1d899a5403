"""Drawing paths from the draft of an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..numbers.rationals import Array, float_array

if TYPE_CHECKING:
    from .instance import Instance


def draw_paths(instance: Instance, count: int, rng: np.random.Generator) -> Array:
    """int array (count, L): independent paths from the draft's laws, rounded to floats where they are exact.

    One uniform number a token, path after path, so that a generator's state gives the same paths. A token that a
    sparse instance has no node for is drawn like any other; below it paths go on with zeros, because the instance
    has no laws there. What lies below such a token cannot be accepted, whatever it is.
    """
    tree = instance.tree
    sums: dict[int, Array] = {}
    drawn = np.zeros((count, tree.depth), dtype=np.int64)
    for path, uniforms in zip(drawn, rng.random((count, tree.depth)), strict=True):
        node = 0
        for position, uniform in enumerate(uniforms):
            if node not in sums:
                sums[node] = np.cumsum(float_array(instance.draft_law(node)))
            running = sums[node]
            # What is first above a share of the sum has mass: a running sum is flat where there is none.
            path[position] = np.searchsorted(running, uniform * running[-1], side="right")
            below = tree.child(node, int(path[position]))
            if below is None:
                break
            node = below
    return drawn
