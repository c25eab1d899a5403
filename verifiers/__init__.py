"""Verification algorithms as laws of (accepted node, next token), given the drafted paths.

Read first: `plain/`, each verifier in a few lines of rationals; then `verifier.py`, what a verifier is, `registry.py`,
the verifiers by name, and `expected_tokens.py`, what one of them accepts. The rooms, each of which imports only those
above it:

    arithmetic/  one set of operations for Fractions, numpy and torch
    drafts/      a drafted tree with its rows (`DraftTree`), and the law over it (`AcceptanceLaw`)
    algorithms/  the verifiers, fast at any vocabulary
    plain/       the same, to be read
    audit/       judges: is a verifier, or a sampler seen from outside, lossless?
    decoding/    real pairs of models (needs the extra `llm`)
"""

from __future__ import annotations

from . import plain
from .drafts import AcceptanceLaw, DraftTree, PathNodes, TreeNodes
from .expected_tokens import expected_accepted
from .registry import TREE_VERIFIERS, VERIFIERS, get_verifier, lift, load_verifier, mixed_verifier, recycle
from .sampling import sample
from .verifier import Verifier

__all__ = [
    "TREE_VERIFIERS",
    "VERIFIERS",
    "AcceptanceLaw",
    "DraftTree",
    "PathNodes",
    "TreeNodes",
    "Verifier",
    "expected_accepted",
    "get_verifier",
    "lift",
    "load_verifier",
    "mixed_verifier",
    "plain",
    "recycle",
    "sample",
]
