"""The decoding loop: what it accepts, where it ends, and what it reads from the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from nodebudget.verifiers import VERIFIERS, AcceptanceLaw, DraftTree, PathNodes, Verifier, get_verifier
from nodebudget.verifiers.decoding import ModelPair, SamplingLaw
from nodebudget.verifiers.decoding.loop import Decoder
from tiny_pairs import alike, gpt2, llama, pair
from transformers import PreTrainedModel

EACH = pytest.mark.parametrize("name", VERIFIERS)
MODELS = pytest.mark.parametrize("make", [llama, gpt2])
PROMPT = [3, 1, 4]
GREEDY = SamplingLaw(temperature=0)


def plain_greedy(model: PreTrainedModel, count: int) -> list[int]:
    """Without a cache."""
    tokens = list(PROMPT)
    with torch.inference_mode():
        for _ in range(count):
            tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
    return tokens[len(PROMPT) :]


@EACH
@MODELS
def test_greedy_output_is_plain_greedy_output(name: str, make: Callable[..., PreTrainedModel]) -> None:
    models = alike(make)
    models.target.float()
    models.draft.float()
    decoder = Decoder(models, get_verifier(name), paths=2, length=3, sampling=GREEDY)
    generation = decoder.decode(PROMPT, max_new_tokens=30)
    assert list(generation.tokens) == plain_greedy(models.target, 30)
    accepted = [block.accepted for block in generation.blocks]
    assert min(accepted) < max(accepted)  # agreement and disagreement both came up


@pytest.mark.parametrize("name", ["token", "bv", "traversal", "specinfer", "spectr"])
@pytest.mark.parametrize("masked", [True, False], ids=["mask", "batch"])
@MODELS
def test_identical_models_accept_everything(
    name: str, masked: bool, make: Callable[..., PreTrainedModel]
) -> None:
    """A hole in the draft's cache, after a block that was accepted as a whole, would show here."""
    model = make(0)
    decoder = Decoder(pair(model, model), get_verifier(name), paths=3, length=3)
    decoder.tree_mask = (masked, masked)
    generation = decoder.decode(PROMPT, max_new_tokens=40)
    assert [block.accepted for block in generation.blocks] == [3] * 10
    assert all(block.expected_accepted > 3 - 1e-9 for block in generation.blocks)


def test_control_a_hole_in_the_draft_cache_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    from nodebudget.verifiers.decoding import drafters

    honest = drafters.draft_paths
    monkeypatch.setattr(
        drafters, "draft_paths", lambda draft, unread, *rest: honest(draft, unread[-1:], *rest)
    )
    model = llama(0)
    decoder = Decoder(pair(model, model), get_verifier("bv"), length=3)
    blocks = decoder.decode(PROMPT, max_new_tokens=40).blocks
    assert blocks[0].expected_accepted > 3 - 1e-9
    assert min(block.expected_accepted for block in blocks) < 2.9


@MODELS
def test_both_ways_of_reading_a_tree_give_the_same_output(make: Callable[..., PreTrainedModel]) -> None:
    tokens = set()
    for masks in ((True, True), (False, False), (True, False), (False, True)):
        decoder = Decoder(alike(make), get_verifier("traversal"), paths=3, length=3)
        assert decoder.tree_mask == (True, True)
        decoder.tree_mask = masks
        tokens.add(decoder.decode(PROMPT, max_new_tokens=40, seed=5).tokens)
    assert len(tokens) == 1


@pytest.mark.parametrize("name", [None, "bv", "traversal"])
def test_the_output_ends_as_asked(name: str | None) -> None:
    models = alike(llama)
    verifier = None if name is None else get_verifier(name)
    free = Decoder(models, verifier, paths=2, length=3, end_tokens=())
    for count in range(1, 12):
        generation = free.decode(PROMPT, max_new_tokens=count, seed=2)
        assert len(generation.tokens) == count
        assert generation.ended == "max_new_tokens"
        assert sum(block.emitted for block in generation.blocks) == count
    whole = free.decode(PROMPT, max_new_tokens=30, seed=2)
    for end in set(whole.tokens):
        ended = Decoder(models, verifier, paths=2, length=3, end_tokens=(end,))
        generation = ended.decode(PROMPT, max_new_tokens=30, seed=2)
        assert generation.tokens == whole.tokens[: whole.tokens.index(end) + 1]
        assert generation.ended == "end of sequence"


def test_end_tokens_come_from_the_generation_config() -> None:
    models = alike(llama)
    assert Decoder(models, None).end_tokens == frozenset()
    models.target.generation_config.eos_token_id = [2, 5]
    assert Decoder(models, None).end_tokens == {2, 5}


def test_tokens_are_streamed_block_by_block() -> None:
    decoder = Decoder(alike(llama), get_verifier("specinfer"), paths=2, length=3)
    seen: list[tuple[int, ...]] = []
    generation = decoder.decode(PROMPT, max_new_tokens=20, on_tokens=seen.append)
    assert tuple(token for new in seen for token in new) == generation.tokens
    assert [len(new) for new in seen] == [block.emitted for block in generation.blocks]


def test_seeds() -> None:
    decoder = Decoder(alike(llama), get_verifier("bv"), length=3)
    outputs = [decoder.decode(PROMPT, max_new_tokens=20, seed=seed).tokens for seed in (1, 1, 2, (1, 2))]
    assert outputs[0] == outputs[1]
    assert len(set(outputs)) == 3


