"""The output of the whole loop has the law of the target: tested on the first eight tokens.

Every output is turned into numbers that are independent and uniform on [0, 1) exactly if its tokens have the
target's conditional laws (Rosenblatt's transform, the jumps filled in at random): for each token, the mass of the
tokens that come before it in some order, plus a uniform share of its own mass. One order is by target
probability, one by target over draft: draws from a wrong context have too many unlikely tokens, draws that lean
to the draft too many over-drafted ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from nodebudget.verifiers import VERIFIERS, PathNodes, get_verifier
from nodebudget.verifiers.decoding import ModelPair, SamplingLaw, loop
from nodebudget.verifiers.decoding.caches import CachedModel
from nodebudget.verifiers.decoding.loop import Decoder
from scipy.stats import chisquare
from tiny_pairs import alike, gpt2, llama
from transformers import PreTrainedModel

PROMPT = [3, 1, 4]
TOKENS, OUTPUTS, BINS = 8, 16, 8
FALSE_ALARM = 1e-6
"""For all the tests of this file together."""

PAIRS = {"llama": alike(llama), "gpt2": alike(gpt2)}
PATHS = (1, 2, 4)
TESTS = len(VERIFIERS) * (len(PATHS) + 1) + 2
LEVEL = FALSE_ALARM / (2 * TESTS)
LAW = SamplingLaw(temperature=1.3)


def outputs(
    pair: ModelPair, name: str, paths: int, *, count: int = OUTPUTS, masked: bool = True
) -> list[tuple[int, ...]]:
    decoder = Decoder(pair, get_verifier(name), paths=paths, length=3, sampling=LAW)
    if not masked:
        decoder.tree_mask = (False, False)
    return [decoder.decode(PROMPT, max_new_tokens=TOKENS, seed=(paths, i)).tokens for i in range(count)]


def uniform_numbers(
    pair: ModelPair, found: Sequence[Sequence[int]], rng: np.random.Generator
) -> list[np.ndarray]:
    """Numbers in [0, 1), one for each token, for either order."""
    ids = torch.tensor([[*PROMPT, *tokens] for tokens in found])
    with torch.inference_mode():
        target, draft = (
            LAW.rows(model(ids).logits[:, len(PROMPT) - 1 : -1]).flatten(0, 1).numpy()
            for model in (pair.target, pair.draft)
        )
    drawn = np.array(found).ravel()
    numbers = []
    for key in (target, target / draft):
        place = np.argsort(np.argsort(-key, axis=1), axis=1)
        row = np.arange(len(drawn))
        before = np.where(place < place[row, drawn][:, None], target, 0).sum(axis=1)
        numbers.append(before + rng.random(len(drawn)) * target[row, drawn])
    return numbers


def least_p_value(parts: Sequence[list[np.ndarray]]) -> float:
    """Of the chi-squared tests of uniformity, one for each order."""
    return min(
        float(chisquare(np.histogram(np.concatenate(numbers), BINS, (0, 1))[0]).pvalue)
        for numbers in zip(*parts, strict=True)
    )


@pytest.mark.parametrize("name", VERIFIERS)
def test_output_has_the_law_of_the_target(name: str) -> None:
    rng = np.random.default_rng(1)
    together = []
    for paths in PATHS:
        parts = [uniform_numbers(pair, outputs(pair, name, paths), rng) for pair in PAIRS.values()]
        assert least_p_value(parts) > LEVEL, f"K = {paths}"
        together += parts
    assert least_p_value(together) > LEVEL


def test_paths_as_a_batch() -> None:
    rng = np.random.default_rng(0)
    parts = [
        uniform_numbers(pair, outputs(pair, "traversal", 4, masked=False), rng) for pair in PAIRS.values()
    ]
    assert least_p_value(parts) > LEVEL


def wrong_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions counted along the sequence, for the target."""
    honest = loop.tree_logits

    def branch(
        self: CachedModel, tokens: torch.Tensor, _: torch.Tensor, visible: torch.Tensor
    ) -> torch.Tensor:
        return CachedModel.branch(self, tokens, torch.arange(len(tokens)), visible)

    class Along(CachedModel):
        pass

    def tree_logits(target: CachedModel, last: int, nodes: PathNodes) -> torch.Tensor:
        target.__class__ = Along
        try:
            return honest(target, last, nodes)
        finally:
            target.__class__ = CachedModel

    monkeypatch.setattr(Along, "branch", branch)
    monkeypatch.setattr(loop, "tree_logits", tree_logits)


def wrong_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first nodes of the tree are kept instead of those of the accepted path."""

    def keep_path(target: CachedModel, nodes: PathNodes, node: int) -> None:
        target.keep(range(nodes.lengths[node] + 1))

    monkeypatch.setattr(loop, "keep_path", keep_path)


def draft_laws_of_other_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verifier is shown other draft laws than those that were drawn from."""
    honest = loop.draft_paths

    class Shifted:
        def __init__(self, drafted: object) -> None:
            self.drafted, self.tokens = drafted, drafted.tokens  # type: ignore[attr-defined]

        def node_laws(self, nodes: PathNodes) -> torch.Tensor:
            laws: torch.Tensor = self.drafted.node_laws(nodes)  # type: ignore[attr-defined]
            return laws.roll(1, 0)

    monkeypatch.setattr(loop, "draft_paths", lambda *arguments: Shifted(honest(*arguments)))


@pytest.mark.parametrize("fault", [wrong_positions, wrong_cache, draft_laws_of_other_nodes])
def test_control_a_fault_is_found(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    rng = np.random.default_rng(0)
    # As many outputs as are tested together above.
    count = OUTPUTS * len(PATHS)
    parts = [
        uniform_numbers(pair, outputs(pair, "specinfer", 4, count=count), rng) for pair in PAIRS.values()
    ]
    assert least_p_value(parts) < LEVEL


def test_control_the_draft_itself_is_found() -> None:
    def plain(model: PreTrainedModel) -> list[tuple[int, ...]]:
        decoder = Decoder(ModelPair("one", model, model, None, 8), None, sampling=LAW)
        return [decoder.decode(PROMPT, max_new_tokens=TOKENS, seed=i).tokens for i in range(40)]

    rng = np.random.default_rng(0)
    right, wrong = (
        least_p_value([uniform_numbers(pair, plain(getattr(pair, role)), rng) for pair in PAIRS.values()])
        for role in ("target", "draft")
    )
    assert right > LEVEL > wrong
