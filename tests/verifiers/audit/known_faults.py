"""Known faults of speculative samplers, each as a small sampler, and correct ones that look suspicious.

A rule takes (paths, target rows, draft rows, coins); the same code is run on rationals, with coins whose
breakpoints are integrated over, and on floats with random coins. The expected laws are worked out by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

import numpy as np
from nodebudget.lp import Instance
from nodebudget.verifiers.audit.trial_instances import TrialInstance

Rule = Callable[[Any, Any, Any, Any], list[int]]


def law(*entries: str) -> tuple[F, ...]:
    return tuple(F(entry) for entry in entries)


P, Q = law(".5", ".3", ".2"), law(".2", ".3", ".5")
P4, Q4 = law(".1", ".2", ".3", ".4"), law(".4", ".3", ".2", ".1")


def depth_one(
    target: Sequence[F], draft: Sequence[F], paths: int = 1, name: str = "one token"
) -> TrialInstance:
    vocab = len(target)
    bonus = {(y,): [F(1, vocab)] * vocab for y in range(vocab)}
    return TrialInstance(name, Instance.from_laws(vocab, 1, {(): target, **bonus}, {(): draft}), paths)


def everywhere(target: Sequence[F], draft: Sequence[F], depth: int, name: str) -> TrialInstance:
    contexts = [()]
    for _ in range(depth):
        contexts += [(*c, y) for c in contexts if len(c) == len(contexts[-1]) for y in range(len(target))]
    contexts = sorted(set(contexts), key=lambda c: (len(c), c))
    laws = dict.fromkeys(contexts, target)
    drafts = {c: draft for c in contexts if len(c) < depth}
    return TrialInstance(name, Instance.from_laws(len(target), depth, laws, drafts), 1)


MOTIVATING = everywhere(law("1/3", "2/3"), law("2/3", "1/3"), 2, "motivating")


def two_levels() -> TrialInstance:
    """p1, q1 first; p2, q2 after every first token; the bonus token is uniform."""
    second = {(y,): law(".4", ".6", "0") for y in range(3)}
    bonus = {(x, y): [F(1, 3)] * 3 for x in range(3) for y in range(3)}
    target = {(): law(".4", ".1", ".5"), **second, **bonus}
    draft = {(): law(".8", ".2", "0"), **{(y,): law("0", ".3", ".7") for y in range(3)}}
    return TrialInstance("two levels", Instance.from_laws(3, 2, target, draft), 1)


def draw(row: Any, coin: Any) -> int:
    """The token at which the cumulative law passes the coin; a token without mass never."""
    cumulative = np.cumsum(row)
    return int(np.searchsorted(cumulative / cumulative[-1], coin, side="right"))


def positive(row: Any) -> Any:
    return np.maximum(row, row * 0)


def ratio(p: Any, q: Any, t: int) -> Any:
    return p[t] / q[t]


def single(
    accepts: Callable[[Any, Any, int, Any], bool] | None = None,
    residual: Callable[[Any, Any, int], Any] = lambda p, q, t: positive(p - q),
) -> Rule:
    """Token verification with replaceable parts; correct as it stands. Coins: 2 per position."""

    def rule(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        emitted: list[int] = []
        for i, t in enumerate(paths[0].tolist()):
            p, q, (accept, other) = target[0, i], draft[0, i], coins[2 * i : 2 * i + 2]
            if accepts(p, q, t, (accept, other)) if accepts else accept < ratio(p, q, t):
                emitted.append(t)
                continue
            rest = residual(p, q, t)
            return [*emitted, draw(rest if rest.sum() > 0 else p, other)]
        return [*emitted, draw(target[0, -1], coins[-1])]

    return rule


def without(p: Any, t: int) -> Any:
    rest = p.copy()
    rest[t] = p[t] * 0
    return rest


def subtracted_at(p: Any, q: Any, t: int) -> Any:
    rest = p.copy()
    rest[t] = max(p[t] - q[t], p[t] * 0)
    return rest


def softmax_of_residual(p: Any, q: Any, t: int) -> Any:
    return np.exp(positive(p - q).astype(float))


def block(
    residual_weighted: bool = True, coin_weight: bool = False, stop_at_first_failure: bool = False
) -> Rule:
    """Block verification with replaceable parts; correct as it stands. Coins: one per position and one more."""

    def rule(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        path = paths[0].tolist()
        weights = [target[0, 0, 0] * 0 + 1]
        for i, t in enumerate(path):
            weights.append(min(weights[0], weights[-1] * target[0, i, t] / draft[0, i, t]))
        length = 0
        for i in range(1, len(path) + 1):
            w = weights[i]
            chance = w
            if i < len(path) and not coin_weight:
                kept = positive(w * target[0, i] - draft[0, i]).sum()
                chance = kept / (kept + 1 - w) if kept + 1 - w > 0 else weights[0]
            if coins[i - 1] < chance:
                length = i
            elif stop_at_first_failure:
                break
        if length == len(path):
            return [*path, draw(target[0, -1], coins[-1])]
        w = weights[length] if residual_weighted else weights[0]
        rest = positive(w * target[0, length] - draft[0, length])
        return [*path[:length], draw(rest if rest.sum() > 0 else target[0, length], coins[-1])]

    return rule


def specinfer(merge_duplicates: bool = False) -> Rule:
    """One level of SpecInfer on two candidates; coins: one per candidate, one for the residual, one for the bonus."""

    def rule(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
        left, q, tried = target[0, 0], draft[0, 0], set()
        for k, t in enumerate(paths[:, 0].tolist()):
            if merge_duplicates and t in tried:
                continue
            tried.add(t)
            if coins[k] < left[t] / q[t]:
                return [t, draw(target[k, 1], coins[3])]
            left = positive(left - q)
            left = left / left.sum()
        return continued(paths, target, draw(left, coins[2]), coins[3])

    return rule


def continued(paths: Any, target: Any, token: int, coin: Any) -> list[int]:
    """A token emitted at the root; a candidate counts as accepted, and one more token follows it."""
    for k, t in enumerate(paths[:, 0].tolist()):
        if t == token:
            return [token, draw(target[k, 1], coin)]
    return [token]


def fresh_draw(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
    """Accept by equality with one draw from the target: lossless with any candidates, at any depth."""
    alive, emitted = list(range(len(paths))), []
    for i in range(paths.shape[1] + 1):
        token = draw(target[alive[0], i], coins[i])
        emitted.append(token)
        alive = [k for k in alive if i < paths.shape[1] and paths[k, i] == token]
        if not alive:
            break
    return emitted


def independent_draws(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
    """Each candidate is compared with a target draw of its own."""
    for k, t in enumerate(paths[:, 0].tolist()):
        token = draw(target[0, 0], coins[k])
        if token == t:
            break
    return continued(paths, target, token, coins[-1])


def one_hot_proposal(paths: Any, target: Any, draft: Any, coins: Any) -> list[int]:
    """Accept the proposal x with p(x), else draw from p without x; the draft's rows are not looked at."""
    emitted: list[int] = []
    for i, t in enumerate(paths[0].tolist()):
        if not coins[2 * i] < target[0, i, t]:
            return [*emitted, draw(without(target[0, i], t), coins[2 * i + 1])]
        emitted.append(t)
    return [*emitted, draw(target[0, -1], coins[-1])]


