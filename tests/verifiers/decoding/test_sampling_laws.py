"""Temperature, top-k and top-p against their definitions, one row at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.verifiers.decoding import SamplingLaw


def plain_law(logits: list[float], temperature: float, top_k: int | None, top_p: float | None) -> np.ndarray:
    """The definition, token by token: a token stays if fewer than k are larger, if those larger miss p."""
    scores = np.array(logits, dtype=float)
    if temperature == 0:
        return (np.arange(len(scores)) == scores.argmax()).astype(float)
    weights = np.exp((scores - scores.max()) / temperature)
    if top_k is not None:
        weights = np.array(
            [w if (scores > s).sum() < top_k else 0.0 for w, s in zip(weights, scores, strict=True)]
        )
    law = weights / weights.sum()
    if top_p is not None:
        law = np.array([mass if law[law > mass].sum() < top_p else 0.0 for mass in law])
        law /= law.sum()
    return law


# Whole numbers have ties; multiples of 1/8 keep the order of sums out of the comparison with top_p.
LOGITS = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=9)


@given(
    LOGITS,
    st.sampled_from([0.0, 0.3, 1.0, 2.5]),
    st.none() | st.integers(1, 12),
    st.none() | st.sampled_from([0.01, 0.37, 0.5003, 0.77, 0.913, 1.0]),
)
def test_equals_the_definition(
    logits: list[float], temperature: float, top_k: int | None, top_p: float | None
) -> None:
    law = SamplingLaw(temperature, top_k, top_p).rows(torch.tensor(logits))
    assert law.dtype == torch.float64
    np.testing.assert_allclose(law.numpy(), plain_law(logits, temperature, top_k, top_p), rtol=0, atol=1e-12)


def test_rows_of_any_shape_are_independent() -> None:
    logits = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(0))
    law = SamplingLaw(0.7, 4, 0.8)
    together = law.rows(logits)
    assert together.shape == (2, 3, 7)
    assert torch.equal(together[1, 2], law.rows(logits[1, 2]))
    torch.testing.assert_close(together.sum(-1), torch.ones(2, 3, dtype=torch.float64))


@pytest.mark.parametrize(
    ("law", "logits", "expected"),
    [
        (SamplingLaw(0), [1.0, 3.0, 3.0], [0, 1, 0]),  # the lowest id of a tie
        (SamplingLaw(top_k=1), [1.0, 3.0, 3.0], [0, 0.5, 0.5]),  # ties stay
        (SamplingLaw(top_k=9), [0.0, 0.0], [0.5, 0.5]),  # more than the vocabulary
        (SamplingLaw(top_p=1e-9), [0.0, 1.0], [0, 1]),  # the likeliest always stays
        (SamplingLaw(top_p=1.0), [0.0, 0.0], [0.5, 0.5]),
        (SamplingLaw(top_p=0.5), [0.0, 0.0, -math.inf], [0.5, 0.5, 0]),
        (SamplingLaw(top_p=0.5), [math.log(2), 0.0, 0.0], [1, 0, 0]),  # exactly reached: the next one goes
        (SamplingLaw(1e-300), [5.0, 4.0], [1, 0]),  # no overflow
    ],
)
def test_edges(law: SamplingLaw, logits: list[float], expected: list[float]) -> None:
    assert law.rows(torch.tensor(logits)).tolist() == pytest.approx(expected, abs=1e-12)


def test_half_precision_is_cast_up_first() -> None:
    logits = torch.randn(5, 1000, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    law = SamplingLaw().rows(logits)
    torch.testing.assert_close(law.sum(-1), torch.ones(5, dtype=torch.float64), rtol=0, atol=1e-12)
    in_half = logits.softmax(-1).double().sum(-1)
    assert (in_half - 1).abs().max() > 1e-4  # what casting up avoids


def test_float32_on_request() -> None:
    assert SamplingLaw(0.5, 2, 0.9).rows(torch.zeros(3), torch.float32).dtype == torch.float32
    assert SamplingLaw(0).rows(torch.zeros(3), torch.float32).dtype == torch.float32


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
@pytest.mark.parametrize("temperature", [0, 1])
def test_logits_that_are_none_give_no_law(temperature: float, wrong: float) -> None:
    rows = SamplingLaw(temperature).rows(torch.tensor([[wrong, 0, 1], [0, 0, 1]]))
    assert rows.sum(-1).isnan().tolist() == [True, False]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_smallest_temperatures_are_greedy(dtype: torch.dtype) -> None:
    assert SamplingLaw(1e-50).rows(torch.tensor([0.0, 1.0, 1.0]), dtype).tolist() == [0, 0.5, 0.5]


@pytest.mark.parametrize("law", [SamplingLaw(0), SamplingLaw(), SamplingLaw(0.5, 3, 0.9)])
def test_nothing_is_read_from_the_device(law: SamplingLaw) -> None:
    rows = law.rows(torch.zeros(2, 5, device="meta"))
    assert (rows.device.type, rows.shape) == ("meta", (2, 5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"temperature": math.inf}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 2.0}, "top_k"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.01}, "top_p"),
        ({"top_p": math.nan}, "top_p"),
    ],
)
def test_parameters_out_of_range(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SamplingLaw(**arguments)
