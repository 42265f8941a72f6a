"""Arithmetic on a text, without `eval`: parsed, then walked by hand with hard limits.

Whole numbers and decimals are exact fractions, so 0.1 + 0.2 is 0.3; functions such as `sqrt`
work with floats. Limits keep every expression fast: length, depth and the size of numbers.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction

from app.tools.registry import ToolFailure

MAX_CHARS = 300
MAX_BITS = 8_192
"""Longest numerator or denominator anywhere in a computation (about 2466 digits)."""
MAX_EXPONENT = 300
"""Largest power of ten in a number as written, such as 1e300."""

_FOR_TYPED = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "\u00a0": " "})

_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: operator.mod,
}
_CONSTANTS = {"pi": Fraction(math.pi), "e": Fraction(math.e), "tau": Fraction(math.tau)}
_ON_FLOATS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "exp": math.exp,
    "ln": math.log,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "degrees": math.degrees,
    "radians": math.radians,
}
_ON_FRACTIONS: dict[str, Callable[..., Fraction | int]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "floor": math.floor,
    "ceil": math.ceil,
}


def calculate(expression: str) -> int | float:
    """The value of `expression`. ToolFailure says why there is none."""
    text = expression.translate(_FOR_TYPED).replace("^", "**").strip()
    if not text:
        raise ToolFailure("There is nothing to calculate.")
    if len(text) > MAX_CHARS:
        raise ToolFailure(f"The expression is longer than {MAX_CHARS} characters.")
    try:
        tree = ast.parse(text, mode="eval")
        value = _value(tree.body, text)
    except (SyntaxError, RecursionError, MemoryError):
        raise ToolFailure("This is not an arithmetic expression.") from None
    except ZeroDivisionError:
        raise ToolFailure("Division by zero.") from None
    except (OverflowError, ValueError):
        raise ToolFailure("The result is not a number that can be written down.") from None
    return _plain(value)


def _value(node: ast.expr, text: str) -> Fraction:
    match node:
        case ast.Constant(value=bool() | complex() | str() | bytes() | None):
            raise ToolFailure("Only numbers can be calculated with.")
        case ast.Constant(value=int(number)):
            return _limited(Fraction(number))
        case ast.Constant():
            return _limited(_decimal((ast.get_source_segment(text, node) or "").lower()))
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return _value(inner, text)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, text)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _limited(_power(_value(left, text), _value(right, text)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _limited(_BINARY[type(op)](_value(left, text), _value(right, text)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if args:
            return _limited(_called(name, [_value(a, text) for a in args]))
    raise ToolFailure("The expression holds something that is not arithmetic.")


def _decimal(text: str) -> Fraction:
    # A fraction of 1e999999999 would fill the memory before it could be refused.
    if abs(int(text.partition("e")[2] or 0)) > MAX_EXPONENT:
        raise ToolFailure("The number is too large.")
    return Fraction(text.replace("_", ""))


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        result = float(base) ** float(exponent)
        if isinstance(result, complex):
            raise ToolFailure("The root of a negative number is not a real number.")
        return Fraction(result)
    size = max(abs(base.numerator).bit_length(), base.denominator.bit_length())
    if size * abs(int(exponent)) > MAX_BITS:
        raise ToolFailure("The number is too large.")
    return Fraction(base) ** int(exponent)


def _called(name: str, args: list[Fraction]) -> Fraction:
    try:
        if name == "round":
            digits = int(args[1]) if len(args) > 1 else 0
            return round(args[0], max(-20, min(20, digits)))
        if name == "factorial":
            number = args[0]
            if len(args) > 1 or number.denominator != 1 or not 0 <= number <= 500:
                raise ToolFailure("factorial takes a whole number from 0 to 500.")
            return Fraction(math.factorial(int(number)))
        if name in _ON_FRACTIONS:
            return Fraction(_ON_FRACTIONS[name](*args))
        if name in _ON_FLOATS:
            return Fraction(_ON_FLOATS[name](*(float(a) for a in args)))
    except TypeError:
        raise ToolFailure(f"{name} was given the wrong number of values.") from None
    raise ToolFailure(f"There is no function called {name}.")


def _limited(value: Fraction) -> Fraction:
    if value.numerator.bit_length() > MAX_BITS or value.denominator.bit_length() > MAX_BITS:
        raise ToolFailure("The number is too large.")
    return value


def _plain(value: Fraction) -> int | float:
    if value.denominator == 1:
        return int(value)
    return float(f"{float(value):.15g}")
