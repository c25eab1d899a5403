"""The output of the whole loop has the law of the target: its first four tokens, by the audit's own test.

The law of the first tokens is known exactly, from one plain forward pass over all strings. `StringTest` is a test
martingale, so the false-alarm rate below holds exactly for all tests of this file together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from nodebudget.verifiers import VERIFIERS, PathNodes, get_verifier
from nodebudget.verifiers.audit.evidence import StringTest
from nodebudget.verifiers.decoding import ModelPair, SamplingLaw, drafters, loop
from nodebudget.verifiers.decoding.caches import CachedModel
from nodebudget.verifiers.decoding.drafting import DraftedPaths
from nodebudget.verifiers.decoding.loop import Decoder
from tiny_pairs import alike, gpt2, llama
from transformers import PreTrainedModel

PROMPT = [3]
VOCAB, TOKENS, LENGTH = 8, 4, 2
PATHS = (1, 2, 4)
OUTPUTS = 40
"""For each verifier, architecture and number of paths."""

SHAPES = {"llama": llama, "gpt2": gpt2}
LAW = SamplingLaw(temperature=0.7)
FALSE_ALARM = 1e-6
TESTS = len(SHAPES) * (len(VERIFIERS) * (len(PATHS) + 1) + 2)
THRESHOLD = math.log(TESTS / FALSE_ALARM)


@cache
def models(shape: str) -> ModelPair:
    """A draft that is flatter than the target: paths differ, and what is accepted is rarely the first of them."""
    pair = alike(SHAPES[shape])
    with torch.inference_mode():
        pair.draft.get_output_embeddings().weight.mul_(0.5)
    return pair


@cache
def output_law(shape: str) -> np.ndarray:
    """(V^TOKENS,): the probability of every string of tokens, from plain forward passes of the target."""
    strings = np.indices((VOCAB,) * TOKENS).reshape(TOKENS, -1).T
    ids = torch.from_numpy(np.concatenate([np.tile(PROMPT, (len(strings), 1)), strings], axis=1))
    with torch.inference_mode():
        logits = models(shape).target(ids).logits[:, len(PROMPT) - 1 : -1]
        rows = LAW.rows(logits.flatten(0, 1)).reshape(logits.shape)
    return np.asarray(rows.gather(2, ids[:, len(PROMPT) :, None])[:, :, 0].prod(1))


def evidence_against(shape: str, codes: np.ndarray) -> float:
    """Log of the martingale for outputs, each given as the number that its tokens are the digits of."""
    test = StringTest(output_law(shape), VOCAB)
    test.add(codes)
    return test.log_evidence


def outputs(decoder: Decoder, count: int) -> np.ndarray:
    found = [decoder.decode(PROMPT, max_new_tokens=TOKENS, seed=i).tokens for i in range(count)]
    return np.array(found) @ VOCAB ** np.arange(TOKENS)[::-1]


def speculative(shape: str, name: str, paths: int) -> Decoder:
    return Decoder(models(shape), get_verifier(name), paths=paths, length=LENGTH, sampling=LAW)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", VERIFIERS)
def test_output_has_the_law_of_the_target(name: str, shape: str) -> None:
    found = [outputs(speculative(shape, name, paths), OUTPUTS) for paths in PATHS]
    for paths, codes in zip(PATHS, found, strict=True):
        assert evidence_against(shape, codes) < THRESHOLD, f"K = {paths}"
    assert evidence_against(shape, np.concatenate(found)) < THRESHOLD


@pytest.mark.parametrize("shape", SHAPES)
def test_paths_as_a_batch(shape: str) -> None:
    decoder = speculative(shape, "traversal", 4)
    decoder.tree_mask = (False, False)
    assert evidence_against(shape, outputs(decoder, OUTPUTS)) < THRESHOLD


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


def draft_laws_of_other_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verifier is shown other draft laws than those that were drawn from."""
    honest = drafters.draft_paths

    class Shifted:
        def __init__(self, drafted: DraftedPaths) -> None:
            self.drafted, self.tokens = drafted, drafted.tokens

        def node_laws(self, nodes: PathNodes) -> torch.Tensor:
            return self.drafted.node_laws(nodes).roll(1, dims=1)

    monkeypatch.setattr(drafters, "draft_paths", lambda *arguments: Shifted(honest(*arguments)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fault", [wrong_positions, wrong_cache, draft_laws_of_other_tokens])
def test_control_a_fault_is_found(
    fault: Callable[[pytest.MonkeyPatch], None], shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With as many outputs as are tested together above."""
    fault(monkeypatch)
    assert (
        evidence_against(shape, outputs(speculative(shape, "specinfer", 4), OUTPUTS * len(PATHS))) > THRESHOLD
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_control_the_draft_itself_is_found(shape: str) -> None:
    def plain(model: PreTrainedModel) -> float:
        decoder = Decoder(ModelPair("one", model, model, None, VOCAB), None, sampling=LAW)
        return evidence_against(shape, outputs(decoder, OUTPUTS * len(PATHS)))

    assert plain(models(shape).target) < THRESHOLD < plain(models(shape).draft)
