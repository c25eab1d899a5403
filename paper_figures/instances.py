"""The instances that figures are drawn on, small enough to solve while drawing."""

from __future__ import annotations

from fractions import Fraction

from nodebudget.lp import Instance


def motivating() -> Instance:
    """Two tokens, two drafted positions, target (1/3, 2/3) and draft (2/3, 1/3) everywhere (arXiv:2403.10444)."""
    law = [Fraction(1, 3), Fraction(2, 3)]
    contexts: list[tuple[int, ...]] = [(), (0,), (1,)]
    return Instance.from_laws(2, 2, dict.fromkeys(contexts, law), dict.fromkeys(contexts, law[::-1]))


def three_tokens() -> Instance:
    """One drafted position; two paths can be made to look like the target, but not by a ranking."""
    target = [Fraction(35, 100), Fraction(35, 100), Fraction(30, 100)]
    draft = [Fraction(50, 100), Fraction(30, 100), Fraction(20, 100)]
    return Instance.from_laws(3, 1, {(): target}, {(): draft})
