"""The search for fair weights in compiled code, for draws with replacement (statement 16.3).

`fair_orders` has the same in numpy, to be read; where numba is installed this one is asked.
"""

from __future__ import annotations

import numpy as np

from ..drafting.power_sums import power_sum as any_power_sum
from ..numbers.compiled import kernel
from ..numbers.rationals import Array

COMPILED_IN = "a56286e77deef1a6"
"""Digest of power_sums.py. Numba makes compiled code anew when its own file changes, not when a file does whose code is
compiled into it. With the digest this file changes too; a test asks for the current one."""

power_sum = kernel(any_power_sum)


@kernel
def search(
    shares: Array,
    wanted: Array,
    masses: Array,
    cell: Array,
    goal: Array,
    exponent: Array,
    count: int,
    scores: Array,
    powers: Array,
    limits: Array,
) -> Array:
    """int (m M,): the best order of pairs that the rounds come to, as `fair_orders._found` finds it.

    Args:
        shares, wanted: (m,), draft and demand.
        masses: (M,).
        cell: int (m,), the cell of each token, 0 the highest.
        goal: (m,), what each token should win.
        exponent: (m,), that of each weight to begin with; changed.
        count: how many are drawn.
        scores: (M,), the logarithm of what each level counts as.
        powers: powers[j] is 2^(j / GRID).
        limits: (7,), rounds, GRID, LEAST, CLIP, LOST, MARGIN and PATIENCE.
    """
    rounds, grid, least, clip, lost, margin, patience = limits
    m, M = shares.size, masses.size
    cells = cell.max() + 1
    above = np.zeros(M + 1)
    for i in range(M - 1, -1, -1):
        above[i] = above[i + 1] + masses[i]
    # By cell, then by token; the order of an earlier round is nearly that of the next.
    order = np.empty(m * M, np.int64)
    place = 0
    for number in range(cells):
        for token in range(m):
            if cell[token] == number:
                for i in range(M):
                    order[place] = token * M + M - 1 - i
                    place += 1
    keys = np.empty(m * M)
    kept, best, waited = order.copy(), -1.0, 0
    reached = np.empty(m)
    for _ in range(int(rounds)):
        for token in range(m):
            power = powers[round(-exponent[token] * grid)]
            for i in range(M):
                keys[token * M + i] = scores[i] * power
        _sort(order, keys, cell, M)
        value = _won(order, shares, wanted, above, count, M, reached)
        waited += 1
        if value > best + margin:
            best, waited = value, 0
            kept[:] = order
        if cells == m or waited > patience:
            break
        top = np.full(cells, -np.inf)
        for token in range(m):
            step = np.log2((goal[token] + lost) / (reached[token] + lost))
            exponent[token] += min(max(step, -clip), clip)
            top[cell[token]] = max(top[cell[token]], exponent[token])
        for token in range(m):
            exponent[token] = max(exponent[token] - top[cell[token]], least)
    return kept


@kernel
def _sort(order: Array, keys: Array, cell: Array, M: int) -> None:
    """Sort pairs by cell, falling key, and token, by insertion with a merge sort where that takes long."""
    n = order.size
    moves, most = 0, 16 * n
    for j in range(1, n):
        pair = order[j]
        k = j - 1
        while k >= 0 and _before(pair, order[k], keys, cell, M):
            order[k + 1] = order[k]
            k -= 1
        order[k + 1] = pair
        moves += j - 1 - k
        if moves > most:
            break
    else:
        return
    # From token to token and cell to cell, so that a stable sort by keys is all that is left to do.
    start = 0
    order[:] = np.sort(order)
    token_major = order.copy()
    by_cell = np.argsort(cell[token_major // M], kind="mergesort")
    order[:] = token_major[by_cell]
    while start < n:
        stop = start
        while stop < n and cell[order[stop] // M] == cell[order[start] // M]:
            stop += 1
        part = order[start:stop].copy()
        order[start:stop] = part[np.argsort(-keys[part], kind="mergesort")]
        start = stop


@kernel
def _before(pair: int, other: int, keys: Array, cell: Array, M: int) -> bool:
    here, there = pair // M, other // M
    if cell[here] != cell[there]:
        return cell[here] < cell[there]
    if keys[pair] != keys[other]:
        return keys[pair] > keys[other]
    return here < there


@kernel
def _won(
    order: Array, shares: Array, wanted: Array, above: Array, count: int, M: int, reached: Array
) -> float:
    """What each token wins in an order, into `reached`; and the sum of min(wanted, reached)."""
    reached[:] = 0.0
    below, lower = 0.0, 0.0
    covered = _top_mass(above, 0.0, M)
    # From the lowest pair up: sums of what is below, so that no difference is taken.
    for j in range(order.size - 1, -1, -1):
        token = order[j] // M
        part = shares[token] / M
        lower += part * power_sum(count, below + part, below)
        below += part
        rest = _top_mass(above, lower, M)
        reached[token] += covered - rest
        covered = rest
    value = 0.0
    for token in range(shares.size):
        value += min(reached[token], wanted[token])
    return value


@kernel
def _top_mass(above: Array, score: float, M: int) -> float:
    """The masses of the levels above a score; `above` (M + 1,) are those from each level on."""
    at = score * M
    level = int(at)
    if level >= M:
        return 0.0
    return above[level] + (at - level) * (above[level + 1] - above[level])


@kernel
def passing(low: Array, length: Array, masses: Array, out: Array) -> None:
    """out (m, M): the mass of the node's levels that each pair has, from where its interval begins and its length."""
    M = masses.size
    for y in range(low.shape[0]):
        for i in range(low.shape[1]):
            start, stop = low[y, i], low[y, i] + length[y, i]
            first = min(int(start * M), M - 1)
            if stop * M <= first + 1 or first == M - 1:
                out[y, i] = length[y, i] * M * masses[first]
                continue
            total, mass = 0.0, 0.0
            for j in range(first, M):
                part = min(stop, (j + 1) / M) - max(start, j / M)
                if part <= 0:
                    break
                total += part
                mass += part * masses[j]
            out[y, i] = length[y, i] * M * mass / total if total > 0 else 0.0
