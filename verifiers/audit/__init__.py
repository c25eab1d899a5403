"""Judges of verifiers: exact ones by enumeration, and a statistical one for a sampler seen from outside."""

from __future__ import annotations

from .adapters import FlatChain, as_sampler, flat_chain, token_tree
from .coins import NotAThresholdRuleError
from .exact import audit_exact, draft_tree, picks
from .findings import Fault, SamplerAudit, TrialFindings
from .judgement import ExactAudit
from .sampler import audit_sampler
from .threshold import audit_threshold_sampler
from .token_trees import TokenTree
from .trial_instances import TrialInstance, default_instances

__all__ = [
    "ExactAudit",
    "Fault",
    "FlatChain",
    "NotAThresholdRuleError",
    "SamplerAudit",
    "TokenTree",
    "TrialFindings",
    "TrialInstance",
    "as_sampler",
    "audit_exact",
    "audit_sampler",
    "audit_threshold_sampler",
    "default_instances",
    "draft_tree",
    "flat_chain",
    "picks",
    "token_tree",
]
