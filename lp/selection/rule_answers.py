"""What a node rule is shown and what it may say: a user's function is asked, and its answer read (section 12)."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from .node_rules import NodeRule
from .scores import OnPath

LARGEST_CLASS = 2**31
"""Classes are numbers up to so much, of either sign: what is done with them fits into 64 bits."""


def ask(rule: NodeRule, data: OnPath) -> Any:
    """(g, R, C) int64: the classes that a rule gives the cells, repeated for every family where it gives one ordering.

    The rule cannot write into the numbers that it is shown where they are numpy's. On a device other than the host
    nothing is looked at, since the host would have to wait: there classes beyond `LARGEST_CLASS` are taken as
    that one.

    Raises ValueError for an answer that is no array of integers, of another kind or device than the laws, of
    another shape, or beyond `LARGEST_CLASS`.
    """
    found = rule(_shown(data))
    xp = array_api_compat.array_namespace(data.draft)
    nodes, families = data.state.shape[:2]
    shapes = [(nodes, count, data.draft.shape[1]) for count in sorted({families, 1}, reverse=True)]
    torch = array_api_compat.is_torch_array(data.draft)
    if torch:
        kind = f"a tensor on {data.draft.device}"
        alike = array_api_compat.is_torch_array(found) and found.device == data.draft.device
    else:
        kind, alike = "a numpy array", isinstance(found, np.ndarray)
    if not alike:
        raise ValueError(
            f"node rule: got {type(found).__name__}; expected {kind}, as the laws are, of classes"
        )
    if not xp.isdtype(found.dtype, "integral"):
        raise ValueError(
            f"node rule: got {found.dtype}; expected integers, the class of each cell, 0 the highest"
        )
    if tuple(found.shape) not in shapes:
        raise ValueError(
            f"node rule: got shape {tuple(found.shape)}; expected {' or '.join(map(str, shapes))}: "
            "the class of each cell, for each family of orderings or for all"
        )
    if torch:
        found = xp.clip(xp.astype(found, xp.int64), -LARGEST_CLASS, LARGEST_CLASS)
    elif found.size and max(int(found.max()), -int(found.min())) > LARGEST_CLASS:
        raise ValueError(
            f"node rule: got classes from {found.min()} to {found.max()}; expected numbers up to 2**31 of either sign"
        )
    return xp.broadcast_to(xp.astype(found, xp.int64), shapes[0])


def ask_twice(rule: NodeRule, data: OnPath) -> Any:
    """`ask`, and ValueError for a rule that does not say the same again: it must be a function of the numbers."""
    found = ask(rule, data)
    if not bool((ask(rule, data) == found).all()):
        raise ValueError(
            "node rule: got other classes for the same numbers when asked again; expected a function of them, "
            "or the law is not the target's"
        )
    return found


def _shown(data: OnPath) -> OnPath:
    if array_api_compat.is_torch_array(data.draft):
        return data
    return data.mapped(_read_only)


def _read_only(numbers: np.ndarray) -> np.ndarray:
    view = numbers.view()
    view.setflags(write=False)
    return view
