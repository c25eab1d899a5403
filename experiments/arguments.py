"""What commands and scripts look at before any work is done: numbers as they are typed, and installed packages."""

from __future__ import annotations

import importlib


def integer(text: str) -> int:
    """An integer in the digits 0 to 9; ValueError for others, 1_000 and the digits of other scripts included."""
    from nodebudget.lp.numbers.rationals import read_integer, shortened

    found = read_integer(text)
    if found is None:
        raise ValueError(f"got {shortened(text)}; expected an integer in the digits 0 to 9")
    return found


def decimal(text: str) -> float:
    """A number such as 0.5 or 1e-6, in the digits 0 to 9; ValueError for others."""
    from nodebudget.lp.numbers.rationals import read_float, shortened

    found = read_float(text)
    if found is None:
        raise ValueError(f"got {shortened(text)}; expected a number in the digits 0 to 9, such as 0.5")
    return found


def require_llm(what: str, *modules: str) -> None:
    """Raise ValueError, with the command that installs them, unless `modules` can be imported.

    Args:
        what: the command or option that needs them.
        modules: of the extra llm; torch and transformers when left out.
    """
    for name in modules or ("torch", "transformers"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ValueError(
                f"{what} needs the extra llm ({error.name or name} is missing); pip install 'nodebudget[llm]'"
            ) from None
