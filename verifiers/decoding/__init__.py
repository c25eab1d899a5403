"""Real model pairs: loading, sampling laws, decoding. The only place that imports transformers."""

from __future__ import annotations

try:
    import torch  # noqa: F401
    import transformers  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"nodebudget.verifiers.decoding needs the extra llm ({error.name} is missing); pip install 'nodebudget[llm]'",
        name=error.name,
    ) from None

from .loop import Decoder
from .models import ModelPair, load_pair
from .presets import PRESETS, Preset
from .prompts import Prompt, load_prompts
from .records import Block, Generation
from .sampling_laws import SamplingLaw
from .statistics import Summary, summarise

__all__ = [
    "PRESETS",
    "Block",
    "Decoder",
    "Generation",
    "ModelPair",
    "Preset",
    "Prompt",
    "SamplingLaw",
    "Summary",
    "load_pair",
    "load_prompts",
    "summarise",
]
