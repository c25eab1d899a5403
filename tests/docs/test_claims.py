"""Published claims beside certificates, and the pages that say so."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import pytest
from nodebudget.experiments.studies import fixed_drafts, published_claims, recycling_study
from nodebudget.experiments.studies.published_claims import HSD, HSD_CAPPED, SPECTR_GBV, stated_optimum
from nodebudget.lp import random_instance, solve_multi_path
from nodebudget.paper_figures.instances import motivating
from nodebudget.verifiers import DraftTree
from nodebudget.verifiers.audit import audit_exact

DOCS = Path(__file__).parents[2] / "docs"
INSTANCES = (motivating(), *(random_instance("flat", 3, 2, seed=s, zeros=0.3) for s in range(3)),
             random_instance("identical", 3, 2, seed=1), random_instance("flat", 2, 3, seed=2))  # fmt: skip


def says(page: str, *words: str) -> None:
    """The page has these words next to each other, wherever its lines break."""
    assert " ".join(words) in " ".join((DOCS / page).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("paths", "stated", "certified"), [(1, "4/3", "11/9"), (2, "19/12", "131/81"), (3, "83/48", "1351/729")]
)
def test_the_stated_optimum_of_spectr_gbv_is_none(paths: int, stated: str, certified: str) -> None:
    """Above what any verifier reaches for one path, below what a certified one reaches for two and three."""
    instance = motivating()
    best = solve_multi_path(instance, paths)
    assert best.certified
    assert (stated_optimum(instance, paths), best.value) == (Fraction(stated), Fraction(certified))
    assert (stated_optimum(instance, paths) > best.value) is (paths == 1)
    reached = max(audit_exact(name, instance, paths).accepted_tokens for name in ("gbv", "mixed"))
    assert reached <= best.value
    assert (reached > stated_optimum(instance, paths)) is (paths > 1)
    says(
        "findings.md", "19/12 for two paths and 83/48 for three. The certified optima are 131/81 and 1351/729"
    )


def coins(tree: DraftTree, *, spectr_gbv: bool) -> dict[tuple[int, int], Fraction]:
    """Pr[length, Y] as the public code draws it: every combination of its coins, in its own formulas."""
    path = [int(z) for z in tree.of_paths.path_nodes[0]]
    tokens = [int(tree.nodes.token[z]) for z in path[1:]]
    depth, one, zero = len(tokens), Fraction(1), Fraction(0)
    rows = [(list(tree.target[z]), list(tree.draft[z])) for z in path[:-1]]
    m_b = [
        math.prod((p[y] for (p, _), y in zip(rows[:i], tokens, strict=False)), start=one)
        for i in range(depth + 1)
    ]
    m_s = [
        math.prod((q[y] for (_, q), y in zip(rows[:i], tokens, strict=False)), start=one)
        for i in range(depth + 1)
    ]
    stay, residuals = [], []
    for i, (p, q) in enumerate(rows):
        if spectr_gbv:
            small = [
                min(one, m_s[i] * b / (m_b[i] * a)) if m_b[i] * a else one for a, b in zip(p, q, strict=True)
            ]
            whole = min(one, m_s[i] / m_b[i]) if m_b[i] else one
            shares = list(zip(p, small, strict=True))
            top = sum(m_b[i] * a * (1 - r) for a, r in shares) - m_b[i] * (1 - whole)
            bottom = 1 - (1 - m_s[i]) - sum(m_b[i] * a * r for a, r in shares)
            stay.append(one if i == 0 else top / bottom if bottom else zero)
            residuals.append([m_b[i] * a * (1 - r) for a, r in shares])
        else:
            differences = [min(m_b[i], m_s[i]) * a - m_s[i] * b for a, b in zip(p, q, strict=True)]
            plus, minus = (sum(max(zero, s * d) for d in differences) for s in (1, -1))
            primes = [max(zero, d) / max(plus, minus) if max(plus, minus) else zero for d in differences]
            back = 1 - sum(primes) if m_b[i + 1] < m_s[i + 1] else zero
            stay.append(1 - back)
            residuals.append(primes)
    last = min(one, m_b[-1] / m_s[-1])
    out = {(depth, y): last * mass for y, mass in enumerate(tree.target[path[-1]])}
    for pattern in itertools.product([True, False], repeat=depth):
        chance = math.prod(
            (s if kept else 1 - s for s, kept in zip(stay, pattern, strict=True)), start=1 - last
        )
        if not chance:
            continue
        length = max(i for i in range(depth) if pattern[i])
        total = sum(residuals[length])
        assert total
        for y, mass in enumerate(residuals[length]):
            out[length, y] = out.get((length, y), zero) + chance * mass / total
    return {key: mass for key, mass in out.items() if mass}


@pytest.mark.parametrize(("verifier", "spectr_gbv"), [(HSD, False), (SPECTR_GBV, True)])
def test_the_laws_are_those_of_the_codes_coins(verifier: published_claims.Verifier, spectr_gbv: bool) -> None:
    for instance in INSTANCES:
        for leaf in instance.tree.leaves:
            if instance.joint_draft[leaf] > 0:
                tree = DraftTree.from_instance(instance, [instance.tree.path(leaf)])
                joint = verifier.law(tree).joint()
                found = {
                    (int(tree.nodes.lengths[z]), y): joint[z, y]
                    for z, y in zip(*joint.nonzero(), strict=True)
                }
                assert found == coins(tree, spectr_gbv=spectr_gbv)


def test_hsd_capped_is_block_verification_and_the_codes_are_not_lossless() -> None:
    for instance in INSTANCES:
        assert (audit_exact(HSD_CAPPED, instance, 1).joint == audit_exact("bv", instance, 1).joint).all()
    for verifier in (HSD, SPECTR_GBV):
        found = audit_exact(verifier, motivating(), 1)
        assert (found.total_variation, found.accepted_tokens) == (Fraction(1, 9), Fraction(4, 3))
        assert found.accepted_tokens > found.optimum
    audits = {
        verifier.name: [
            each for shape in published_claims.SHAPES for each in published_claims.audits(verifier, shape)
        ]
        for verifier in (HSD, SPECTR_GBV)
    }
    far = {name: [float(each.total_variation) for each in found] for name, found in audits.items()}
    assert {len(each) for each in far.values()} == {40}
    most = max(float(each.accepted_tokens / each.optimum) for each in audits[HSD.name]) - 1
    low, high = (f"{end(far[SPECTR_GBV.name]):.1e}".replace("e-0", "e-") for end in (min, max))
    says("findings.md", f"it is {low} to {high} away")
    low, high = (f"{end(far[HSD.name]):.1e}".replace("e-0", "e-") for end in (min, max))
    says(
        "findings.md",
        f"(up to {most:.1%} more), and is {low} to {high} from the target's law on the 40 instances",
    )


def test_fixed_drafts_by_hand_and_on_the_page() -> None:
    """p = (1/2, 3/10, 1/5) and q = (1/5, 3/10, 1/2), token 2 the draft's likeliest; each law worked out by hand."""
    by_hand = {
        "p, else from p without it (q = 1)": ("1/5", "1/2, 3/10, 1/5", "0"),
        "min(1, 2 p/q), else from p": ("9/10", "1/4, 33/100, 21/50", "1/4"),
        "min(1, p/q), else from p": ("7/10", "7/20, 39/100, 13/50", "3/20"),
        "where p >= 1/4, else from p": ("1/2", "9/20, 9/20, 1/10", "3/20"),
    }
    lines = [fixed_drafts.line(case) for case in fixed_drafts.CASES]
    for _, rule, accepted, law, distance, least in lines:
        assert (accepted, law, distance) == by_hand.get(rule, (accepted, law, distance))
        assert Fraction(least) <= Fraction(distance)
    assert {rule for _, rule, *_ in lines} >= by_hand.keys()
    assert [distance for *_, distance, _ in lines].count("0") == 2
    for entries in (list(fixed_drafts.HEADERS), *lines):
        says("fixed-drafts.md", f"| {' | '.join(entries)} |")
    with pytest.raises(AssertionError):
        says("fixed-drafts.md", "min(1, 2 p/q), else from p | 8/10")


@pytest.mark.parametrize("similarity", [None, 0.95])
def test_what_recycling_gains(similarity: float | None) -> None:
    says("findings.md", f"| {' | '.join(recycling_study.line(similarity))} |")
