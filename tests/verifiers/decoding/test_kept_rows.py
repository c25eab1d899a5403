"""Laws from kept rows are those of whole rows, or refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from nodebudget.verifiers.decoding import SamplingLaw
from nodebudget.verifiers.decoding.kept_rows import KeptRows, keep_rows

TEMPERATURES = (0.2, 1.0)


def random_rows() -> torch.Tensor:
    """Rows over 50 tokens; two of the largest logits of the first tie."""
    rows = 3 * torch.from_numpy(np.random.default_rng(3).normal(size=(6, 50))).float()
    rows[0, [7, 30]] = rows[0].max() - 1
    rows[1, 4] = -torch.inf
    return rows


def whole(rows: torch.Tensor, sampling: SamplingLaw) -> list[dict[int, float]]:
    return [
        {token: mass for token, mass in enumerate(law) if mass > 0} for law in sampling.rows(rows).tolist()
    ]


@pytest.mark.parametrize(
    "sampling",
    [
        SamplingLaw(top_k=3),
        SamplingLaw(0.7, top_k=5, top_p=0.8),
        SamplingLaw(top_p=0.6),
        SamplingLaw(0.2, top_p=0.9),
        SamplingLaw(0),
    ],
    ids=str,
)
def test_laws_are_those_of_whole_rows(sampling: SamplingLaw) -> None:
    rows = random_rows()
    kept = keep_rows(rows, 20, TEMPERATURES)
    for law, wanted in zip(kept.laws(sampling), whole(rows, sampling), strict=True):
        assert law == pytest.approx(wanted, abs=1e-14)
    assert kept.laws(sampling)[0] != pytest.approx(
        whole(rows.roll(1, -1), sampling)[0]
    )  # the comparison can fail


def test_all_tokens_can_be_kept() -> None:
    rows = random_rows()
    kept = keep_rows(rows, 99, TEMPERATURES)
    assert kept.tokens.shape == (6, 50)
    assert np.isneginf(kept.rest).all()
    for law, wanted in zip(kept.laws(SamplingLaw(0.5)), whole(rows, SamplingLaw(0.5)), strict=True):
        assert law == pytest.approx(wanted, abs=1e-14)


def test_ties_beyond_what_was_kept_are_refused() -> None:
    rows = torch.tensor([[3.0, 1.0, 1.0, 1.0, 0.0]])
    assert keep_rows(rows, 2, TEMPERATURES).laws(SamplingLaw(top_k=1)) == [{0: 1.0}]
    with pytest.raises(ValueError, match="top_k: got 2, but only the 3 largest logits"):
        keep_rows(rows, 3, TEMPERATURES).laws(SamplingLaw(top_k=2))
    with pytest.raises(ValueError, match=r"top_p: got 0\.8, but the 3 logits that were kept hold only"):
        keep_rows(rows, 3, TEMPERATURES).laws(SamplingLaw(top_p=0.8))


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        (SamplingLaw(), "only the 20 largest logits of each row were kept, of 50; expected a top_k or a top_p"),
        (SamplingLaw(0.5, top_p=0.5), r"temperature: got 0\.5, .* is known for 0\.2, 1 only"),
        (SamplingLaw(top_k=20), "top_k: got 20, but only the 20 largest"),
        (SamplingLaw(top_p=0.9999), r"top_p: got 0\.9999, but the 20 logits"),
    ],
    ids=str,
)  # fmt: skip
def test_what_was_not_kept_is_refused(sampling: SamplingLaw, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        keep_rows(random_rows(), 20, TEMPERATURES).laws(sampling)


def test_the_rest_is_what_all_others_have() -> None:
    kept = keep_rows(torch.log(torch.tensor([[0.5, 0.25, 0.15, 0.1]])), 2, (1.0, 0.5))
    assert isinstance(kept, KeptRows)
    assert np.exp(kept.rest[0]) == pytest.approx([0.25, 0.15**2 + 0.1**2])
