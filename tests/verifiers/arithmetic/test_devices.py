"""Nothing is read from the device before the final sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from drafted_tuples import OnADevice
from nodebudget.verifiers import VERIFIERS, DraftTree, sample

EACH = pytest.mark.parametrize("name", VERIFIERS)
PATHS = [[0, 3, 1], [0, 2, 1], [4, 1, 1], [0, 3, 1], [4, 1, 0]]


def rows(dtype: torch.dtype, device: str, vocab: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    target, draft = (
        torch.softmax(torch.randn(5, length, vocab, generator=generator), -1).to(dtype) for length in (4, 3)
    )
    return target.to(device), draft.to(device)


@EACH
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_laws_on_a_device_without_values(name: str, dtype: torch.dtype, precision: str) -> None:
    # Tensors on the device "meta" have no values: whatever reads one raises.
    tree = DraftTree.from_paths(PATHS, *rows(dtype, "meta"), dtype=precision)
    law = VERIFIERS[name].law(tree)
    for result in (law.stop, law.joint(), law.next_row(3), law.expected_accepted, tree.row_error):
        assert result.device.type == "meta"
        assert result.dtype == getattr(torch, precision)
    assert law.joint().shape == (len(tree.nodes), 6)


def test_mixed_selection_in_a_large_vocabulary() -> None:
    law = VERIFIERS["mixed"].law(DraftTree.from_paths(PATHS, *rows(torch.float64, "meta", vocab=200)))
    assert law.joint().device.type == "meta"
    same, other = (
        VERIFIERS["mixed"].law(kind.from_paths(PATHS, *rows(torch.float64, "cpu", vocab=200)))
        for kind in (DraftTree, OnADevice)
    )
    assert float((same.joint() - other.joint()).abs().max()) < 1e-12


def test_control_reading_a_value_there_raises() -> None:
    target, _ = rows(torch.float64, "meta")
    with pytest.raises((RuntimeError, NotImplementedError)):
        bool(target[0, 0, 0] > 0)
    with pytest.raises((RuntimeError, NotImplementedError)):
        DraftTree.from_paths(PATHS, *rows(torch.float64, "meta"), check=True)


READS = ("item", "tolist", "cpu", "numpy", "__bool__", "__int__", "__float__", "__index__", "nonzero")


@EACH
@pytest.mark.parametrize("rng", [np.random.default_rng(0), torch.Generator()], ids=["numpy", "torch"])
def test_a_sample_is_one_transfer(name: str, rng: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    law = VERIFIERS[name].law(OnADevice.from_paths(PATHS, *rows(torch.float32, "cpu")))
    read: list[str] = []

    def counted(method: str) -> Any:
        original = getattr(torch.Tensor, method)

        def call(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            read.append(method)
            return original(tensor, *args, **kwargs)

        return call

    for method in READS:
        monkeypatch.setattr(torch.Tensor, method, counted(method))
    sample(law, rng)
    assert read == ["tolist"]


@EACH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_laws_of_rows_in_memory_are_handed_out_as_tensors(name: str, dtype: torch.dtype) -> None:
    given = rows(dtype, "cpu")
    tree = DraftTree.from_paths(PATHS, *given, check=False)
    law = VERIFIERS[name].law(tree)
    shared = dtype != torch.bfloat16  # which numpy does not know
    assert law.tree.arrays.torch is not shared
    other = VERIFIERS[name].law(OnADevice.from_paths(PATHS, *given))
    for part, same in (
        (law.stop, other.stop),
        (law.joint(), other.joint()),
        (law.next_row(3), other.next_row(3)),
        (law.expected_accepted, other.expected_accepted),
        (law.tree.target, tree.target),
        (law.tree.draft, tree.draft),
    ):
        assert isinstance(part, torch.Tensor)
        assert part.dtype == torch.float64
        assert part.shape == same.shape
        assert float((part - same).abs().max()) < 1e-12