def test_the_context_is_used_to_its_end_and_not_beyond() -> None:
    decoder = Decoder(alike(gpt2), get_verifier("traversal"), paths=2, length=5)
    assert decoder.context == 128
    generation = decoder.decode([1] * 110, max_new_tokens=18)
    assert len(generation.tokens) == 18
    assert generation.blocks[-1].length < 5
    with pytest.raises(
        ValueError, match="111 tokens and 18 new ones do not fit into the context of 128 tokens"
    ):
        decoder.decode([1] * 111, max_new_tokens=18)


def test_refusals() -> None:
    models = alike(llama)
    for arguments, message in (
        ({"paths": 0}, "paths: got 0; expected a whole number, at least 1"),
        ({"length": 0}, "length: got 0"),
        ({"length": 2.0}, r"length: got 2\.0"),
        ({"dtype": "float16"}, "dtype: got 'float16'"),
    ):
        with pytest.raises(ValueError, match=message):
            Decoder(models, get_verifier("bv"), **arguments)  # type: ignore[arg-type]
    decoder = Decoder(models, get_verifier("bv"))
    with pytest.raises(ValueError, match="prompt: got no tokens"):
        decoder.decode([], max_new_tokens=1)
    with pytest.raises(ValueError, match=r"prompt: token 1 is 8; expected an id of the vocabulary, 0\.\.7"):
        decoder.decode([0, 8], max_new_tokens=1)
    with pytest.raises(ValueError, match="max_new_tokens: got 0"):
        decoder.decode([0], max_new_tokens=0)


@pytest.mark.parametrize("name", [None, "bv"])
def test_logits_that_are_no_numbers_are_refused(name: str | None) -> None:
    models = alike(llama)
    with torch.inference_mode():
        models.target.get_output_embeddings().weight[2] = torch.nan
    decoder = Decoder(models, name and get_verifier(name))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"not finite|rows are not laws"):
        decoder.decode(PROMPT, max_new_tokens=4)


def nothing(tree: DraftTree) -> AcceptanceLaw:
    joint = tree.target * 0
    joint[0] = tree.target[0]
    return AcceptanceLaw.from_joint(tree, joint)


def test_a_users_verifier() -> None:
    verifier = Verifier("mine:nothing", nothing, multipath=True, reference="")
    blocks = Decoder(alike(llama), verifier, paths=2, length=2).decode(PROMPT, max_new_tokens=9).blocks
    assert [(block.accepted, block.emitted) for block in blocks] == [(0, 1)] * 9


def fails(tree: DraftTree) -> AcceptanceLaw:
    raise KeyError("temperature")


def of_another_tree(tree: DraftTree) -> AcceptanceLaw:
    return nothing(DraftTree(PathNodes([[0]]), tree.target[:2], tree.draft[:1]))


@pytest.mark.parametrize(
    ("law", "message"),
    [(fails, "verifier 'own': KeyError: 'temperature'"), (of_another_tree, "the law of another tree")],
)
def test_a_users_verifier_that_fails(law: Callable[[DraftTree], AcceptanceLaw], message: str) -> None:
    decoder = Decoder(alike(llama), Verifier("own", law, multipath=True, reference=""), paths=2, length=2)
    with pytest.raises(ValueError, match=message):
        decoder.decode(PROMPT, max_new_tokens=4)


def test_padding_of_the_vocabulary_is_never_drafted_nor_emitted() -> None:
    models = ModelPair("padded", *(getattr(alike(llama), role) for role in ("target", "draft")), None, 5)
    for name in (None, "traversal"):
        decoder = Decoder(models, name and get_verifier(name), paths=3, length=2)  # type: ignore[arg-type]
        assert max(decoder.decode(PROMPT, max_new_tokens=60).tokens) == 4


@EACH
def test_the_law_s_expectation_has_the_mean_of_what_is_accepted(name: str) -> None:
    decoder = Decoder(alike(gpt2), get_verifier(name), paths=2, length=2)
    blocks = decoder.decode(PROMPT, max_new_tokens=100).blocks
    for block in blocks:
        assert abs(sum(block.expected_by_length) - 1) < 1e-9
    gap = sum(block.accepted - block.expected_accepted for block in blocks)
    # Given what was drafted the accepted numbers are independent, with at most length^2 / 4 of variance.
    assert abs(gap) < 5 * len(blocks) ** 0.5


READS = ("item", "tolist", "cpu", "numpy", "__bool__", "__int__", "__float__", "__index__", "nonzero")


@pytest.mark.parametrize("masked", [True, False], ids=["mask", "batch"])
@EACH
def test_a_block_reads_the_drafted_tokens_and_the_sample(
    name: str, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a device: laws in this machine's memory are sampled from without torch.
    monkeypatch.setattr(DraftTree, "in_memory", lambda tree: tree)
    decoder = Decoder(alike(llama), get_verifier(name), paths=3, length=3)
    decoder.tree_mask = (masked, masked)
    reads: list[str] = []
    per_block: list[int] = []

    def counted(method: str) -> Any:
        original = getattr(torch.Tensor, method)

        def call(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            reads.append(method)
            return original(tensor, *args, **kwargs)

        return call

    for method in READS:
        monkeypatch.setattr(torch.Tensor, method, counted(method))
    moved = torch.Tensor.to

    def to(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if "cpu" in (*args, kwargs.get("device")):  # the host asked for by name
            reads.append("to")
        return moved(tensor, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "to", to)
    decoder.decode(PROMPT, max_new_tokens=20, on_tokens=lambda _: per_block.append(len(reads)))
    assert per_block == [2 * (block + 1) for block in range(len(per_block))]
    assert set(reads) == {"tolist"}
    assert len(reads) == 2 * len(per_block) + 1  # the laws' expectations, at the end
