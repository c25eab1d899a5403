"""The walk of a race down the drafted tree in floats of this machine's memory, without a table of all tokens.

The same numbers as `race._select`, which is for rationals and to be read: what stands for a node is the bucket of each
token and two factors for each bucket, from which a residual is made when it is drawn from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from nodebudget.lp.drafting import GrownTree, LikeliestAndSample, WithoutReplacement
from nodebudget.lp.drafting.supports import Support
from nodebudget.lp.selection.race_entries import BITS, OCTAVES, SHIFT, SINGLE, Entries, check_distinct
from nodebudget.lp.selection.races import Draws, Race, Rule, fresh_levels, run

from ..arithmetic.arrays import Array
from ..drafts.paths import DraftTree

BUCKETS = 2 * OCTAVES << BITS
LOWEST = (1023 - OCTAVES) << BITS
EXPONENT_BIAS = 52 - BITS
NOTHING = np.empty(0)


class Bucketed(NamedTuple):
    """What races at a node, and how to come from a token to its entry.

    Attributes:
        racing: the entries; `place` is from ids, not from tokens.
        ids: uint8 (V,), as in `race_rows`.
    """

    racing: Entries
    ids: Array


class Walk:
    """The walk down a drafted tree.

    Attributes:
        races: for each node above the deepest level its race, None where nothing was drawn below it.
        places: for each of these the entry of each drawn token in its race.
        weight: (n,), w.
        left: (nodes.inner,), what the residual sums to at each node, of the target's law times w; w where nothing
            was drawn below.
    """

    def __init__(self, tree: DraftTree, rule: Rule, levels: int) -> None:
        """Walk; `tree` is in floats that compiled code can read."""
        from ..arithmetic import race_rows  # wants numba

        self.tree, self._kernels = tree, race_rows
        nodes, drafting, pairs = tree.nodes, tree.drafting, tree.pairs
        assert isinstance(drafting, GrownTree)
        everywhere = np.arange(nodes.inner)
        self.target, self.draft = pairs.target.rows, pairs.draft.rows
        self._of_target = pairs.target.totals(everywhere).astype(np.float64)
        self._of_draft = pairs.draft.totals(everywhere).astype(np.float64)
        self.races: list[Race | None] = [None] * nodes.inner
        self.places: list[dict[int, int]] = [{} for _ in range(nodes.inner)]
        self.weight = np.zeros(len(nodes))
        self.weight[0] = 1.0
        self.left = np.zeros(nodes.inner)
        self._ids: list[Array] = [NOTHING] * nodes.inner
        self._factors: list[tuple[Array, Array]] = [(NOTHING, NOTHING)] * nodes.inner
        masses = {0: fresh_levels(1.0, levels)}
        for node in range(nodes.inner):
            own, w = masses.pop(node), self.weight[node]
            if nodes.ends[node]:
                self.left[node] = w
                continue
            copies = int(nodes.counts[node]) if node else 1
            count = len(nodes.drawn[node]) // copies
            racing, ids = self._entries(node, drafting, count)
            draws = Draws(drafting, racing.below, count, levels, racing.moments)
            here = self.races[node] = run(rule, draws, racing.wanted * w, own)
            passing = here.below(own)
            if w > 0:
                of_mass, of_odds = np.zeros(256), np.zeros(256)
                known = racing.place >= 0
                of_mass[known] = (passing * here.draft).sum(axis=1)[racing.place[known]] / w
                of_odds[known] = (passing * here.odds).sum(axis=1)[racing.place[known]] / w
                self._ids[node], self._factors[node] = ids, (of_mass, of_odds)
                self.left[node] = w * self._residual(node, NOTHING)
            for child in nodes.children[node]:
                token = int(nodes.token[child])
                place = self.places[node][token] = int(racing.place[ids[token]])
                drafted = float(self.draft[node, token]) / self._of_draft[node]
                row = passing[place] * here.token(place, drafted)
                share = row.sum()
                masses[child] = row / share if share > 0 else row
                wanted = float(self.target[node, token]) / self._of_target[node]
                self.weight[child] = min(w * wanted / share, 1.0) if share > 0 else 0.0

    def rows(self, node: int) -> Array:
        """(V,): the residual at a node above the deepest level, not divided by its sum; 0 where nothing was drawn."""
        out = np.zeros(self.target.shape[1])
        if len(self._factors[node][0]):
            self._residual(node, out)
        return out

    def _residual(self, node: int, out: Array) -> float:
        return float(
            self._kernels.left(
                self.target[node],
                self.draft[node],
                self._of_target[node],
                self._of_draft[node],
                self._ids[node],
                *self._factors[node],
                out,
            )
        )

    def _entries(self, node: int, drafting: GrownTree, number: int) -> Bucketed:
        """As `race_entries.entries`, its `place` from ids (256,), -1 for those that are not there."""
        target, draft = self.target[node], self.draft[node]
        of_target, of_draft = self._of_target[node], self._of_draft[node]
        ids, sums = np.empty(len(target), dtype=np.uint8), np.empty((2, BUCKETS))
        count = np.empty(BUCKETS, dtype=np.int64)
        factor = of_draft / of_target * SHIFT
        live = self._kernels.bucketed(target, draft, factor, EXPONENT_BIAS, LOWEST, ids, sums, count)
        sums /= np.array([[of_target], [of_draft]])
        check_distinct(drafting, number, live)
        distinct = isinstance(drafting, WithoutReplacement)
        single = np.empty(0, dtype=np.int64)
        if live <= SINGLE or (distinct and number > 2):
            tokens = np.flatnonzero(ids != self._kernels.NEVER)
            single = tokens[np.lexsort((tokens, -draft[tokens].astype(np.float64)))]
        elif isinstance(drafting, LikeliestAndSample) and number > 1:
            least = np.partition(draft, len(draft) - number + 1)[len(draft) - number + 1]
            tokens = np.flatnonzero(draft >= least)
            single = tokens[np.lexsort((tokens, -draft[tokens].astype(np.float64)))][: number - 1]
        wanted, shares = target[single] / of_target, draft[single] / of_draft
        wanted, shares = wanted.astype(np.float64), shares.astype(np.float64)
        np.subtract.at(sums[0], ids[single], wanted)
        np.subtract.at(sums[1], ids[single], shares)
        place = np.full(256, -1)
        np.subtract.at(count, ids[single], 1)
        used = np.flatnonzero(count > 0)
        place[used] = len(single) + np.arange(len(used))
        ids[single] = BUCKETS + np.arange(len(single))
        place[BUCKETS : BUCKETS + len(single)] = np.arange(len(single))
        moments = None
        if distinct and number == 2 and not len(single):
            by_id = np.empty((2, 256))
            self._kernels.moments(draft, of_draft, ids, by_id)
            moments = tuple(by_id[0, used].tolist()), tuple(by_id[1, used].tolist())
        names = (*single.tolist(), *(-1,) * len(used))
        every = (*shares.tolist(), *np.maximum(sums[1, used], 0.0).tolist())
        below = Support(names, every, (None,) * len(names))
        return Bucketed(
            Entries(below, np.concatenate([wanted, np.maximum(sums[0, used], 0.0)]), place, moments), ids
        )
