"""The tables that `nodebudget decode` prints."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ..commands.bound import plain
from .decode import DecodeResult, speedup

WIDTH = 100
"""What the tables need."""


def print_decode(result: DecodeResult, *, text: bool) -> None:
    """Print what came out, for people."""
    # A narrow terminal breaks the lines; it does not cut the numbers.
    console = Console(soft_wrap=True, highlight=False, width=max(WIDTH, Console().width))
    config, summaries = result.config, result.summaries()
    first = summaries[0]
    sampling = [f"temperature {config.temperature:g}"]
    for name, value in (("top-k", config.top_k), ("top-p", config.top_p)):
        if value is not None:
            sampling.append(f"{name} {value:g}")
    console.print(
        f"{result.pair} on {result.device} in {result.dtype}, K = {config.paths}, L = {config.length}, "
        f"{', '.join(sampling)}",
        markup=False,
    )
    for note in result.notes:
        console.print(f"note: {note}", markup=False)
    console.print(
        f"{config.prompts}: {first.prompts} prompts, at most {config.max_new_tokens} new tokens each\n",
        markup=False,
    )

    table = _table(
        "verifier", "K", "accepted", "by its law", "block efficiency", "95%", "tokens/s", "speed-up"
    )
    for row in summaries:
        faster = speedup(row, summaries)
        low_high = "" if row.expected_interval is None else "{:.2f} .. {:.2f}".format(*row.expected_interval)
        table.add_row(
            plain(row.verifier),
            str(row.paths or ""),
            f"{row.accepted:.3f}",
            f"{row.expected_accepted:.3f}",
            f"{row.expected_block_efficiency:.3f}",
            low_high,
            f"{row.tokens_per_second:.2f}",
            "" if faster is None else f"{faster:.2f}",
        )
    console.print(table)

    console.print("\nper block: milliseconds by phase, drafted tokens and distinct nodes")
    table = _table("verifier", "draft", "target", "verify", "cache", "verify/target", "drafted", "nodes")
    for row in summaries:
        times = (
            f"{1000 * row.seconds[phase] / row.blocks:.1f}"
            for phase in ("draft", "target", "verify", "cache")
        )
        table.add_row(
            plain(row.verifier), *times, f"{row.verify_share:.1%}", f"{row.drafted:.1f}", f"{row.nodes:.1f}"
        )
    console.print(table)

    console.print(
        "\nsize and work: largest cache of keys and values, estimated operations per token of output"
    )
    table = _table("verifier", "blocks", "tokens", "target cache", "draft cache", "GFLOP/token")
    for row in summaries:
        table.add_row(
            plain(row.verifier),
            str(row.blocks),
            str(row.tokens),
            f"{row.target_cache_bytes / 2**20:.1f} MiB",
            f"{row.draft_cache_bytes / 2**20:.1f} MiB",
            f"{row.flops / 1e9:.2f}",
        )
    console.print(table)

    longest = max(row.length for row in summaries)
    if longest:
        console.print("\nshare of the blocks that accept at least so many tokens, by the verifiers' laws")
        table = _table("verifier", *map(str, range(1, longest + 1)))
        for row in summaries:
            if row.length:
                shares = [f"{share:.3f}" for share in row.expected_position_acceptance]
                table.add_row(plain(row.verifier), *shares)
        console.print(table)
    if text:
        for name, (_, texts) in result.runs.items():
            for prompt, output in zip(result.names, texts, strict=True):
                console.print(f"\n--- {name}, {prompt}", markup=False)
                console.print(output, markup=False)


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table
