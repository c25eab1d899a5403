"""Judges of verifiers: exact ones by enumeration, and a statistical one for a sampler seen from outside."""

from __future__ import annotations

from .exact import audit_exact, draft_tree, picks
from .judgement import ExactAudit

__all__ = ["ExactAudit", "audit_exact", "draft_tree", "picks"]
