"""What the audit of a sampler found: numbers per instance, faults, and the same as text and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from nodebudget.lp.numbers.rationals import shortened

LOSSLESS = ("output", "prefix-matching", "joint law", "accepted tokens")
"""Properties of a lossless verifier; a fault in one of them means that the output is not the target's."""

CONTRACT = ("inputs unchanged", "same state, same output", "batch rows", "extreme coins", "NaN rows")
"""Properties that a caller relies on."""


@dataclass(frozen=True)
class Fault:
    """One broken property.

    Attributes:
        property: one of `LOSSLESS` or `CONTRACT`.
        instance: name of the trial instance on which it showed.
        message: what was seen, and what would be right.
        context: for the joint law, the tokens after which it is wrong, comma-joined.
        observed_law, expected_law: for the joint law, the next token's laws there; empty otherwise.
    """

    property: str
    instance: str
    message: str
    context: str = ""
    observed_law: tuple[float, ...] = ()
    expected_law: tuple[float, ...] = ()


@dataclass(frozen=True)
class TrialFindings:
    """What was measured on one instance. All numbers are floats.

    Attributes:
        instance: its name.
        paths: number K of drafted paths, None where something else is drafted.
        samples: requests answered.
        log10_evidence: decimal logarithm of the test martingale against the target's law; infinite when a
            string was seen that the target never produces.
        log10_threshold: where it becomes an alarm.
        observed_variation: total variation between the observed strings of L + 1 tokens and the target's law;
            a lossless sampler too is at about `chance_variation` from it.
        chance_variation: what sampling noise alone gives, about.
        detectable_variation: total variation of the hardest kind (spread over half of the law) that would have
            been found more often than not.
        context: where the observed next-token law is furthest from the target's, by its contribution to the
            evidence; its tokens, comma-joined.
        observed_law, expected_law: the next-token laws there, V numbers each.
        first_observed, first_expected: the laws of the first token.
        accepted_tokens: mean of |Z|, the emitted tokens less one.
        accepted_error: its standard error.
        accepted_low, accepted_high: interval for E|Z| that misses with at most twice the alarm's probability.
        optimum: OPT_K or that of the drafting; None with a user's drafter, and where its program is too large.
        drafting: what was drafted, None for K i.i.d. paths.
    """

    instance: str
    paths: int | None
    samples: int
    log10_evidence: float
    log10_threshold: float
    observed_variation: float
    chance_variation: float
    detectable_variation: float
    context: str
    observed_law: tuple[float, ...]
    expected_law: tuple[float, ...]
    first_observed: tuple[float, ...]
    first_expected: tuple[float, ...]
    accepted_tokens: float
    accepted_error: float
    accepted_low: float
    accepted_high: float
    optimum: float | None
    drafting: str | None = None

    @property
    def what(self) -> str:
        """What was drafted, in short."""
        return shortened(self.drafting) if self.drafting else f"K = {self.paths}"

    @property
    def best(self) -> str:
        """What the optimum is called."""
        return f"the optimum of {shortened(self.drafting)}" if self.drafting else f"OPT_{self.paths}"

    def __repr__(self) -> str:
        what = self.what.replace(" = ", "=")
        return (
            f"TrialFindings({shortened(self.instance)}, {what}: {self.samples} requests, evidence "
            f"10^{self.log10_evidence:.1f}, alarm at 10^{self.log10_threshold:.1f})"
        )


@dataclass(frozen=True)
class SamplerAudit:
    """The verdict on a sampler.

    Attributes:
        sampler: its name.
        false_alarm: probability, at most, that a lossless sampler that keeps the contract is called faulty.
        trials: one entry per instance.
        faults: what is broken; empty for a sampler that passes.
    """

    sampler: str
    false_alarm: float
    trials: tuple[TrialFindings, ...]
    faults: tuple[Fault, ...]

    @property
    def lossless(self) -> bool:
        """True when no evidence against the output's law was found."""
        return not any(fault.property in LOSSLESS for fault in self.faults)

    @property
    def contract_kept(self) -> bool:
        """True when the callers' contract was kept."""
        return not any(fault.property in CONTRACT for fault in self.faults)

    @property
    def passed(self) -> bool:
        """True when there is no fault at all."""
        return not self.faults

    @property
    def samples(self) -> int:
        """Requests answered, on all instances together."""
        return sum(trial.samples for trial in self.trials)

    def assert_passed(self) -> None:
        """For test suites: AssertionError with the whole report unless the sampler passed."""
        if not self.passed:
            raise AssertionError(str(self))

    def to_json(self) -> dict[str, Any]:
        """A JSON object; infinite evidence is the string "inf", and "drafting" is there for other drafts than paths."""

        def plain(entry: Any) -> dict[str, Any]:
            values = {k: v for k, v in asdict(entry).items() if k != "drafting" or v is not None}
            return {k: "inf" if v == math.inf else v for k, v in values.items()}

        return {
            "sampler": self.sampler,
            "passed": self.passed,
            "lossless": self.lossless,
            "contract_kept": self.contract_kept,
            "false_alarm": self.false_alarm,
            "samples": self.samples,
            "faults": [plain(fault) for fault in self.faults],
            "trials": [plain(trial) for trial in self.trials],
        }

    def __repr__(self) -> str:
        properties = ", ".join(dict.fromkeys(fault.property for fault in self.faults))
        verdict = f"FAULTY ({properties})" if self.faults else "passed"
        return (
            f"SamplerAudit({shortened(self.sampler)}: {verdict}, {self.samples} requests on "
            f"{len(self.trials)} instances)"
        )

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAULTY"
        lines = [
            f"{self.sampler}: {verdict} after {self.samples} requests (false alarms: at most {self.false_alarm:g})"
        ]
        lines += [
            f"  fault, {fault.property}, on {fault.instance!r}: {fault.message}" for fault in self.faults
        ]
        if self.contract_kept and self.trials:
            lines.append(f"  contract kept: {', '.join(CONTRACT)}")
        for trial in self.trials:
            lines += _trial_lines(trial)
        return "\n".join(lines)


def _trial_lines(trial: TrialFindings) -> list[str]:
    alarm = trial.log10_evidence >= trial.log10_threshold
    accepted = (
        f"E|Z| {trial.accepted_tokens:.4f} +- {trial.accepted_error:.4f}, "
        f"in [{trial.accepted_low:.4f}, {trial.accepted_high:.4f}]"
    )
    if trial.optimum is not None:
        accepted += f", {trial.best} {trial.optimum:.4f}"
    lines = [
        f"  {trial.instance!r}, {trial.what}: {trial.samples} requests",
        f"    evidence 10^{trial.log10_evidence:.1f} (alarm at 10^{trial.log10_threshold:.1f}); total variation "
        f"{trial.observed_variation:.4f} seen, {trial.chance_variation:.4f} is noise, "
        f"{trial.detectable_variation:.4f} would be found",
        f"    {accepted}",
    ]
    if alarm:
        lines.append(
            f"    first token: {law_text(trial.first_observed)}, target {law_text(trial.first_expected)}"
        )
        if trial.context:
            lines.append(
                f"    after {trial.context}: {law_text(trial.observed_law)}, target {law_text(trial.expected_law)}"
            )
    return lines


def law_text(law: tuple[float, ...]) -> str:
    """A law in a line, shortened when it is long."""
    shown = ", ".join(f"{mass:.4f}" for mass in law[:8])
    return f"({shown}{', ..' if len(law) > 8 else ''})"
