"""The Hugging Face hub, without waiting for a network that is not there."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

import huggingface_hub
from huggingface_hub import errors

Kind = Literal["model", "dataset"]

# Seconds until the hub counts as out of reach. A resolver without network may block far longer than that.
PATIENCE = 15.0


def ask_hub(repository: str, kind: Kind = "model") -> None:
    """Return if the hub can be reached and gives access to the repository.

    Raises:
        ValueError: with what to do: no network (or HF_HUB_OFFLINE), no such repository, or a gated one.
    """
    what = f"{kind} {repository!r}"
    if huggingface_hub.constants.HF_HUB_OFFLINE:
        raise ValueError(
            f"{what} is not on this machine and HF_HUB_OFFLINE is set; download it where there is network "
            f"({_download(repository, kind)}), or name a local folder"
        )
    failures: list[Exception] = []

    def ask() -> None:
        try:
            huggingface_hub.HfApi().repo_info(repository, repo_type=kind, timeout=PATIENCE)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if not thread.is_alive() and not failures:
        return
    failure = failures[0] if failures else None
    if isinstance(failure, errors.GatedRepoError):
        raise ValueError(
            f"{what} is gated: accept its licence at https://huggingface.co/{repository}, then `hf auth login`"
        ) from failure
    if isinstance(failure, errors.RepositoryNotFoundError | errors.HFValidationError):
        raise ValueError(
            f"{what} is neither a folder on this machine nor a repository of the hub that you may read"
        ) from failure
    raise ValueError(
        f"{what} is not on this machine and the hub is out of reach; download it where there is network "
        f"({_download(repository, kind)}), or name a local folder"
    ) from failure


def fetch(repository: str, filename: str, kind: Kind) -> Path:
    """A file of the hub: from its cache on this machine, otherwise downloaded; ValueError as `ask_hub`."""
    try:
        return Path(
            huggingface_hub.hf_hub_download(repository, filename, repo_type=kind, local_files_only=True)
        )
    except errors.LocalEntryNotFoundError:
        ask_hub(repository, kind)
    return Path(huggingface_hub.hf_hub_download(repository, filename, repo_type=kind))


def _download(repository: str, kind: Kind) -> str:
    return f"hf download {repository}{'' if kind == 'model' else ' --repo-type dataset'}"
