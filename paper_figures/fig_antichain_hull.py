"""Every antichain as a point, and the hull that the separation oracle walks along (V = 3, L = 2, two paths)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from nodebudget.lp import (
    Instance,
    enumerate_antichains,
    hit_probability,
    random_instance,
    solve,
    solve_multi_path,
    starting_program,
    violated_antichains,
)
from nodebudget.lp.drafting import IidPaths, Problem
from nodebudget.lp.numbers.rationals import Array
from nodebudget.lp.programs.linear_program import BudgetVariables
from nodebudget.lp.solving.cutting_planes import float_budgets

from .common import COLUMN

NEEDS = None
PATHS = 2
VIOLATED = 1e-9


def draw(results: Path) -> Any:
    """Above, the first program of the cutting planes, which cheats; below, the optimum, which touches f."""
    instance = random_instance("flat", 3, 2, seed=5).to_float()
    first = solve(starting_program(instance, PATHS))
    budgets = float_budgets(BudgetVariables(Problem(instance, IidPaths(PATHS))), first.values)
    optimum = solve_multi_path(instance, PATHS, certify=False)
    figure, axes = plt.subplots(2, 1, figsize=(COLUMN, 4.6), sharex=True, sharey=True)
    _panel(axes[0], instance, budgets, f"single nodes only: {budgets[1:].sum():.4f}, too much")
    title = f"after {optimum.rounds} rounds: OPT$_2$ = {optimum.value:.4f}"
    _panel(axes[1], instance, optimum.budgets, title)
    axes[1].set_xlabel("draft mass of the antichain, q(A)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure


def _panel(axis: Any, instance: Instance, budgets: Array, title: str) -> None:
    mass = instance.joint_draft
    chains = [list(chain) for chain in enumerate_antichains(instance.tree) if chain != (0,)]
    points = np.array([[mass[chain].sum(), budgets[chain].sum()] for chain in chains])
    axis.plot(*points.T, ".", color="#9A9A9A", markersize=1.6, label=f"all {len(chains)} antichains A")
    t = np.linspace(0, 1, 201)
    axis.plot(t, [hit_probability(float(x), PATHS) for x in t], color="black", label="$f(t) = 1-(1-t)^2$")
    hull = _upper_hull(points)
    axis.plot(*hull.T, color="#0072B2", marker="o", markersize=3, linewidth=0.9, label="upper hull")
    broken = violated_antichains(instance.tree, budgets, mass, PATHS, tolerance=VIOLATED)
    axis.plot(
        [found.draft_mass for found in broken],
        [found.budget for found in broken],
        color="#D55E00",
        marker="X",
        markersize=6,
        linestyle="",
        label="violated: D(A) > f(q(A))",
    )
    axis.set_title(title, loc="left")
    axis.set_ylabel("budget, D(A)")


def _upper_hull(points: Array) -> Array:
    """The upper convex hull, from left to right."""
    hull: list[Array] = []
    for point in points[np.lexsort((points[:, 1], points[:, 0]))]:
        while len(hull) > 1 and _turn(hull[-2], hull[-1], point) >= -1e-12:
            hull.pop()
        hull.append(point)
    return np.array(hull)


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
