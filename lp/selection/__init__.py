"""Selection: rules that pick one drafted path, and the skewed draft that comes of them.

Read first: `one_ranking.py` (GBV), with `ratio_order.py`, the one order of tokens by target / draft. Then
`scores.py` and `selections.py` (several orderings, `mixed`): `scored_draft.py` has their skewed draft,
`node_choices.py` what they do at a node, `node_rules.py` and `mixed_rule.py` the rules that choose the orderings.
"""

from .mixed_rule import MixedRule
from .node_rules import NodeRule, in_floats, neutral, ratio_ranking
from .one_ranking import greedy_skewed_draft, ranked_skewed_draft, stable_greedy_skewed_draft
from .scored_draft import skewed_draft
from .scores import OnPath
from .selections import Selection, mixed_selection
from .transport import Transport, selection_from_transport, transport_stop_mass

__all__ = [
    "MixedRule",
    "NodeRule",
    "OnPath",
    "Selection",
    "Transport",
    "greedy_skewed_draft",
    "in_floats",
    "mixed_selection",
    "neutral",
    "ranked_skewed_draft",
    "ratio_ranking",
    "selection_from_transport",
    "skewed_draft",
    "stable_greedy_skewed_draft",
    "transport_stop_mass",
]
