"""Certified optima from a float solver's final basis (section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..programs.linear_program import BudgetVariables, Row
from ..solving.sessions import Basis
from .certificates import Certificate, TightAntichain
from .exact_simplex import NotCertified, exact_optimum


def certificate_from_basis(
    variables: BudgetVariables, rows: Sequence[Row], basis: Basis | None
) -> Certificate:
    """A verified certificate of the optimum of a program over budgets.

    The basis is solved in rationals and pivoted on where it is not exactly optimal. Antichains that are not tight in it
    are left to the exact separation oracle.

    Args:
        variables: of a problem in rationals.
        rows: of the last program that was solved in floats.
        basis: its final basis.

    Raises NotCertified when no certificate was reached.
    """
    if basis is None:
        raise NotCertified("the float solver gave no basis")
    problem = variables.problem

    def separate(values: Sequence[Fraction]) -> list[Row]:
        broken = problem.violated(variables.budgets(values))
        return [variables.antichain_row(antichain.nodes) for antichain in broken]

    kept = [i for i, row in enumerate(rows) if row.kind == "target-matching" or not basis.rows[i]]
    program = variables.program(f"{problem.program}, exact", [rows[i] for i in kept])
    found = exact_optimum(program, Basis(basis.columns, basis.rows[kept]), separate)
    antichains = [
        TightAntichain(row.nodes, dual)
        for row, dual in zip(found.rows, found.duals, strict=True)
        if row.kind != "target-matching" and dual > 0
    ]
    certificate = Certificate.build(
        problem.instance, problem.drafting, variables.budgets(found.values), antichains
    )
    verdict = certificate.verify()
    if not verdict:
        raise NotCertified("; ".join(verdict.failures))
    return certificate
