"""Functions compiled by numba, where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call; kept for later processes, where there is a place to keep it."""
    options: dict[str, Any] = {"fastmath": {"reassoc", "nsz"}, "nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's can be written to
        return numba.njit(**options)(function)
