"""The number in a text: which one is meant, its exact value, and why it cannot be read."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from skynet.metric.numeric import NotANumber, finite
from skynet.metric.show import show
from skynet.scorers.text import text_of, unify

DecimalSign: TypeAlias = Literal[".", ","]
Pick: TypeAlias = Literal["last", "first"]

_MOST_DIGITS = 400
_LARGEST_EXPONENT = 300
_ARABIC = str.maketrans({"٫": ".", "٬": ",", "٪": "%"})
_TOKEN = re.compile(
    r"""
    (?P<odd> 0x[0-9a-f]+ | \d++(?:\s?/\s?\d++){2,} )                  # hexadecimal; a date with slashes
    | (?: (?<![\w.)]) (?P<sign>[-+]) (?:[^\w\s.,+-]\ ?)? (?=[.,]?\d) )?  # "-5" and "-$5", but not the dash of "10-5"
      (?P<digits> [.,]?\d (?: \d | [.,'’_](?=\d) | \ (?=\d{3}(?!\d)) )* )
      (?P<exponent> e[-+]?\d++(?!\w) | \s?[x×·*]\s?10(?:\^|\*\*)[-+]?\d++ )?
      (?P<power> \s?(?:\^|\*\*)\s?[-+]?\d++ | [⁰¹²³⁴-⁹]+ )?
      (?P<below> \s?/\s?\d[\d.,]* )?
      (?P<percent> \s?(?: % | (?:percent|per\ cent|pct)\b ) )?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_STRICT = {
    sign: re.compile(
        rf"""
        (?: (?P<whole> \d+
                     | \d{{1,3}}(?P<group>[{others}])\d{{3}}(?:(?P=group)\d{{3}})*  # 1,234,567
                     | \d{{1,2}}(?:[{others[0]}]\d{{2}})+[{others[0]}]\d{{3}} )     # 12,34,567
            (?: {re.escape(sign)}(?P<part>\d+) )?
        ) | {re.escape(sign)}(?P<bare>\d+)
        """,
        re.VERBOSE,
    )
    for sign, others in ((".", ",'’_ "), (",", ".'’_ "))
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says: an exact value, or None and the fault. `text` is the part that was read."""

    value: Fraction | None
    text: str
    percent: bool = False
    fault: str = ""


def read_number(given: object, pick: Pick = "last", decimal: DecimalSign = ".") -> Reading:
    """Return the last (or first) number of a text: with sign, separators, exponent, percent sign; a number as it is."""
    if isinstance(given, numbers.Number) or hasattr(given, "__float__"):
        return _read_value(given)
    text = unify(text_of(given)).translate(_ARABIC)
    readings = list(_readings(text, decimal))
    if not readings:
        return Reading(None, "", fault=f"there is no number in {show(text)}")
    return readings[-1 if pick == "last" else 0]


def read_like_nemo(text: str) -> float | int | None:
    """Return what the original reads: the last run of digits and dots, with a sign directly before it. None for NaN."""
    runs = [run.rstrip(".") for run in re.findall(r"[+-]?[.\d]+", text)]
    digits = [run for run in runs if run.strip("+-")]
    if not digits or digits[-1].count(".") > 1 or len(digits[-1]) > _LARGEST_EXPONENT:
        return None
    return float(digits[-1]) if "." in digits[-1] else int(digits[-1])


def _read_value(given: object) -> Reading:
    try:
        number = finite(given)
    except NotANumber as fault:
        return Reading(None, show(given), fault=f"the value {fault}")
    exact = Fraction(int(given)) if isinstance(given, int) else Fraction(repr(number))
    return Reading(exact, show(given))


def _readings(text: str, decimal: DecimalSign) -> Iterator[Reading]:
    for token in _TOKEN.finditer(text):
        written = token.group().strip()
        digits, sign = token["digits"] or "", token["sign"] or ""
        if token["odd"]:
            yield _unreadable(written)
            continue
        if " " in digits and _STRICT[decimal].fullmatch(digits) is None:  # numbers in a row, not one with spaces in it
            first, *between, digits = digits.split(" ")
            yield _reading(first, sign, decimal)
            yield from (_reading(piece, "", decimal) for piece in between)
            sign, written = "", written[written.rindex(f" {digits}") + 1 :]
        yield _with_tail(_reading(digits, sign, decimal), token, written)


def _reading(digits: str, sign: str, decimal: DecimalSign) -> Reading:
    strict = _STRICT[decimal].fullmatch(digits)
    if strict is None or len(digits) > _MOST_DIGITS:
        other = "," if decimal == "." else "."
        hint = f"; if {other!r} is the decimal sign, give decimal={other!r}" if digits.count(other) == 1 else ""
        return _unreadable(digits, hint)
    whole = re.sub(r"\D", "", strict["whole"] or "0")
    part = strict["part"] or strict["bare"] or ""
    value = Fraction(int(whole + part), 10 ** len(part))
    return Reading(-value if sign == "-" else value, f"{sign}{digits}")


def _with_tail(reading: Reading, token: re.Match[str], written: str) -> Reading:
    """Return the reading with the exponent, the divisor and the percent sign that follow its digits."""
    if reading.value is None:
        return reading
    exponent = int(re.split(r"[eE^*]", token["exponent"])[-1]) if token["exponent"] else 0
    below = re.sub(r"[\s/]", "", token["below"] or "1").rstrip(".,")
    divides = below.isdecimal() and len(below) <= _MOST_DIGITS and int(below) != 0
    if token["power"] or abs(exponent) > _LARGEST_EXPONENT or not divides:
        return _unreadable(written)
    return Reading(reading.value * Fraction(10) ** exponent / int(below), written, token["percent"] is not None)


def _unreadable(written: str, hint: str = "") -> Reading:
    return Reading(None, written, fault=f"{show(written)} cannot be read as one number{hint}")
