"""Drafts made of the target's own layers."""

from __future__ import annotations

import re

import pytest
import torch
from nodebudget.verifiers.decoding.layers import keep_layers, parse_layers
from tiny_checkpoints import tiny_gpt2, tiny_llama
from transformers import (
    DynamicCache,
    OPTConfig,
    OPTForCausalLM,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
)

IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
SMALL = {"vocab_size": 32, "hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2}


def tiny_models() -> dict[str, PreTrainedModel]:
    torch.manual_seed(0)
    qwen = Qwen3Config(
        **SMALL, intermediate_size=32, num_key_value_heads=1, head_dim=8, max_position_embeddings=64
    )
    opt = OPTConfig(**SMALL, ffn_dim=32, word_embed_proj_dim=16, max_position_embeddings=64)
    return {
        "llama": tiny_llama(32),
        "gpt2": tiny_gpt2(32),
        "qwen3": Qwen3ForCausalLM(qwen).eval(),
        "opt": OPTForCausalLM(opt).eval(),
    }


MODELS = tiny_models()
EACH = pytest.mark.parametrize("name", MODELS)


@EACH
@torch.no_grad()
def test_all_layers_are_the_model_itself(name: str) -> None:
    model = MODELS[name]
    assert torch.equal(keep_layers(model, range(4))(IDS).logits, model(IDS).logits)


@torch.no_grad()
def test_fewer_layers_by_hand() -> None:
    model = MODELS["llama"]
    hidden = model.model.embed_tokens(IDS)
    positions = model.model.rotary_emb(hidden, torch.arange(8)[None])
    for layer in (3, 1):
        hidden = model.model.layers[layer](hidden, position_embeddings=positions, attention_mask=None)
    expected = model.lm_head(model.model.norm(hidden))
    torch.testing.assert_close(keep_layers(model, [3, 1])(IDS).logits, expected)


@EACH
@torch.no_grad()
def test_cache_has_one_place_for_each_layer_kept(name: str) -> None:
    draft = keep_layers(MODELS[name], [0, 3])
    cache = DynamicCache(config=draft.config)
    draft(IDS[:, :5], cache=cache, use_cache=True)
    assert len(cache.layers) == 2
    continued = draft(IDS[:, 5:], cache=cache, use_cache=True).logits
    torch.testing.assert_close(continued, draft(IDS).logits[:, 5:])
    assert MODELS[name].config.num_hidden_layers == 4


@EACH
def test_weights_are_shared(name: str) -> None:
    model = MODELS[name]
    own = {id(parameter) for parameter in model.parameters()}
    draft = keep_layers(model, [0, 1, 3])
    assert {id(parameter) for parameter in draft.parameters()} < own


@EACH
@torch.no_grad()
def test_student_owns_its_layers_only(name: str) -> None:
    model = MODELS[name]
    before = model(IDS).logits
    student = keep_layers(model, [0, 3], share_layers=False)
    own = {id(parameter) for parameter in model.parameters()}
    fresh = [parameter for parameter in student.parameters() if id(parameter) not in own]
    inside = [name for name, _ in student.named_parameters() if re.search(r"\.(?:h|layers)\.\d\.", name)]
    assert len(fresh) == len(inside) > 0
    for parameter in fresh:
        parameter.zero_()
    assert torch.equal(model(IDS).logits, before)
    assert student.get_output_embeddings().weight is model.get_output_embeddings().weight


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        ("first:3", (0, 1, 2)),
        ("without:2-4", (0, 1, 5)),
        ("without:0,5", (1, 2, 3, 4)),
        ("layers:0-1, 5", (0, 1, 5)),
    ],
)
def test_specifications(spec: str, kept: tuple[int, ...]) -> None:
    assert parse_layers(spec, 6) == kept


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("first:0", "first:N with N from 1 to 6"),
        ("first:7", "first:N with N from 1 to 6"),
        ("first:x", "first:N with N from 1 to 6"),
        ("without:0-5", "leaves out every layer"),
        ("without:6", "layers 0 to 5; there is no layer 6"),
        ("without:3-2", "no layer or span"),
        ("without:", "no layer or span"),
        ("layers:-1", "no layer or span"),
        ("layers:0-999999", "no layer or span"),
    ],
)
def test_specifications_refused(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_layers(spec, 6)


@pytest.mark.parametrize(("kept", "message"), [([], "at least one"), ([1, 1], "once"), ([4], "no layer 4")])
def test_layers_refused(kept: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        keep_layers(MODELS["llama"], kept)