def random_coins(rule: Rule, coins: int) -> Callable[..., list[int]]:
    """The rule as a black box; rows with NaN are refused."""

    def sampler(paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
        if not (np.isfinite(target).all() and np.isfinite(draft).all()):
            raise ValueError("the rows have NaN or infinite entries")
        return rule(paths, target, draft, generator.random(coins))

    return sampler


def greedy_drafter(instance: Instance, paths: int, generator: Any) -> tuple[Any, Any]:
    """The draft's most likely token, claimed to be drawn from its law."""
    row = np.array([float(x) for x in instance.draft_law(0)])
    return [[int(np.argmax(row))]] * paths, np.tile(row, (paths, 1, 1))


def top_two_drafter(instance: Instance, paths: int, generator: Any) -> tuple[Any, Any]:
    """Drawn from the draft's two most likely tokens, claimed to be drawn from all."""
    row = np.array([float(x) for x in instance.draft_law(0)])
    kept = np.where(row >= np.sort(row)[-2], row, 0.0)
    return [[draw(kept, generator.random())] for _ in range(paths)], np.tile(row, (paths, 1, 1))


def siblings_drafter(instance: Instance, paths: int, generator: Any) -> tuple[Any, Any]:
    """Distinct tokens, each drawn from the draft without the ones before; the rows claim the whole draft."""
    row = np.array([float(x) for x in instance.draft_law(0)])
    left, drafted = row.copy(), []
    for _ in range(paths):
        drafted.append([draw(left, generator.random())])
        left[drafted[-1][0]] = 0.0
    return drafted, np.tile(row, (paths, 1, 1))


def any_policy_drafter(instance: Instance, paths: int, generator: Any) -> tuple[Any, Any]:
    """Proposals from nowhere in particular; the draft rows are a placeholder."""
    chain = (generator.random((paths, instance.depth)) ** 3 * instance.vocab).astype(int)
    return chain, np.full((paths, instance.depth, instance.vocab), 1 / instance.vocab)


class SharedGumbelNoise:
    """The residual is drawn with the Gumbel noise that the draft token was drawn with."""

    def __init__(self) -> None:
        self.noise = np.zeros(0)

    def drafter(self, instance: Instance, paths: int, generator: Any) -> tuple[Any, Any]:
        row = np.array([float(x) for x in instance.draft_law(0)])
        self.noise = -np.log(generator.exponential(size=len(row)))
        return [[int(np.argmax(np.log(row) + self.noise))]], row[None, None]

    def sampler(self, paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
        if not (np.isfinite(target).all() and np.isfinite(draft).all()):
            raise ValueError("the rows have NaN or infinite entries")
        p, q, t = target[0, 0], draft[0, 0], int(paths[0, 0])
        if generator.random() < p[t] / q[t]:
            return [t, draw(target[0, 1], generator.random())]
        with np.errstate(divide="ignore"):
            return [int(np.argmax(np.log(positive(p - q)) + self.noise))]


@dataclass(frozen=True)
class Known:
    """An entry of the catalogue.

    Attributes:
        name: what is done.
        trial: instance and number of paths.
        sampler: black box.
        emitted: law of the first token, where that is where it goes wrong.
        variation: total variation of the next L + 1 tokens, where it is known otherwise.
        accepted: E|Z|, where it is part of the fault.
        rule, coins: the same as a rule of that many coins, where it is one.
        drafter: where the fault is in the drafting.
    """

    name: str
    trial: TrialInstance
    sampler: Callable[..., Any]
    emitted: tuple[Any, ...] | None = None
    variation: Any = None
    accepted: F | None = None
    rule: Rule | None = None
    coins: int = 0
    drafter: Any = None

    @property
    def expected_variation(self) -> Any:
        if self.emitted is None:
            return self.variation
        target = self.trial.instance.target_law(0)
        return sum(abs(a - b) for a, b in zip(self.emitted, target, strict=True)) / 2


def _known(name: str, trial: TrialInstance, rule: Rule, coins: int, **expected: Any) -> Known:
    return Known(name, trial, random_coins(rule, coins), rule=rule, coins=coins, **expected)


def _softmax_law() -> tuple[float, ...]:
    """Accepted (.2, .3, .2), and .3 of the softmax of (.3, 0, 0)."""
    weights = [math.exp(0.3), 1.0, 1.0]
    return tuple(a + 0.3 * w / sum(weights) for a, w in zip((0.2, 0.3, 0.2), weights, strict=True))


def _gumbel_law() -> tuple[float, ...]:
    """p = (.2, .45, .35), q = (.6, .3, .1): token 0 is accepted with 1/3, the others always.

    In exponential clocks E_i = exp(-noise): token 0 won at time T, so E_i = q_i T + a fresh exponential, and
    the residual r = (0, .375, .625) takes 1 when (.3 T + e)/.375 < (.1 T + e')/.625, which has probability
    .375 E[exp(-.4 T)] = .375 / 1.4, T being exponential.
    """
    one = 0.375 / 1.4
    return (0.2, 0.3 + 0.4 * one, 0.1 + 0.4 * (1 - one))


_ONE, _FOUR = depth_one(P, Q), depth_one(P4, Q4)
_GUMBEL = SharedGumbelNoise()
_TOKEN = random_coins(single(), 3)

FAULTS: tuple[Known, ...] = (
    _known("accept when p >= q", _ONE, single(lambda p, q, t, u: p[t] >= q[t]), 3, emitted=law(".7", ".3", "0")),
    _known("ratio against the largest p", _ONE, single(lambda p, q, t, u: u[0] < p[t] / max(p)), 3,
           emitted=law(".62", ".18", ".2")),
    _known("accepted if either of two valid rules accepts", _ONE,
           lambda paths, target, draft, u: single(
               lambda p, q, t, v: v[0] < ratio(p, q, t) or draw(p, u[3]) == t)(paths, target, draft, u[:3]),
           4, emitted=law(".44", ".3", ".26")),
    _known("coin stuck at 0", _ONE, single(lambda p, q, t, u: p[t] >= 0), 3, emitted=Q),
    Known("softmax of the residual", _ONE, random_coins(single(residual=softmax_of_residual), 3),
          emitted=_softmax_law()),
    _known("only the rejected token removed from p", _ONE, single(residual=lambda p, q, t: without(p, t)), 3,
           emitted=law(".3875", ".4125", ".2")),
    _known("q subtracted only at the drafted token", _FOUR, single(residual=subtracted_at), 3,
           emitted=(F(9, 80), F(4, 15), F(27, 80), F(17, 60))),
    _known("resampled from p", _ONE, single(residual=lambda p, q, t: p), 3, emitted=law(".35", ".39", ".26")),
    _known("block verification with the token-wise residual", two_levels(), block(residual_weighted=False), 3,
           variation=F(3, 35), accepted=F(4, 5)),
    _known("block verification with coins of probability w", MOTIVATING, block(coin_weight=True), 3,
           accepted=F(25, 18)),
    _known("block verification that stops at the first failed coin", MOTIVATING, block(stop_at_first_failure=True),
           3, accepted=F(5, 9)),
    Known("drafted greedily, claimed to be sampled", depth_one(P, law(".6", ".3", ".1")), _TOKEN,
          emitted=(F(5, 6), F(0), F(1, 6)), drafter=greedy_drafter),
    Known("drafted from the top two, the whole law claimed", depth_one(law(".7", ".3", "0"), Q), _TOKEN,
          emitted=law(".625", ".375", "0"), drafter=top_two_drafter),
    Known("siblings without replacement, q not renormalised",
          depth_one(law(".2", ".5", ".2", ".1"), law(".1", ".1", ".1", ".7"), 2), random_coins(specinfer(), 4),
          emitted=law(".3", ".3", ".3", ".1"), drafter=siblings_drafter),
    _known("duplicates merged under SpecInfer", depth_one(law(".4", ".3", ".2", ".1"), law(".1", ".2", ".1", ".6"), 2),
           specinfer(merge_duplicates=True), 4, emitted=law(".33", ".36", ".21", ".1")),
    Known("Gumbel noise shared by draft and residual", depth_one(law(".2", ".45", ".35"), law(".6", ".3", ".1")),
          _GUMBEL.sampler, emitted=_gumbel_law(), drafter=_GUMBEL.drafter),
    _known("candidates matched with independent target draws", depth_one(P, Q, 2), independent_draws, 3,
           emitted=law(".455", ".303", ".242")),
)  # fmt: skip

_ONE_HOT = Instance.from_laws(
    3,
    2,
    dict.fromkeys([(), *((y,) for y in range(3)), *((x, y) for x in range(3) for y in range(3))], P),
    {(): law("0", "0", "1"), **{(y,): law("0", "1", "0") for y in range(3)}},
)

FALSE_ALARMS: tuple[Known, ...] = (
    Known("one-hot proposals of any policy, accepted with p(x)", everywhere(P, Q, 2, "two tokens"),
          random_coins(one_hot_proposal, 5), drafter=any_policy_drafter),
    _known("accepted by equality with a fresh target draw", TrialInstance(
        "two paths", everywhere(P, Q, 2, "two tokens").instance, 2), fresh_draw, 3),
    _known("block verification with a true one-hot draft", TrialInstance("one-hot draft", _ONE_HOT, 1), block(), 3),
    _known("block verification keeps more than token verification", MOTIVATING, block(), 3, accepted=F(11, 9)),
)  # fmt: skip
