"""The stored results that the pages quote."""

from __future__ import annotations

from nodebudget.experiments.storage.results import read_table
from nodebudget.paper_figures import RESULTS
from nodebudget.paper_figures.needs import Rows


def rows_of(study: str) -> Rows:
    """The rows of a stored study, such as "families" or "pairs/decoding"."""
    return list(read_table(RESULTS / f"{study}.parquet").to_pylist())
