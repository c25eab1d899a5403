"""Contexts of a model pair, kept with the rows that both models computed: `nodebudget contexts`.

Every verifier, draft, temperature, top-k and top-p can then be evaluated on the same contexts, without the models.
"""

from __future__ import annotations

from .collect import collect_contexts
from .config import ContextsConfig
from .kept import KeptContext, KeptContexts, read_contexts

__all__ = ["ContextsConfig", "KeptContext", "KeptContexts", "collect_contexts", "read_contexts"]
