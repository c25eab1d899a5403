"""Verification algorithms as laws of (accepted node, next token), given the drafted paths."""

from __future__ import annotations

from .laws import AcceptanceLaw
from .nodes import PathNodes
from .paths import DraftTree
from .registry import VERIFIERS, Verifier, get_verifier, load_verifier, mixed_verifier
from .sampling import sample

__all__ = [
    "VERIFIERS",
    "AcceptanceLaw",
    "DraftTree",
    "PathNodes",
    "Verifier",
    "get_verifier",
    "load_verifier",
    "mixed_verifier",
    "sample",
]
