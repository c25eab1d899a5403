"""Two published claims beside certificates: the optimal value of SpecTr-GBV, and the laws of it and of HSD on one path.

    python -m nodebudget.experiments.published_claims

prints the value that SpecTr-GBV states beside the certified optimum of the motivating example, and exact audits of what
the public code of both does with one path. The formula and the laws were read off that code (src/engine.py of
junemily/SpecTr-GBV, algorithm_clean.py of ZhouYuxuanYX/Hierarchical-Speculative-Decoding) and put in Fractions, without
its guards against division by zero. What SpecTr-GBV's code does with several paths was not made a law.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from nodebudget.experiments.tables import console, text_table
from nodebudget.lp import Instance, random_instance, solve_multi_path
from nodebudget.paper_figures.instances import motivating
from nodebudget.verifiers import Verifier, plain
from nodebudget.verifiers.audit import ExactAudit, audit_exact
from nodebudget.verifiers.plain.shared import Context, Laws, Number, Outcomes, excess, normalised

SHAPES = ((2, 2), (3, 2), (2, 3), (3, 3))
SEEDS = range(10)

Weight = Callable[[Number], Number]


def stated_optimum(instance: Instance, paths: int) -> Fraction:
    """The value that SpecTr-GBV (arXiv:2604.25925) states: the sum over z of p(z) (1 - (1 - min(1, q(z) / p(z)))^K)."""
    pairs = zip(instance.joint_target[1:], instance.joint_draft[1:], strict=True)
    return sum((p * (1 - (1 - min(Fraction(1), q / p)) ** paths) for p, q in pairs if p), Fraction(0))


def whole_ratio(ratio: Number) -> Number:
    """The ratio as it is, however large."""
    return ratio


def at_most_one(ratio: Number) -> Number:
    """The ratio, or 1 where it is larger."""
    return min(1, ratio)


def block_law(
    paths: tuple[Context, ...], target: Laws, draft: Laws, *, grown: Weight, left: Weight
) -> Outcomes:
    """Block verification (section 5) of the first path with other weights than its own.

    Args:
        paths, target, draft: as in `nodebudget.verifiers.plain`.
        grown: what becomes of the weight times p / q of the next token; `at_most_one` in block verification.
        left: what of a weight is used in the residual max(0, w p - q).
    """
    x = paths[0]
    weights: list[Number] = [Fraction(1)]
    for i, y in enumerate(x):
        weights.append(grown(weights[-1] * target(x[:i])[y] / draft(x[:i])[y]))
    taken = min(1, weights[-1])
    out = {(x, y): taken * mass for y, mass in enumerate(target(x))}
    failed = 1 - taken
    for i in range(len(x) - 1, -1, -1):
        z, w = x[:i], min(1, weights[i])
        S = sum(excess(w, target(z), draft(z)))
        h = S / (S + 1 - w) if w < 1 else 1
        residual = normalised(excess(left(weights[i]), target(z), draft(z)))
        out |= {(z, y): failed * h * mass for y, mass in enumerate(residual)}
        failed *= 1 - h
    return out


def _of_one_path(name: str, reference: str, grown: Weight, left: Weight) -> Verifier:
    law = plain.on_tree(partial(block_law, grown=grown, left=left))
    return Verifier(name, law, multipath=False, reference=reference)


HSD = _of_one_path("HSD, its code", "arXiv:2601.05724", whole_ratio, at_most_one)
"""Steps back from a prefix by p / q of all of it, cut at 1 only where it is used."""

HSD_CAPPED = _of_one_path("HSD, capped at each token", "arXiv:2601.05724", at_most_one, at_most_one)
"""The same with the ratio cut at 1 before it is multiplied with the next one."""

SPECTR_GBV = _of_one_path("SpecTr-GBV, its code", "arXiv:2604.25925", whole_ratio, whole_ratio)
"""The same coins as HSD's code; the residual has the whole ratio."""


def audits(verifier: Verifier, shape: tuple[int, int]) -> list[ExactAudit]:
    """Exact audits with one path on random instances (family flat) of a shape (V, L)."""
    return [audit_exact(verifier, random_instance("flat", *shape, seed=seed), 1) for seed in SEEDS]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    instance, screen = motivating(), console(100)
    stated = text_table("paths", right=("stated by SpecTr-GBV", "certified optimum"))
    for paths in (1, 2, 3):
        best = solve_multi_path(instance, paths)
        assert best.certified
        stated.add_row(str(paths), str(stated_optimum(instance, paths)), str(best.value))
    screen.print(stated)
    found = text_table("one path", "instances", right=("total variation", "accepted / optimum, most"))
    for verifier in (SPECTR_GBV, HSD, HSD_CAPPED):
        alone = audit_exact(verifier, instance, 1)
        rows = [("the motivating example", [alone])]
        rows += [(f"flat, V = {shape[0]}, L = {shape[1]}", audits(verifier, shape)) for shape in SHAPES]
        for name, each in rows:
            far = [float(audit.total_variation) for audit in each]
            most = max(float(audit.accepted_tokens / audit.optimum) for audit in each)
            found.add_row(verifier.name, name, f"{min(far):.1e} to {max(far):.1e}", f"{most:.4f}")
    screen.print(found)


if __name__ == "__main__":
    main()
