"""What counts as a number: bool, int, float, Decimal, Fraction, numpy scalars, 0-d arrays. Text does not."""

from __future__ import annotations

import math
import numbers

from skynet.metric.show import show

_REAL_KINDS = "biuf"  # numpy's kinds of bool, signed, unsigned and floating; times, text and objects are none of these


class NotANumber(ValueError):
    """A value that is no usable number; the text goes after "The score", as in "is a string"."""


def real(value: object) -> float:
    """Return `value` as a float, which may be NaN or infinite. Raises NotANumber."""
    if isinstance(value, int | float):  # nearly every score; the checks below cost microseconds
        return _to_float(value)
    if isinstance(value, str):
        raise NotANumber("is a string")
    if isinstance(value, bytes | bytearray):
        raise NotANumber("is bytes")
    if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
        raise NotANumber("is a complex number")
    if not _is_scalar_array(value) and not isinstance(value, numbers.Number):
        raise NotANumber(f"is not a number: it is {show(value)}")
    return _to_float(value)


def finite(value: object) -> float:
    """Return `value` as a finite float. Raises NotANumber."""
    number = real(value)
    if math.isnan(number):
        raise NotANumber("is NaN")
    if math.isinf(number):
        raise NotANumber("is infinite, or too large for a float")
    return number


def _is_scalar_array(value: object) -> bool:
    """Whether `value` is a numpy or tensor scalar; recognised by its shape, so that neither library is imported."""
    shape = getattr(value, "shape", None)
    if shape is None:
        return False
    if tuple(shape) != ():
        raise NotANumber("is an array; take one number from it, for example with .item() or .mean()")
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is not None and kind not in _REAL_KINDS:
        raise NotANumber(f"is not a number: it is {show(value)}")
    return hasattr(value, "__float__")


def _to_float(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # every kind let through has __float__
    except OverflowError:
        raise NotANumber("is too large for a float") from None
    except ValueError:  # Decimal's signalling NaN
        raise NotANumber("is NaN") from None
    except TypeError:
        raise NotANumber(f"is not a number: it is {show(value)}") from None
