"""Drawing the accepted node and the next token from a verifier's law."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arithmetic.arrays import Array, Arrays
from .drafts.laws import AcceptanceLaw
from .drafts.paths import DraftTree

BLOCK = 512
"""Entries of a row that are summed together before the running sum."""

TOTAL_TOLERANCE = {"float64": 1e-9, "float32": 1e-3}
"""How far the stop probabilities of a float law may be from summing to one."""


def sample(law: AcceptanceLaw, rng: Any) -> tuple[tuple[int, ...], int]:
    """Draw (Z, Y): the accepted tokens, and the token to emit after them.

    Two uniform numbers are drawn, whatever the law, and turned into a node and a token by the inverse of
    their distribution functions, so that a generator's state gives the same sample on every kind of array. A
    node or token of probability zero is never drawn. This is the one place where the host reads device
    values, and it does so in one transfer.

    Args:
        law: from any verifier; a rational law is compared exactly with uniform numbers of 53 bits.
        rng: a numpy Generator, or a torch Generator on any device.

    Returns:
        the accepted draft tokens (a tuple, empty when all are rejected) and the next token's id.

    Raises ValueError where the rows of the tree were no laws (NaN, negative entries, a total other than one,
    a drafted token of draft probability zero) or the law's probabilities do not sum to one, rather than
    sampling from something else, and for what is no `AcceptanceLaw`; TypeError for another kind of generator.
    """
    if not isinstance(law, AcceptanceLaw):
        raise ValueError(f"law: got {type(law).__name__}; expected the AcceptanceLaw that a verifier returns")
    tree, arrays = law.tree, law.tree.arrays
    node, token, *masses = drawn(law, _uniforms(arrays, rng))
    if arrays.exact:
        stop, row = masses
        for what, law_ in (("the stop probabilities", stop), ("the probabilities of the next token", row)):
            if sum(law_) != 1 or any(mass < 0 for mass in law_):
                raise ValueError(
                    f"{what} are negative somewhere or do not sum to 1: the verifier's law is none"
                )
        return tree.nodes.path(int(node[0])), int(token[0])
    accepted, emitted, total, row_total, error = arrays.read([node, token, *masses])
    if not error <= 1:
        raise ValueError(
            "the tree's rows are not laws: NaN, a negative entry, a total other than 1, or a drafted token "
            "to which the draft gives no probability; DraftTree(..., check=True) says which row"
        )
    tolerance = TOTAL_TOLERANCE[arrays.precision]
    for what, value in (
        ("the stop probabilities", total),
        ("the probabilities of the next token", row_total),
    ):
        if not abs(value - 1) <= tolerance:
            raise ValueError(
                f"{what} sum to {value}; expected 1: the verifier's law is not a probability law"
            )
    return tree.nodes.path(int(accepted)), int(emitted)


def drawn(law: AcceptanceLaw, uniforms: Array) -> list[Array]:
    """What `sample` reads, on the law's device: the node and the token, each (1,), and how far the law is from one.

    Args:
        law: from any verifier.
        uniforms: (2,), on the device.

    Returns:
        node and token; then the sums of the stop probabilities and of the next token's, absolute values taken, and
        how far the rows are from laws (`DraftTree.row_error`). Of a rational law these probabilities themselves.
    """
    tree, arrays = law.tree, law.tree.arrays
    stop, rows = law.working()
    node = draw(arrays, stop[None, :], uniforms[:1, None])
    row = _one_row(tree, rows(node))
    token = draw(arrays, row[None, :], uniforms[1:, None])
    if arrays.exact:
        return [node, token, stop, row]
    return [node, token, arrays.mass(stop), arrays.mass(row), tree.row_error]


def _one_row(tree: DraftTree, rows: Array) -> Array:
    """The only one of the rows that a law gave, if that is what it is."""
    if tuple(getattr(rows, "shape", ())) != (1, tree.vocab):
        got = f"shape {tuple(rows.shape)}" if hasattr(rows, "shape") else type(rows).__name__
        raise ValueError(
            f"the law's rows: got {got} for one node; expected (1, {tree.vocab}), the next token's law"
        )
    return rows[0]


def _uniforms(arrays: Arrays, rng: Any) -> Array:
    if isinstance(rng, np.random.Generator):
        return arrays.uniforms(rng.random(2))
    if type(rng).__module__.split(".")[0] == "torch":
        import torch

        drawn = torch.rand(2, generator=rng, dtype=torch.float64, device=rng.device)
        if arrays.torch:
            # From a device to the host only a blocking copy is complete when it returns.
            waits = rng.device.type != "cpu"
            return drawn.to(device=arrays.device, non_blocking=not waits)
        return arrays.uniforms(drawn.tolist())
    raise TypeError(f"rng: got {type(rng).__name__}; expected a numpy.random.Generator or a torch.Generator")


def draw(arrays: Arrays, masses: Array, uniforms: Array) -> Array:
    """(...): from each row of (..., V) an index with probability proportional to its mass.

    By the inverse of the distribution function at uniform numbers (..., 1) in [0, 1). An index without mass is
    never drawn.
    """
    if arrays.numpy and masses.shape[:-1] == (1,):
        return np.array([_first_above(masses[0], uniforms[0, 0])])
    xp = arrays.xp
    cumulative = arrays.running_sums(masses)
    positive = masses > 0
    # A parallel scan need not be monotone to the last bit: entries without mass are ruled out, not unlikely.
    eligible = positive & (cumulative > uniforms * cumulative[..., -1:])
    place = arrays.positions(masses.shape[-1])
    beyond = masses.shape[-1]
    first = xp.min(xp.where(eligible, place, beyond), axis=-1)
    last = xp.max(xp.where(positive, place, 0), axis=-1)
    return xp.where(first == beyond, last, first)


def _first_above(masses: Array, uniform: float) -> int:
    """The first place at which the running sum is above a share of the sum: that of a block, then within the block."""
    blocks = np.add.reduceat(masses, np.arange(0, len(masses), BLOCK), dtype=np.float64)
    cumulative = blocks.cumsum()
    threshold = uniform * cumulative[-1]
    block = int(cumulative.searchsorted(threshold, side="right"))
    if block == len(blocks):  # a share of the sum that is the sum, or NaN
        return int(np.flatnonzero(masses)[-1]) if masses.any() else 0
    start, before = block * BLOCK, cumulative[block - 1] if block else 0.0
    inside = masses[start : start + BLOCK]
    # A running sum from the left is flat where there is no mass, so that what is first above it has mass.
    place = int(inside.cumsum(dtype=np.float64).searchsorted(threshold - before, side="right"))
    return start + (place if place < len(inside) else int(np.flatnonzero(inside)[-1]))
