"""Drafts: a drafted tree with its rows, and the law of (accepted node, next token) over it.

Read first: `paths.py` (`DraftTree`), `tree_nodes.py` (its shape; `nodes.py` for K paths) and `laws.py`
(`AcceptanceLaw`). `read_rows.py`, `given_rows.py` and `row_checks.py` read what callers give, `row_pairs.py` sums what
is left of the target over the vocabulary.
"""

from .laws import AcceptanceLaw
from .nodes import PathNodes
from .paths import DraftTree
from .tree_nodes import TreeNodes

__all__ = ["AcceptanceLaw", "DraftTree", "PathNodes", "TreeNodes"]
