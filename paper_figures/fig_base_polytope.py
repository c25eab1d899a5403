"""What two paths can be made to look like: the base polytope at depth one with three tokens (statement 6.2)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from nodebudget.lp import depth_one_optimum, greedy_skewed_draft, ranked_skewed_draft
from nodebudget.lp.numbers.rationals import float_array

from .common import COLUMN
from .instances import three_tokens

NEEDS = None
PATHS = 2
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""Where the laws (1, 0, 0), (0, 1, 0) and (0, 0, 1) are drawn."""


def draw(results: Path) -> Any:
    """The simplex of laws, in it the polygon of skewed drafts with a ranking at each vertex."""
    instance = three_tokens()
    tree, target, draft = instance.tree, instance.joint_target, instance.joint_draft
    figure, axis = plt.subplots(figsize=(COLUMN, 3.3))
    _simplex(axis)
    vertices = {
        ranking: _at(float_array(ranked_skewed_draft(tree, draft, [y + 1 for y in ranking], PATHS))[1:])
        for ranking in itertools.permutations(range(3))
    }
    centre = np.mean(list(vertices.values()), axis=0)
    around = sorted(vertices, key=lambda r: float(np.arctan2(*(vertices[r] - centre)[::-1])))
    polygon = np.array([vertices[ranking] for ranking in around])
    axis.fill(*polygon.T, facecolor="#0072B2", alpha=0.13)
    axis.plot(
        *np.vstack([polygon, polygon[:1]]).T, color="#0072B2", marker="o", markersize=2.5, linewidth=0.9
    )
    for ranking in around:
        x, height = vertices[ranking]
        inside = x < centre[0]  # of a vertex on the left, where the triangle's side is near
        x, height = x + 0.09, height + (-0.03 if inside and height > centre[1] else 0.03)
        label = ">".join(map(str, ranking))
        axis.text(x, height, label, ha="center", va="center", color="#00507F", fontsize=6.5)
    wanted, drafted = float_array(target)[1:], float_array(draft)[1:]
    greedy = float_array(greedy_skewed_draft(instance, PATHS))[1:]
    best = float(depth_one_optimum(instance, PATHS))
    for law, label, marker, size, color in (
        (wanted, f"target; OPT$_2$ = {best:.2f}, as it lies inside", "*", 9, "#D55E00"),
        (greedy, f"GBV's law of the picked token: {_kept(greedy, wanted):.2f} accepted", "s", 5, "#0072B2"),
        (drafted, f"draft, one path: {_kept(drafted, wanted):.2f} accepted", "D", 5, "#000000"),
    ):
        axis.plot(*_at(law), marker=marker, color=color, markersize=size, linestyle="", label=label, zorder=3)
    axis.set_aspect("equal")
    axis.set_axis_off()
    figure.legend(loc="outside upper center", ncols=1)
    return figure


def _kept(law: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> float:
    """E|Z| at depth one when the picked token has this law."""
    return float(np.minimum(law, target).sum())


def _at(law: Sequence[float] | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(law) @ CORNERS


def _simplex(axis: Any) -> None:
    axis.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="black", linewidth=0.8)
    for level in (0.2, 0.4, 0.6, 0.8):
        for y in range(3):
            a, b = np.zeros(3), np.zeros(3)
            a[y] = b[y] = level
            a[(y + 1) % 3] = b[(y + 2) % 3] = 1 - level
            axis.plot(*np.array([_at(a), _at(b)]).T, color="#DDDDDD", linewidth=0.5, zorder=0)
    for y, (shift, ha, va) in enumerate(
        (((0.02, -0.06), "center", "top"), ((-0.02, -0.06), "center", "top"), ((0, 0.02), "center", "bottom"))
    ):
        x, height = CORNERS[y] + shift
        axis.text(x, height, f"always token {y}", ha=ha, va=va, fontsize=7)
