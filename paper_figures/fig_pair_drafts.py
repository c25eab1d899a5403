"""Which draft is worth most after HumanEval contexts of the small real pair (top-k 5, L = 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from .common import COLUMN
from .draft_lines import draw_kinds, one_row_each
from .needs import Needs

SHAPES = ("2,1,1", "3,1,1", "2,2,1", "2,2,2", "3,2,1")
DRAFTINGS = (
    *(f"iid:{paths}" for paths in (1, 2, 3, 4, 6)),
    *(f"with:{shape}" for shape in SHAPES[2:]),
    *(f"{kind}:{shape}" for kind in ("without", "top-sample") for shape in SHAPES),
    *(f"top:{shape}" for shape in ("1,1,1", *SHAPES)),
    *("delayed:1,2", "delayed:1,4", "delayed:2,4"),
    *(f"{kind}:{nodes}" for kind in ("best-draft", "best-target") for nodes in (3, 6, 9, 12, 15)),
)
"""Those of the stored results."""

NEEDS = Needs(
    "pairs/drafts.parquet",
    ("context", "depth", "length", "drafting", "verifier", "nodes_expected", "optimum"),
    "nodebudget optimality --pair smollm2/without-10-13 --prompts human-eval --top-k 5 --length 3 "
    f"--verifiers nss --drafting {' --drafting '.join(DRAFTINGS)} --out {{file}}",
    verifiers=("nss",),
    single=("length",),
)


def draw(results: Path) -> Any:
    """The contexts whose tree has the full length."""
    rows = [row for row in NEEDS.rows(results) if row["depth"] == row["length"]]
    figure, axis = plt.subplots(figsize=(COLUMN, 3.2))
    draw_kinds(axis, one_row_each(NEEDS, rows, "nodes_expected"), "nodes_expected", ("context",))
    axis.set_ylabel("optimum, accepted tokens")
    axis.set_xlabel("mean number of nodes that the target reads")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
