"""The tables that `nodebudget decode` prints."""

from __future__ import annotations

from ..tables import console, plain, sampling, text_table
from .decode import DecodeConfig, DecodeResult, speedup

WIDTH = 100
"""What the tables need."""


def _drafted(config: DecodeConfig) -> str:
    """What is drafted, for the heading."""
    what = f"K = {config.paths}" if config.drafting is None else config.drafting
    return what if config.length is None else f"{what}, L = {config.length}"


def print_decode(result: DecodeResult, *, text: bool) -> None:
    """Print what came out, for people."""
    out = console(WIDTH)
    config, summaries = result.config, result.summaries()
    first = summaries[0]
    out.print(
        f"{result.pair} on {result.device} in {result.dtype}, {_drafted(config)}, "
        f"{sampling(config.temperature, config.top_k, config.top_p)}",
        markup=False,
    )
    for note in result.notes:
        out.print(f"note: {note}", markup=False)
    for name, why in result.failed.items():
        out.print(f"failed: {name} on {why}", markup=False)
    out.print(
        f"{config.prompts}: {first.prompts} prompts, at most {config.max_new_tokens} new tokens each\n",
        markup=False,
    )

    columns = ("K", "accepted", "by its law", "block efficiency", "95%", "tokens/s", "speed-up")
    made = text_table("verifier", right=columns)
    for row in summaries:
        faster = speedup(row, summaries)
        low_high = "" if row.expected_interval is None else "{:.2f} .. {:.2f}".format(*row.expected_interval)
        made.add_row(
            plain(row.verifier),
            str(row.paths or ""),
            f"{row.accepted:.3f}",
            f"{row.expected_accepted:.3f}",
            f"{row.expected_block_efficiency:.3f}",
            low_high,
            f"{row.tokens_per_second:.2f}",
            "" if faster is None else f"{faster:.2f}",
        )
    out.print(made)

    out.print("\nper block: milliseconds by phase, drafted tokens and distinct nodes")
    columns = ("draft", "target", "verify", "cache", "verify/target", "drafted", "nodes")
    made = text_table("verifier", right=columns)
    for row in summaries:
        times = (
            f"{1000 * row.seconds[phase] / row.blocks:.1f}"
            for phase in ("draft", "target", "verify", "cache")
        )
        made.add_row(
            plain(row.verifier), *times, f"{row.verify_share:.1%}", f"{row.drafted:.1f}", f"{row.nodes:.1f}"
        )
    out.print(made)

    out.print("\nsize and work: largest cache of keys and values, estimated operations per token of output")
    made = text_table("verifier", right=("blocks", "tokens", "target cache", "draft cache", "GFLOP/token"))
    for row in summaries:
        made.add_row(
            plain(row.verifier),
            str(row.blocks),
            str(row.tokens),
            f"{row.target_cache_bytes / 2**20:.1f} MiB",
            f"{row.draft_cache_bytes / 2**20:.1f} MiB",
            f"{row.flops / 1e9:.2f}",
        )
    out.print(made)

    longest = max(row.length for row in summaries)
    if longest:
        out.print("\nshare of the blocks that accept at least so many tokens, by the verifiers' laws")
        made = text_table("verifier", right=map(str, range(1, longest + 1)))
        for row in summaries:
            if row.length:
                shares = [f"{share:.3f}" for share in row.expected_position_acceptance]
                made.add_row(plain(row.verifier), *shares)
        out.print(made)
    if text:
        for name, (_, texts) in result.runs.items():
            for prompt, output in zip(result.names, texts, strict=True):
                out.print(f"\n--- {name}, {prompt}", markup=False)
                out.print(output, markup=False)
