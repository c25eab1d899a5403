"""`nodebudget decode`: verifiers on a real model pair, compared on the same prompts and seeds."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nodebudget.lp.numbers.rationals import shortened
from nodebudget.verifiers import Verifier, get_verifier

from ..arguments import require_llm

BASELINE = "autoregressive"


@dataclass(frozen=True)
class DecodeConfig:
    """What to run.

    Attributes:
        pair: a preset's name; or None, with `target` and `draft` as `load_pair` takes them.
        verifiers: names as `get_verifier` takes them, at least one.
        paths, length: K and L; K is None where `drafting` says what is drafted, and so may L be.
        drafting: as `parse_drafter` takes it, instead of `paths`.
        prompts, count: as `load_prompts` takes them.
        max_new_tokens: of each prompt.
        temperature, top_k, top_p: of both models, as in `SamplingLaw`.
        seed: of everything that is random; prompt i has its own stream, the same for every verifier.
        dtype, device, device_map: as `load_pair` takes them.
        baseline: decode plainly with the target, too.

    Raises:
        ValueError: for K, L, `max_new_tokens` or the number of prompts below 1, a negative seed, and no
            verifier or one that is named twice.
    """

    verifiers: tuple[str, ...]
    paths: int | None
    length: int | None
    prompts: str
    pair: str | None = None
    target: str | None = None
    draft: str | None = None
    count: int | None = None
    max_new_tokens: int = 64
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    dtype: str = "auto"
    device: str | None = None
    device_map: str | None = None
    baseline: bool = True
    drafting: str | None = None

    def __post_init__(self) -> None:
        for option, value in (
            ("--paths", 1 if self.paths is None else self.paths),
            ("--length", 1 if self.length is None else self.length),
            ("--max-new-tokens", self.max_new_tokens),
            ("--count", 1 if self.count is None else self.count),
        ):
            if value < 1:
                raise ValueError(f"{option}: got {value}; expected at least 1")
        if (self.paths is None) == (self.drafting is None):
            given = "neither" if self.paths is None else "both"
            raise ValueError(
                f"--paths, --drafting: got {given}; expected what is drafted, such as --paths 2, or "
                "--drafting without:2,1"
            )
        if self.paths is not None and self.length is None:
            raise ValueError("missing option '--length': the tokens of each path")
        if self.seed < 0:
            raise ValueError(f"--seed: got {self.seed}; expected at least 0")
        if not self.verifiers or len(set(self.verifiers)) < len(self.verifiers):
            raise ValueError(
                f"verifiers: got {', '.join(self.verifiers) or 'none'}; expected at least one, each of them once"
            )


@dataclass(frozen=True)
class DecodeResult:
    """What came out.

    Attributes:
        config: what was run.
        pair: the pair's name, and `notes` about it.
        device: where the target takes its tokens.
        dtype: of the target's weights.
        names: of the prompts.
        runs: by verifier, the baseline first: its generations, one per prompt, and their texts.
        failed: by verifier that failed: on which prompt, and why. It is in no run.
    """

    config: DecodeConfig
    pair: str
    notes: tuple[str, ...]
    device: str
    dtype: str
    names: tuple[str, ...]
    runs: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]]
    failed: dict[str, str] = field(default_factory=dict)

    def failures(self) -> str:
        """What failed, in one line."""
        return "; ".join(f"verifier {shortened(name)} failed on {why}" for name, why in self.failed.items())

    def summaries(self) -> list[Any]:
        """A `Summary` per run."""
        from nodebudget.verifiers.decoding.statistics import summarise

        return [summarise(name, generations) for name, (generations, _) in self.runs.items()]


def run_decode(config: DecodeConfig) -> DecodeResult:
    """Load the pair, decode every prompt with every verifier; ValueError for anything unusable.

    What does not need the models is looked at before they are loaded, and every prompt's length before the
    first is decoded. A verifier that fails is in `DecodeResult.failed`, and the others go on; ValueError where
    nothing is left.
    """
    verifiers = [get_verifier(name) for name in config.verifiers]
    require_llm("decode")
    from nodebudget.verifiers.decoding import SamplingLaw, load_pair, load_prompts
    from nodebudget.verifiers.decoding.caches import input_device
    from nodebudget.verifiers.decoding.drafters import parse_drafter
    from nodebudget.verifiers.decoding.loop import Decoder
    from tqdm import tqdm

    sampling = SamplingLaw(config.temperature, config.top_k, config.top_p)
    if config.drafting is not None:
        parse_drafter(config.drafting, config.length)
    prompts = load_prompts(config.prompts, count=config.count)
    pair = load_pair(
        config.pair,
        target=config.target,
        draft=config.draft,
        dtype=config.dtype,
        device=config.device,
        device_map=config.device_map,
    )
    if pair.tokenizer is None:
        raise ValueError(f"{pair.name}: there is no tokenizer with these models, to read prompts with")
    choices: list[Verifier | None] = [None, *verifiers] if config.baseline else [*verifiers]
    decoders = [
        Decoder(
            pair,
            verifier,
            paths=config.paths or 1,
            length=config.length,
            drafting=config.drafting,
            sampling=sampling,
        )
        for verifier in choices
    ]
    encoded = []
    for prompt in prompts:
        encoded.append(pair.tokenizer(prompt.text).input_ids)
        for decoder in decoders:
            try:
                decoder.check(encoded[-1], config.max_new_tokens)
            except ValueError as error:
                raise ValueError(f"prompt {prompt.name!r}: {error}") from None
    runs: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {}
    failed: dict[str, str] = {}
    total = len(decoders) * len(prompts) * config.max_new_tokens
    with tqdm(total=total, unit="token", desc="decode", dynamic_ncols=True) as progress:
        for decoder in decoders:
            name = decoder.verifier.name if decoder.verifier else BASELINE
            progress.set_description(name)
            generations: list[Any] = []
            try:
                for i, ids in enumerate(encoded):
                    generation = decoder.decode(
                        ids,
                        max_new_tokens=config.max_new_tokens,
                        seed=(config.seed, i),
                        on_tokens=lambda new: progress.update(len(new)),
                    )
                    progress.update(config.max_new_tokens - len(generation.tokens))
                    generations.append(generation)
            except (Exception, SystemExit) as error:  # whatever a user's verifier does
                if decoder.verifier is None:
                    raise
                failed[name] = f"prompt {shortened(prompts[len(generations)].name)}: {_reason(error)}"
                continue
            texts = [pair.tokenizer.decode(each.tokens, skip_special_tokens=True) for each in generations]
            runs[name] = tuple(generations), tuple(texts)
    result = DecodeResult(
        config=config,
        pair=pair.name,
        notes=(*pair.notes, *_reading_notes(decoders)),
        device=str(input_device(pair.target)),
        dtype=str(pair.target.dtype).removeprefix("torch."),
        names=tuple(prompt.name for prompt in prompts),
        runs=runs,
        failed=failed,
    )
    if not runs:
        raise ValueError(result.failures())
    return result


def _reason(error: BaseException) -> str:
    """Why a verifier failed, in one line; with the place in the code for what is no complaint about input."""
    origin = error.__cause__ or error
    if isinstance(origin, ValueError):
        return str(origin)
    place = traceback.extract_tb(origin.__traceback__)[-1]
    return f"{type(origin).__name__}: {origin} ({Path(place.filename).name}, line {place.lineno})"


def _reading_notes(decoders: Sequence[Any]) -> list[str]:
    """Which of the models were found not to take a tree mask: the same rows, but more tokens to read."""
    masks = max((decoder.tree_mask for decoder in decoders), key=len)
    return [
        f"the {role} takes no tree mask (a trial gave other rows): it reads the paths as a batch"
        for role, mask in zip(("target", "draft"), masks, strict=False)
        if not mask
    ]


def decode_report(result: DecodeResult, *, text: bool) -> dict[str, Any]:
    """The JSON object: the configuration, a summary per run, and the outputs if asked for."""
    summaries = result.summaries()
    report: dict[str, Any] = {
        **asdict(result.config),
        "pair": result.pair,
        "notes": list(result.notes),
        "device": result.device,
        "dtype": result.dtype,
        "results": [asdict(summary) | {"speedup": speedup(summary, summaries)} for summary in summaries],
        "failed": dict(result.failed),
    }
    if text:
        report["outputs"] = [
            {"verifier": name, "prompt": prompt, "text": output, "tokens": list(generation.tokens)}
            for name, (generations, texts) in result.runs.items()
            for prompt, output, generation in zip(result.names, texts, generations, strict=True)
        ]
    return report


def speedup(summary: Any, summaries: Sequence[Any]) -> float | None:
    """Tokens per second over those of the baseline in the same run, None without one."""
    for other in summaries:
        if other.verifier == BASELINE:
            return float(summary.tokens_per_second / other.tokens_per_second)
    return None


def save_decode(result: DecodeResult, folder: Path) -> None:
    """Write `prompts.parquet` and `blocks.parquet`, with configuration and versions in both, into a folder."""
    import pyarrow as pa

    from ..storage.results import pair_provenance, write_table

    document = {
        **pair_provenance(),
        "config": asdict(result.config),
        "pair": result.pair,
        "notes": list(result.notes),
        "device": result.device,
        "dtype": result.dtype,
        "failed": dict(result.failed),
    }
    prompts, blocks = [], []
    for name, (generations, texts) in result.runs.items():
        for prompt, generation, text in zip(result.names, generations, texts, strict=True):
            row = {"verifier": name, "prompt": prompt, **asdict(generation), "text": text}
            for number, block in enumerate(generation.blocks):
                own = asdict(block) | {"expected_accepted": block.expected_accepted}
                blocks.append({"verifier": name, "prompt": prompt, "block": number, **own})
            row["blocks"] = len(generation.blocks)
            prompts.append(row)
    for file, rows in (("prompts.parquet", prompts), ("blocks.parquet", blocks)):
        write_table(folder / file, pa.Table.from_pylist(rows), document | {"table": file.split(".")[0]})


def check_out(folder: Path) -> None:
    """Make the folder; ValueError where results cannot go: files are never overwritten."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"--out: {str(folder)!r} is there already; expected a new or empty folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out: {str(folder)!r} cannot be made ({error.strerror})") from None
