"""Which texts are numbers: the digits 0 to 9 without separators, and nothing that only Python reads."""

from __future__ import annotations

from fractions import Fraction

import pytest
from nodebudget.lp.numbers.rationals import parse_rational, read_float, read_integer, read_rational, shortened

NOT_NUMBERS = [
    "1_0",
    "_1",
    "1__0",
    "\N{ARABIC-INDIC DIGIT THREE}",
    "\N{FULLWIDTH DIGIT TWO}",
    "",
    "two",
    "0x1",
    "--1",
]


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_underscores_and_other_digits_are_no_numbers(text: str) -> None:
    assert read_integer(text) is None
    assert read_float(text) is None
    for written in (text, f"{text}/7", f"1/{text}", f"0.{text}", f"1e{text}"):
        if written != "0.":
            assert read_rational(written) is None, written


def test_python_itself_would_read_some_of_them() -> None:
    """The negative control: the rule is ours, not Python's."""
    assert int("1_0") == float("1_0") == Fraction("1_0") == 10
    assert int("\N{ARABIC-INDIC DIGIT THREE}") == Fraction("\N{ARABIC-INDIC DIGIT THREE}") == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [("2/3", Fraction(2, 3)), ("+1", 1), ("-0.25", Fraction(-1, 4)), (".5", Fraction(1, 2)), ("1.", 1),
     (" 25e-2 ", Fraction(1, 4)), ("1E+2", 100)],
)  # fmt: skip
def test_plain_rationals(text: str, value: Fraction) -> None:
    assert read_rational(text) == value


def test_integers_and_floats() -> None:
    assert [read_integer(text) for text in ("7", "-7", "+07", " 7 ")] == [7, -7, 7, 7]
    assert [read_float(text) for text in ("1e-6", "-.5", "3")] == [1e-6, -0.5, 3.0]
    assert read_integer("1.0") is read_integer("9" * 5000) is read_float("nan") is read_float("inf") is None


def test_the_error_says_the_rule_and_stays_short() -> None:
    with pytest.raises(
        ValueError, match=r"^here: got '1_0/3'; expected a rational in the digits 0 to 9"
    ) as told:
        parse_rational("1_0/3", "here")
    assert len(str(told.value)) < 120
    with pytest.raises(ValueError, match=r"\(5002 characters\)") as told:
        parse_rational("x" * 5000, "here")
    assert len(str(told.value)) < 200
    assert shortened("x" * 78) == repr("x" * 78)
