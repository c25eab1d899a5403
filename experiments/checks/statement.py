"""What a check is, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .grid import Grid


@dataclass
class Outcome:
    """The tally of one statement.

    Attributes:
        instances: how many instances (or instance and K, where K matters) were tried.
        deviation: the worst deviation from what the statement says; 0 for statements checked exactly.
        failures: what did not hold, in words.
        note: what else was seen.
    """

    instances: int = 0
    deviation: Any = 0
    failures: list[str] | None = None
    note: str = ""

    def expect(self, holds: bool, what: str) -> None:
        """Record one thing that must hold."""
        if not holds:
            self.failures = [*(self.failures or []), what]

    def equal(self, got: Any, wanted: Any, what: str) -> None:
        """Record that two rationals must be the same."""
        self.deviation = max(self.deviation, abs(got - wanted))
        self.expect(got == wanted, f"{what}: got {got}, expected {wanted}")

    @property
    def passed(self) -> bool:
        """True when nothing failed and something was tried."""
        return not self.failures and self.instances > 0


@dataclass(frozen=True)
class Statement:
    """A numbered statement with its check."""

    number: str
    words: str
    check: Callable[[Grid], Outcome]
