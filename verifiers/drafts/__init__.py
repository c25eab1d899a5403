"""Drafts: a drafted tree with its rows, and the law of (accepted node, next token) over it.

Read first: `paths.py` (`DraftTree`), `nodes.py` (its shape) and `laws.py` (`AcceptanceLaw`). `read_rows.py` and
`given_rows.py` read what callers give, `row_pairs.py` sums what is left of the target over the vocabulary.
"""

from .laws import AcceptanceLaw
from .nodes import PathNodes
from .paths import DraftTree

__all__ = ["AcceptanceLaw", "DraftTree", "PathNodes"]
