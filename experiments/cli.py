"""The command `nodebudget`: its commands, and how unusable input is answered."""

from __future__ import annotations

import sys

import typer

from .commands import COMMANDS

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help=(
        "Exact linear programs for lossless speculative decoding: how many drafted tokens may a verifier "
        "accept, and how close does a given one come?"
    ),
    epilog="nodebudget COMMAND --help describes a command and ends with an example.",
)
for name, module in COMMANDS.items():
    command = getattr(module, name.replace("-", "_"))
    app.command(name, epilog=f"\b\nExample:\n  {module.EXAMPLE}")(command)

LONGEST_WORD = 400
"""Characters of a word of an error that are printed: a name of thousands says no more than its beginning."""


def main() -> None:
    """Run the command; unusable input becomes one line on stderr and exit code 2."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except (ValueError, OSError) as error:
        _fail(str(error))
    except Exception as error:
        message = getattr(error, "format_message", None)  # a usage error of the option parser
        if message is None:
            raise
        _fail(f"{message()} (see nodebudget --help)")
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    sys.stderr.write(f"nodebudget: {' '.join(_shortened(word) for word in message.split())}\n")
    sys.exit(2)


def _shortened(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[:60]}... ({len(word)} characters)"
