"""The figures: one module `fig_*` each, drawn from stored result files or from an instance of a few nodes.

A figure's module has a docstring that says what it shows, and a function `draw(results)` from the folder of result
files to a matplotlib figure. `FIGURES` finds them by their names; nothing else is to be registered.
"""

from __future__ import annotations

from .registry import FIGURES, RESULTS, draw_figures, figure

__all__ = ["FIGURES", "RESULTS", "draw_figures", "figure"]
