"""The table verifier x drafting: shares of each draft's optimum over the families of a sweep.

    python -m nodebudget.paper_figures.tree_shares [FILE]

prints it from a stored sweep as Markdown: the mean share, the worst in brackets, and the mean accepted tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nodebudget.experiments.storage.results import read_table

from .common import groups_of, mean, share, solved, where
from .needs import RESULTS, Rows


class Shares(NamedTuple):
    """What a verifier accepts of a drafting.

    Attributes:
        mean, worst: over families, of the accepted tokens as a share of the optimum of the drafting.
        accepted: mean accepted tokens.
    """

    mean: float
    worst: float
    accepted: float

    def text(self) -> str:
        """A cell of the table."""
        return f"{self.mean:.1%} ({self.worst:.1%}) {self.accepted:.2f}"


def shares_by_drafting(rows: Rows) -> dict[str, dict[str, Shares]]:
    """By drafting, then by verifier, in the order of the rows; those without an optimum are left out.

    A family's share is that of its sums, and all families count alike.
    """
    found: dict[str, dict[str, Shares]] = {}
    rows = solved(rows)
    families = groups_of(rows)
    for drafting in dict.fromkeys(row["drafting"] for row in rows):
        drawn = where(rows, drafting=drafting)
        found[drafting] = {}
        for name in dict.fromkeys(row["verifier"] for row in drawn):
            own = where(drawn, verifier=name)
            groups = [where(own, family=family, similarity=similarity) for family, similarity in families]
            each = [share(group) for group in groups if group]
            found[drafting][name] = Shares(sum(each) / len(each), min(each), mean(own, "accepted_tokens"))
    return found


def lines(rows: Rows) -> Iterator[str]:
    """The table in Markdown: verifiers by draftings, and the optimum's accepted tokens in its first line."""
    found = shares_by_drafting(rows)
    yield f"| | {' | '.join(found)} |"
    yield "|---" * (len(found) + 1) + "|"
    optima = (mean(where(solved(rows), drafting=drafting), "optimum") for drafting in found)
    yield f"| optimum | {' | '.join(f'{optimum:.2f}' for optimum in optima)} |"
    for name in dict.fromkeys(row["verifier"] for row in rows):
        cells = (block[name].text() if name in block else "" for block in found.values())
        yield f"| {name} | {' | '.join(cells)} |".replace("  ", " ")


def main(arguments: list[str]) -> None:
    """Print the table of a file, or of the stored one."""
    file = Path(arguments[0]) if arguments else RESULTS / "tree_verifiers.parquet"
    for line in lines(list(read_table(file).to_pylist())):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
