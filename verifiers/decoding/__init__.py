"""Real model pairs: loading, sampling laws, prompts. The only place that imports transformers."""

from __future__ import annotations

from .models import ModelPair, load_pair
from .presets import PRESETS, Preset
from .prompts import Prompt, load_prompts
from .sampling_laws import SamplingLaw

__all__ = ["PRESETS", "ModelPair", "Preset", "Prompt", "SamplingLaw", "load_pair", "load_prompts"]
