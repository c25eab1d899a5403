"""What is lossless where the draft was not drawn from q, and how far lossy rules go: the table of docs/fixed-drafts.md.

    python -m nodebudget.experiments.fixed_drafts

audits each rule exactly on one token with target (1/2, 3/10, 1/5) and draft (1/5, 3/10, 1/2).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from nodebudget.experiments.tables import console, text_table
from nodebudget.lp import Instance
from nodebudget.lp.drafting import Drafting, GivenTree, IidPaths, ListedTrees
from nodebudget.verifiers import AcceptanceLaw, DraftTree, Verifier
from nodebudget.verifiers.audit import ExactAudit, audit_exact
from nodebudget.verifiers.plain.shared import Row, excess, normalised
from nodebudget.verifiers.verifier import ANY_DRAFTING

P = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
Q = P[::-1]
INSTANCE = Instance.from_laws(3, 1, {(): P}, {(): Q})

EPSILON, DELTA = 0.09, 0.3
"""Of typical acceptance, as Medusa (arXiv:2401.10774) has them: accept where p(y) > min(epsilon, delta e^-H(p))."""

Accept = Callable[[Row, Row, int], tuple[Fraction, Row]]
"""From p, q and the drafted token to the chance to accept it, and the law of what is emitted otherwise."""


@dataclass(frozen=True)
class Case:
    """A rule, with how its token came about.

    Attributes:
        draft: how, in words.
        rule: in words.
        drafting: what is drafted.
        law: the rule.
    """

    draft: str
    rule: str
    drafting: Drafting
    law: Accept

    def audit(self) -> ExactAudit:
        """The exact audit, with a law of one drafted token at depth one."""
        return audit_exact(
            Verifier(self.rule, partial(_law, self.law), True, "a rule", needs=ANY_DRAFTING),
            INSTANCE,
            drafting=self.drafting,
        )


def _law(rule: Accept, tree: DraftTree) -> AcceptanceLaw:
    token, joint = int(tree.nodes.token[1]), tree.target * 0
    chance, otherwise = rule(list(tree.target[0]), list(tree.draft[0]), token)
    joint[0] = [(1 - chance) * mass for mass in otherwise]
    joint[1] = chance * tree.target[1]
    return AcceptanceLaw.from_joint(tree, joint)


def ratio(p: Row, q: Row, y: int) -> tuple[Fraction, Row]:
    """min(1, p/q), else from max(0, p - q) over its sum."""
    return min(Fraction(1), p[y] / q[y]), normalised(excess(1, p, q))


def point_mass(p: Row, q: Row, y: int) -> tuple[Fraction, Row]:
    """The same with the law that a given token has, q = 1 there: p, else from p without it."""
    return ratio(p, [Fraction(y == token) for token in range(len(p))], y)


def scaled_ratio(c: Fraction, p: Row, q: Row, y: int) -> tuple[Fraction, Row]:
    """min(1, c p/q), else from p."""
    return min(Fraction(1), c * p[y] / q[y]), p


def threshold(least: Fraction, p: Row, q: Row, y: int) -> tuple[Fraction, Row]:
    """Accept where p is at least so large, else from p."""
    return Fraction(p[y] >= least), p


def typical(p: Row, q: Row, y: int) -> tuple[Fraction, Row]:
    """Accept where p(y) > min(epsilon, delta e^-H(p)), else from p."""
    entropy = -sum(float(mass) * math.log(mass) for mass in p if mass)
    return Fraction(p[y] > min(EPSILON, DELTA * math.exp(-entropy))), p


GIVEN, DRAWN = GivenTree([(2,)]), IidPaths(1)
TOP_TWO = ListedTrees([([(1,)], Q[1] / (Q[1] + Q[2])), ([(2,)], Q[2] / (Q[1] + Q[2]))])

CASES = (
    Case("given: the draft's likeliest", "p, else from p without it (q = 1)", GIVEN, point_mass),
    Case("drawn from q", "min(1, p/q), else from max(0, p - q)", DRAWN, ratio),
    Case("given: the draft's likeliest", "min(1, p/q), else from max(0, p - q)", GIVEN, ratio),
    Case("drawn from the top 2 of q", "min(1, p/q) with q itself, else from max(0, p - q)", TOP_TWO, ratio),
    Case("drawn from q", "min(1, p/q), else from p", DRAWN, partial(scaled_ratio, Fraction(1))),
    Case("drawn from q", "min(1, 2 p/q), else from p", DRAWN, partial(scaled_ratio, Fraction(2))),
    Case("drawn from q", "where p >= 1/4, else from p", DRAWN, partial(threshold, Fraction(1, 4))),
    Case("drawn from q", "typical acceptance, else from p", DRAWN, typical),
)


def emitted(found: ExactAudit) -> list[Fraction]:
    """The law of the next token."""
    return [found.joint[0, y] + found.budgets[1 + y] for y in range(3)]


def line(case: Case) -> list[str]:
    """A row of the table: what is drafted, the rule, accepted, emitted, total variation, and the least for so much.

    An accepted token is both the drafted one, of law d, and the emitted one, of law e, and the sum of min(d, e) is at
    most that of min(d, p) and the total variation of e and p.
    """
    found = case.audit()
    hits = case.drafting.single_hits(INSTANCE)[1:]
    least = max(Fraction(0), found.accepted_tokens - sum(map(min, P, hits)))
    law = ", ".join(map(str, emitted(found)))
    accepted, distance = str(found.accepted_tokens), str(found.total_variation)
    return [case.draft, case.rule, accepted, law, distance, str(least)]


HEADERS = ("draft", "accept with", "accepted", "emits", "total variation", "least for so much accepted")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    table = text_table(*HEADERS[:2], right=HEADERS[2:])
    for case in CASES:
        table.add_row(*line(case))
    console(170).print(table)


if __name__ == "__main__":
    main()
