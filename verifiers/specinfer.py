"""SpecInfer: multi-step speculative sampling, one drafted continuation after the other."""

from __future__ import annotations

from .arrays import Array, Arrays
from .laws import AcceptanceLaw
from .paths import DraftTree
from .topdown import Emission, top_down


def law(tree: DraftTree) -> AcceptanceLaw:
    """Walk down the tree; at each node try the continuations t_1 .. t_m in turn, duplicates included.

    With r = target at first, t_j is accepted with probability min(1, r(t_j) / draft(t_j)); after a rejection
    r becomes the residual max(0, r - draft) over its sum. After m rejections the token is drawn from r.
    Lossless.

    Reference: arXiv:2305.09781; statement 10.1.
    """
    return top_down(tree, rule)


def rule(arrays: Arrays, target: Array, draft: Array, tokens: Array) -> Emission:
    """Accept the continuations in turn against what earlier ones left of the target (`topdown.Rule`)."""
    rejected, accepted = arrays.ones(tokens.shape[0]), []
    # Residual after residual is max(0, target - taken draft) over its sum, `left`.
    taken, left = arrays.zeros(tokens.shape[0]), arrays.ones(tokens.shape[0])
    for j in range(tokens.shape[1]):
        drafted = arrays.pick(draft, tokens[:, j])
        wanted = arrays.divide(arrays.positive(arrays.pick(target, tokens[:, j]) - taken * drafted), left)
        accepted.append(rejected * arrays.divide(arrays.xp.minimum(wanted, drafted), drafted))
        rejected = rejected * arrays.divide(arrays.positive(drafted - wanted), drafted)
        taken = taken + left
        if j + 1 < tokens.shape[1]:
            left = arrays.sum(arrays.positive(target - draft * taken[:, None]))
    return Emission(accepted, rejected, taken)
