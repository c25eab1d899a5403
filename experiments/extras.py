"""What only some commands need: the packages of an extra, asked for before any work is done."""

from __future__ import annotations

import importlib


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
