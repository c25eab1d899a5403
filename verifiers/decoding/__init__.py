"""Real model pairs: loading, sampling laws, decoding. The only place that imports transformers."""

from __future__ import annotations

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
