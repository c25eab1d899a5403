"""How alike two models are where it matters: the mean of sum min(p, q) over a target's own text."""

from __future__ import annotations

import torch
from tqdm import tqdm
from transformers import PreTrainedModel

from .sampling_laws import SamplingLaw
from .self_samples import Samples, training_states

# Positions whose laws are made at once: two rows of the whole vocabulary in float32 for each.
POSITIONS_AT_ONCE = 256


@torch.no_grad()
def mean_overlap(
    target: PreTrainedModel, draft: PreTrainedModel, samples: Samples, law: SamplingLaw | None = None
) -> float:
    """The mean of sum_y min(p(y), q(y)) over the sampled tokens: the chance that one drafted token is accepted.

    That chance is token verification's with one path, for a draft that is asked at each place of the target's
    own text.

    Args:
        target: only its head is used, on the states kept in `samples`.
        draft: over the same vocabulary.
        law: of both; temperature 1 for None.
    """
    law = law or SamplingLaw()
    vocab = samples.mass.shape[0]
    heads = target.get_output_embeddings(), draft.get_output_embeddings()
    total, count = 0.0, 0
    for row in tqdm(range(len(samples.tokens)), desc="overlap", unit="text", leave=False):
        one = samples.take([row]).to(draft.device)
        places = one.sampled[0]
        pair = one.states[0][places], training_states(draft, one)[0][places]
        for start in range(0, int(places.sum()), POSITIONS_AT_ONCE):
            target_rows, draft_rows = (
                law.rows(
                    head(state[start : start + POSITIONS_AT_ONCE].to(head.weight))[:, :vocab], torch.float32
                )
                for head, state in zip(heads, pair, strict=True)
            )
            total += float(torch.minimum(target_rows, draft_rows).sum())
        count += int(places.sum())
    return total / count
