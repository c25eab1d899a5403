"""Drawing paths from the draft of an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..numbers.rationals import Array, float_array
from .arguments import check_integer, described

if TYPE_CHECKING:
    from .instance import Instance


def draw_paths(instance: Instance, paths: int, seed: Any) -> Array:
    """int array (K, L): independent paths from the draft's laws, as `Instance.draw_paths` says.

    One uniform number a token, path after path. A token that a sparse instance has no node for is drawn like any
    other; below it paths go on with zeros, because the instance has no laws there. What lies below such a token
    cannot be accepted, whatever it is.
    """
    check_integer("paths", paths, 1)
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ValueError(
            f"seed: got {described(seed)}; expected an integer of at least 0, several, or a numpy generator"
        ) from None
    tree = instance.tree
    sums: dict[int, Array] = {}
    drawn = np.zeros((paths, tree.depth), dtype=np.int64)
    for path, uniforms in zip(drawn, rng.random((paths, tree.depth)), strict=True):
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
