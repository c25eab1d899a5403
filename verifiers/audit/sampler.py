"""The statistical audit of a sampler that is only seen from outside."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from nodebudget.lp import Problem, solve_problem
from nodebudget.lp.drafting.specs import Drafted
from nodebudget.lp.instances.trees import format_context

from .contract import check_contract
from .evidence import MeanTest, StringTest
from .findings import LOSSLESS, Fault, SamplerAudit, TrialFindings, law_text
from .requests import Backend, Drafter, Source
from .sampler_calls import PAD, Caller, OutputError, Sampler, sampler_name
from .tree_requests import source_of
from .trial_instances import TrialInstance, default_instances

FIRST_LOOK = 250
"""Requests per instance before the evidence is first looked at; doubled from look to look."""


def audit_sampler(
    sampler: Sampler,
    instances: Iterable[TrialInstance] | None = None,
    *,
    drafting: Drafted | None = None,
    samples: int = 20_000,
    false_alarm: float = 1e-6,
    seed: int = 0,
    batch: int | None = None,
    library: str = "numpy",
    dtype: str = "float64",
    device: str = "cpu",
    drafter: Drafter | None = None,
    name: str | None = None,
) -> SamplerAudit:
    """Judge somebody's speculative sampler by what it emits.

    `sampler(paths, target_rows, draft_rows, generator)` is given K x L drafted token ids, (K, L + 1, V) target
    rows (`target_rows[k, i]` is the law after the first i tokens of path k), (K, L, V) draft rows, and a
    numpy Generator or a torch Generator; it returns the emitted tokens: the accepted ones and one more, 1 to
    L + 1 ids, at the end padded with -1 or not. `nodebudget.verifiers.audit.adapters` turns other signatures
    into this one. Where something else than K i.i.d. paths is drafted, it is called as `sampler(tree, generator)`
    with a `TokenTree`.

    Tested are, on every instance: that each output less its last token was drafted; that the next L + 1
    tokens (what is emitted, completed by draws from the target) follow the target's joint law (statement 2.1);
    that E|Z| is not above the optimum (sections 4 and 13); and the contract: inputs left alone, the same
    generator state gives the same output, no row of a batch influences another, coins at 0 and just below 1
    never give a token of probability zero, and NaN rows are refused.

    The law is tested after 250, 500, 1000, .. requests by test martingales, so that the false-alarm rate holds
    exactly although the audit stops as soon as the evidence is there. A lossless sampler breaks none of the
    other properties by chance.

    Args:
        sampler: the function under audit.
        instances: exact instances with their numbers of paths, or draftings; `default_instances(drafting)` when
            None. Small ones show more: the law has V ** (L + 1) entries.
        drafting: what is drafted on the default instances, such as "without:2,1"; i.i.d. paths when None.
        samples: most requests per instance.
        false_alarm: probability, at most, that a lossless sampler that keeps the contract is called faulty, over
            the whole audit.
        seed: of all randomness, nonnegative.
        batch: requests per call for a sampler whose arguments have a leading batch dimension and that returns
            one output per row; None for one request without it. Requests must be answered independently. Half of
            them have their tokens renamed, so that the rows of a batch differ. For i.i.d. paths only.
        library: "numpy" or "torch", what the arrays and the generator are.
        dtype: of the rows, "float64" or "float32".
        device: of torch arrays.
        drafter: from (instance, K, generator) to K x L token ids and the (K, L, V) draft rows that the sampler
            is told, to audit a way of drafting together with a sampler; i.i.d. paths from the instance's draft
            when None. With a drafter, E|Z| is not compared with OPT_K, which holds for i.i.d. paths.
        name: of the sampler, for the report; its __name__ when None.

    Raises ValueError for arguments out of range, a sparse or too large instance, or a drafter that returns
    something else than paths and rows. What the sampler does wrong, raising included, is a fault, not an error.
    """
    if not isinstance(samples, int) or samples < FIRST_LOOK:
        raise ValueError(f"samples: got {samples!r}; expected an integer of at least {FIRST_LOOK}")
    if not isinstance(false_alarm, float) or not 0 < false_alarm < 1:
        raise ValueError(f"false_alarm: got {false_alarm!r}; expected a probability strictly between 0 and 1")
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed: got {seed!r}; expected a nonnegative integer")
    caller = Caller(sampler, Backend(library, dtype, device), batch)
    if instances is not None and drafting is not None:
        raise ValueError(
            f"drafting: got {drafting} with instances, which say themselves what is drafted; expected one of the two"
        )
    trials = default_instances(drafting) if instances is None else tuple(instances)
    if not trials or not all(isinstance(trial, TrialInstance) for trial in trials):
        raise ValueError(
            f"instances: got {instances!r}; expected one or more TrialInstance(name, instance, paths)"
        )
    # Two martingales and one comparison of samples per instance share the rate.
    threshold = math.log(3 * len(trials) / false_alarm)
    runs = [
        _Run(caller, source_of(trial, drafter, batch), threshold, seed + i) for i, trial in enumerate(trials)
    ]

    faults: list[Fault] = []
    for run in runs:
        faults += run.contract()
        if any(fault.property == "output" for fault in faults):
            break  # it would say the same on every instance
    look = FIRST_LOOK
    while not any(fault.property in LOSSLESS for fault in faults):
        if all(run.samples >= samples for run in runs):
            break
        for run in runs:
            faults += run.advance(min(look, samples))
        look *= 2
    return SamplerAudit(
        sampler_name(sampler, name),
        false_alarm,
        tuple(run.findings() for run in runs if run.samples),
        tuple(faults),
    )


class _Run:
    """The audit on one instance."""

    def __init__(self, caller: Caller, source: Source, threshold: float, seed: int) -> None:
        self._caller, self._source, self._threshold, self._seed = caller, source, threshold, seed
        self._strings = StringTest(source.expected, source.vocab)
        self._lengths = MeanTest(source.depth)
        self._rng = np.random.default_rng(
            [seed, 2]
        )  # another stream than the sampler's, which is that of `seed`
        self._generator = caller.backend.generator(seed)
        self._optimum = None if source.drafter else _optimum(source.trial.problem)

    @property
    def samples(self) -> int:
        return self._strings.samples

    def contract(self) -> list[Fault]:
        try:
            return check_contract(self._caller, self._source, self._seed, self._threshold)
        except OutputError as error:
            return [self._fault("output", str(error))]

    def advance(self, samples: int) -> list[Fault]:
        """Go on to `samples` requests in all; what is wrong by then."""
        missing, size = samples - self.samples, self._caller.batch or 1
        if missing <= 0:
            return []
        # A user's drafter may share its randomness with the sampler: it drafts for one call at a time.
        at_once = size if self._source.drafter else missing
        renamed = 0.0 if self._caller.batch is None else 0.5  # so that the rows of a batch differ
        drawn: list[Any] = []
        emitted = []
        for start in range(0, missing, size):
            if start == len(drawn):
                count = min(at_once, missing - start)
                drawn += self._source.draw(count, self._rng, self._generator, renamed=renamed)
            request = self._caller.request(drawn[start : start + size])
            try:
                emitted.append(self._caller(request, self._generator))
            except OutputError as error:
                return [self._fault("output", f"on the drafted {drawn[start].text}: {error}")]
        tokens = np.concatenate(emitted)
        off = self._source.first_off(tokens, drawn)
        if off is not None:
            shown = tokens[off][tokens[off] != PAD].tolist()
            return [
                self._fault(
                    "prefix-matching",
                    f"for the drafted {drawn[off].text} it emitted {shown}; expected all tokens but the last to "
                    f"{drawn[off].accepted}",
                )
            ]
        named = (
            np.stack([one.original(row) for one, row in zip(drawn, tokens, strict=True)])
            if renamed
            else tokens
        )
        self._strings.add(self._source.complete(named, self._rng))
        self._lengths.add((tokens != PAD).sum(1) - 1)
        return self._alarms()

    def _alarms(self) -> list[Fault]:
        unlike = self._strings.log_evidence >= self._threshold
        above = (
            self._optimum is not None and self._lengths.log_evidence_above(self._optimum) >= self._threshold
        )
        if not (unlike or above):
            return []
        found = self.findings()
        faults = []
        if unlike:
            where = f"after {found.context}" if found.context else "of the first token"
            faults.append(
                self._fault(
                    "joint law",
                    f"the law {where} is {law_text(found.observed_law)} where the target's is "
                    f"{law_text(found.expected_law)}; total variation of {self._source.depth + 1} tokens about "
                    f"{found.observed_variation:.4f} over {found.samples} requests, evidence "
                    f"10^{found.log10_evidence:.1f}",
                    found.context,
                    found.observed_law,
                    found.expected_law,
                )
            )
        if above:
            faults.append(
                self._fault(
                    "accepted tokens",
                    f"E|Z| is {found.accepted_tokens:.4f}, at least {found.accepted_low:.4f}; no lossless "
                    f"verifier exceeds {found.best} = {found.optimum:.4f}",
                )
            )
        return faults

    def findings(self) -> TrialFindings:
        strings, vocab = self._strings, self._source.vocab
        accepted, problem = self._lengths.interval(self._threshold), self._source.trial.problem
        observed, expected = strings.observed, strings.expected
        context, there, wanted = _worst_context(observed, expected, vocab, self._source.depth)
        noise = np.sqrt(expected * (1 - expected) * 2 / (math.pi * strings.samples))
        return TrialFindings(
            instance=self._source.trial.name,
            paths=problem.paths,
            samples=strings.samples,
            log10_evidence=strings.log_evidence / math.log(10),
            log10_threshold=self._threshold / math.log(10),
            observed_variation=float(np.abs(observed - expected).sum() / 2),
            chance_variation=float(noise.sum() / 2),
            detectable_variation=strings.detectable(self._threshold),
            context=context,
            observed_law=there,
            expected_law=wanted,
            first_observed=tuple(observed.reshape(vocab, -1).sum(1).tolist()),
            first_expected=tuple(expected.reshape(vocab, -1).sum(1).tolist()),
            accepted_tokens=accepted.mean,
            accepted_error=accepted.error,
            accepted_low=accepted.low,
            accepted_high=accepted.high,
            optimum=self._optimum,
            drafting=None if problem.paths else str(problem.drafting),
        )

    def _fault(self, broken: str, message: str, *law: Any) -> Fault:
        return Fault(broken, self._source.trial.name, message, *law)


@lru_cache(maxsize=256)
def _optimum(problem: Problem) -> float | None:
    """The optimum, or an upper bound of it; None where the linear program is too large."""
    try:
        return float(solve_problem(problem).value)
    except ValueError:
        return None


def _worst_context(
    observed: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], vocab: int, depth: int
) -> tuple[str, tuple[float, ...], tuple[float, ...]]:
    """The context whose next-token law contributes most to the evidence, with the laws seen and expected."""
    worst = (-1.0, "", (), ())
    for d in range(depth + 1):
        seen = observed.reshape(vocab**d, vocab, -1).sum(2)
        wanted = expected.reshape(vocab**d, vocab, -1).sum(2)
        for code in np.flatnonzero(seen.sum(1) > 0):
            there = seen[code] / seen[code].sum()
            total = wanted[code].sum()
            law = wanted[code] / total if total > 0 else wanted[code]
            with np.errstate(divide="ignore", invalid="ignore"):
                weight = float(np.where(seen[code] > 0, seen[code] * np.log(there / law), 0.0).sum())
            if weight > worst[0]:
                tokens = tuple(int(code) // vocab**i % vocab for i in reversed(range(d)))
                worst = (weight, format_context(tokens), tuple(there.tolist()), tuple(law.tolist()))
    return worst[1:]
