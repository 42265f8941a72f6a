"""Unit conversion with exact factors. Data only, and one function."""

from __future__ import annotations

from fractions import Fraction

from app.tools.registry import ToolFailure

_F = Fraction

_UNITS: dict[str, dict[str, Fraction]] = {
    "length": {
        "mm": _F(1, 1000), "cm": _F(1, 100), "m": _F(1), "km": _F(1000), "in": _F(254, 10000),
        "ft": _F(3048, 10000), "yd": _F(9144, 10000), "mi": _F(1609344, 1000), "nmi": _F(1852),
    },
    "mass": {
        "mg": _F(1, 1000000), "g": _F(1, 1000), "kg": _F(1), "t": _F(1000),
        "oz": _F(28349523125, 10**12), "lb": _F(45359237, 10**8), "st": _F(635029318, 10**8),
    },
    "volume": {
        "ml": _F(1, 1000), "cl": _F(1, 100), "dl": _F(1, 10), "l": _F(1), "m3": _F(1000),
        "tsp": _F(492892159375, 10**14), "tbsp": _F(1478676478125, 10**14),
        "floz": _F(295735295625, 10**13), "cup": _F(2365882365, 10**10),
        "pt": _F(473176473, 10**9), "qt": _F(946352946, 10**9), "gal": _F(3785411784, 10**9),
    },
    "area": {
        "cm2": _F(1, 10000), "m2": _F(1), "ha": _F(10000), "km2": _F(10**6),
        "ft2": _F(9290304, 10**8), "acre": _F(40468564224, 10**7), "mi2": _F(2589988110336, 10**6),
    },
    "speed": {
        "m/s": _F(1), "km/h": _F(10, 36), "mph": _F(44704, 10**5), "kn": _F(1852, 3600),
    },
    "time": {
        "ms": _F(1, 1000), "s": _F(1), "min": _F(60), "h": _F(3600), "day": _F(86400),
        "week": _F(604800),
    },
    "data": {
        "bit": _F(1, 8), "byte": _F(1), "kb": _F(1000), "mb": _F(10**6), "gb": _F(10**9),
        "tb": _F(10**12), "kib": _F(1024), "mib": _F(1024**2), "gib": _F(1024**3),
        "tib": _F(1024**4),
    },
    "energy": {
        "j": _F(1), "kj": _F(1000), "cal": _F(4184, 1000), "kcal": _F(4184), "wh": _F(3600),
        "kwh": _F(3600000),
    },
    "pressure": {
        "pa": _F(1), "kpa": _F(1000), "bar": _F(100000), "atm": _F(101325),
        "psi": _F(6894757293168, 10**9),
    },
    "temperature": {"c": _F(1), "f": _F(5, 9), "k": _F(1)},
}  # fmt: skip

_ZERO = {"c": _F(27315, 100), "f": _F(45967, 100) * _F(5, 9), "k": _F(0)}
"""Kelvin at zero of each temperature scale."""

_OTHER_NAMES = {
    "millimeter": "mm", "millimetre": "mm", "centimeter": "cm", "centimetre": "cm", "meter": "m",
    "metre": "m", "kilometer": "km", "kilometre": "km", "inch": "in", "inche": "in", "foot": "ft",
    "feet": "ft", "yard": "yd", "mile": "mi", "nautical mile": "nmi", "milligram": "mg",
    "gram": "g", "kilogram": "kg", "kilo": "kg", "tonne": "t", "ton": "t", "ounce": "oz",
    "pound": "lb", "stone": "st", "milliliter": "ml", "millilitre": "ml", "liter": "l",
    "litre": "l", "teaspoon": "tsp", "tablespoon": "tbsp", "fluid ounce": "floz", "pint": "pt",
    "quart": "qt", "gallon": "gal", "hectare": "ha", "kph": "km/h", "kmh": "km/h", "knot": "kn",
    "mile per hour": "mph", "second": "s", "sec": "s", "minute": "min", "hour": "h", "hr": "h",
    "joule": "j", "calorie": "cal", "celsius": "c", "°c": "c", "fahrenheit": "f", "°f": "f",
    "kelvin": "k", "degree celsius": "c", "degree fahrenheit": "f", "m²": "m2", "m³": "m3",
    "km²": "km2", "ft²": "ft2", "kilobyte": "kb", "megabyte": "mb", "gigabyte": "gb",
    "terabyte": "tb",
}  # fmt: skip


def convert(value: float, from_unit: str, to_unit: str) -> int | float:
    """`value` in another unit. ToolFailure names an unknown unit or a wrong pair."""
    source, target = _known(from_unit), _known(to_unit)
    kind = next(k for k, units in _UNITS.items() if source in units)
    if target not in _UNITS[kind]:
        raise ToolFailure(f"{from_unit} cannot be converted to {to_unit}.")
    try:
        amount = Fraction(str(value))
    except ValueError:
        raise ToolFailure("The value is not a number.") from None
    if kind == "temperature":
        kelvin = amount * _UNITS[kind][source] + _ZERO[source]
        result = (kelvin - _ZERO[target]) / _UNITS[kind][target]
    else:
        result = amount * _UNITS[kind][source] / _UNITS[kind][target]
    if result.denominator == 1:
        return int(result)
    try:
        return float(f"{float(result):.12g}")
    except OverflowError:
        raise ToolFailure("The result is too large.") from None


def unit_names() -> tuple[str, ...]:
    return tuple(name for units in _UNITS.values() for name in units)


def _known(name: str) -> str:
    plain = " ".join(name.lower().split())
    units = set(unit_names())
    candidates = (plain, _OTHER_NAMES.get(plain, ""), plain.removesuffix("s"))
    for candidate in (*candidates, _OTHER_NAMES.get(plain.removesuffix("s"), "")):
        if candidate in units:
            return candidate
    raise ToolFailure(f"The unit “{name}” is not known.")
