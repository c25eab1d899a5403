"""The figures: one module `fig_*` each, drawn from stored result files or from an instance of a few nodes.

A figure's module has a docstring that says what it shows, `NEEDS` (the result file that it draws, with columns and
values, or None), and a function `draw(results)` from the folder of result files to a matplotlib figure. `FIGURES` finds
them by their names; nothing else is to be registered. `nodebudget figures --list` says what each one needs.
"""

from __future__ import annotations

from .registry import FIGURES, RESULTS, describe_figures, draw_figures, figure

__all__ = ["FIGURES", "RESULTS", "describe_figures", "draw_figures", "figure"]
