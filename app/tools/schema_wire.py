"""A JSON schema as the engine's constraint can follow it to the end.

The engine builds a grammar from the schema. What a grammar leaves open a small model may fill
for ever, so open parts are bounded: texts and arrays get a largest length, numbers a range and
four decimals, objects only the names they list. The bounds only narrow: every answer of the
narrowed schema is one of the original, which the answer is checked against. How single
characters are spelled is the matter of `regex_wire`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from app.tools.regex_wire import NotSpellable, Vocabulary, literal, translate

MAX_TEXT = 120
MAX_ITEMS = 16
MAX_NAMES = 8
MAX_NUMBER = 10**15
DECIMALS = 0.0001
MAX_DEPTH = 24

FORMATS = frozenset({"date", "time", "date-time", "uuid", "ipv4", "ipv6"})
"""Formats whose grammar is bounded by itself (others go on without end)."""

_FORMS = {
    "email": r"^[a-z0-9._]{1,24}@[a-z0-9]{1,24}\.[a-z]{2,6}$",
    "hostname": r"^[a-z0-9]{1,24}\.[a-z]{2,6}$",
    "uri": r"^https://[a-z0-9]{1,24}\.[a-z]{2,6}/[a-z0-9/_]{0,40}$",
    "duration": r"^(?:P[0-9]{1,3}[DWMY]|PT[0-9]{1,3}[HMS])$",
}
"""A bounded part of other formats, sent in their place."""

_UNSUPPORTED = frozenset({
    "not", "if", "then", "else", "uniqueItems", "dependentRequired", "dependentSchemas",
    "dependencies", "propertyNames", "contains", "minContains", "maxContains",
    "unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef",
})  # fmt: skip
_ANNOTATIONS = frozenset({
    "$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated",
    "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema",
})  # fmt: skip
_COMPACT = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
_NAME = "^[a-z][a-z0-9_]{0,19}$"


def narrowed(schema: object, vocabulary: Vocabulary) -> dict[str, object]:
    """The schema for the engine; the answer comes without white space between its parts.
    NotSpellable names what the engine cannot follow."""
    made = _Narrower(vocabulary).schema(schema, closed=True, depth=0)
    return {**made, "x-guidance": _COMPACT}


class _Narrower:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        never = vocabulary.never
        if vocabulary.angle_stops:
            self._text = f"^(?:[^\\\\{never}]|<[^\\\\|{never}])*$"
        else:
            self._text = f"^[^\\\\{never}]*$" if never else ""

    def schema(self, schema: object, *, closed: bool, depth: int) -> dict[str, object]:
        """`closed` False inside allOf, where closing one branch would forbid the others."""
        if depth > MAX_DEPTH:
            raise NotSpellable("The schema is nested too deeply.")
        if schema is False:
            raise NotSpellable("The schema allows nothing at one place.")
        if schema is True or schema == {}:
            return self._anything()
        if not isinstance(schema, Mapping):
            raise NotSpellable("A schema is an object, true or false.")
        out = _merged({k: v for k, v in schema.items() if k not in _ANNOTATIONS})
        bad = sorted(_UNSUPPORTED & out.keys())
        if bad:
            raise NotSpellable(f"The engine cannot follow “{bad[0]}” in a schema.")
        if "$ref" in out and not str(out["$ref"]).startswith("#"):
            raise NotSpellable("References outside of the schema are not followed.")
        if "const" in out or "enum" in out:
            return self._values(out)
        if not out.keys() - {"$defs", "definitions"}:
            return {**self._anything(), **self._inner(out, closed, depth)}
        out = self._inner(out, closed, depth)
        if out.keys() & {"$ref", "anyOf", "oneOf", "allOf"}:
            return out
        kinds = self._kinds(out)
        if "string" in kinds:
            self._bound_text(out)
        if "integer" in kinds or "number" in kinds:
            self._bound_number(out, "number" in kinds)
        if "array" in kinds:
            self._bound_array(out)
        if "object" in kinds and closed:
            self._bound_object(out)
        return out

    def _inner(self, out: dict[str, object], closed: bool, depth: int) -> dict[str, object]:
        """`out` with every schema inside it narrowed."""
        deeper = depth + 1
        made = dict(out)
        for key in ("properties", "$defs", "definitions", "patternProperties"):
            if isinstance(inner := out.get(key), Mapping):
                made[key] = {
                    self._name(key, str(name)): self.schema(sub, closed=True, depth=deeper)
                    for name, sub in inner.items()
                }
        for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            if isinstance(parts := out.get(key), list):
                made[key] = [
                    self.schema(p, closed=closed and key != "allOf", depth=deeper) for p in parts
                ]
        for key in ("items", "additionalProperties", "additionalItems"):
            if key in out and out[key] is not False:
                made[key] = self.schema(out[key], closed=True, depth=deeper)
        return made

    def _name(self, key: str, name: str) -> str:
        if key == "patternProperties":
            return translate(name, self._vocabulary)
        if key == "properties" and self._vocabulary.byte_level:
            if not name.isascii() or not name.isprintable():
                raise NotSpellable(f"This model’s vocabulary cannot spell the name “{name}”.")
            if " " in name:
                raise NotSpellable(
                    f"This model’s vocabulary cannot spell the space in the name “{name}”; "
                    "write it with an underscore."
                )
        return name

    def _anything(self) -> dict[str, object]:
        text: dict[str, object] = {"type": "string"}
        number: dict[str, object] = {"type": "number"}
        self._bound_text(text)
        self._bound_number(number, True)
        return {"anyOf": [text, number, {"type": "boolean"}, {"type": "null"}]}

    @staticmethod
    def _kinds(out: Mapping[str, object]) -> set[str]:
        kinds = out.get("type")
        if isinstance(kinds, str):
            return {kinds}
        if isinstance(kinds, list):
            return {str(k) for k in kinds}
        guesses = {
            "object": ("properties", "required", "additionalProperties", "patternProperties"),
            "array": ("items", "prefixItems", "minItems", "maxItems"),
            "string": ("pattern", "format", "minLength", "maxLength"),
            "number": ("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"),
        }
        found = {kind for kind, keys in guesses.items() if any(k in out for k in keys)}
        if isinstance(out, dict) and len(found) == 1:
            out["type"] = next(iter(found))
        return found

    def _values(self, out: Mapping[str, object]) -> dict[str, object]:
        """const and enum; texts the table spells otherwise become patterns."""
        values = [out["const"]] if "const" in out else out["enum"]
        if not isinstance(values, list) or not values:
            raise NotSpellable("“enum” must list at least one value.")
        plain: list[object] = []
        patterns: list[dict[str, object]] = []
        for value in values:
            if isinstance(value, str):
                written = json.dumps(value, ensure_ascii=False)[1:-1]
                pattern = literal(value, self._vocabulary)
                if self._vocabulary.byte_level and " " in value and written == value:
                    patterns.append({"type": "string", "pattern": f"^{pattern}$"})
                    continue
                if self._vocabulary.byte_level and " " in value:
                    raise NotSpellable(f"This model’s vocabulary cannot spell “{value}”.")
            elif self._vocabulary.byte_level and isinstance(value, dict | list):
                literal(json.dumps(value, ensure_ascii=False), Vocabulary(byte_level=True))
                if " " in json.dumps(value, separators=(",", ":")):
                    raise NotSpellable("This model’s vocabulary cannot spell one of the values.")
            plain.append(value)
        choices: list[dict[str, object]] = [*patterns]
        if plain:
            choices.append({"enum": plain})
        return choices[0] if len(choices) == 1 else {"anyOf": choices}

    def _bound_text(self, out: dict[str, object]) -> None:
        least = out.get("minLength", 0)
        form = out.get("format")
        if form in FORMATS and "pattern" not in out:
            return
        if form is not None and form not in FORMATS:
            del out["format"]
            if "pattern" not in out and form in _FORMS:
                out["pattern"] = _FORMS[str(form)]
                return
        if "pattern" in out:
            out["pattern"] = translate(_anchored(str(out["pattern"])), self._vocabulary)
        elif self._text:
            out["pattern"] = self._text
        if "maxLength" not in out:
            out["maxLength"] = max(MAX_TEXT, least if isinstance(least, int) else 0)

    @staticmethod
    def _bound_number(out: dict[str, object], decimals: bool) -> None:
        low = [v for k in ("minimum", "exclusiveMinimum") if _is_number(v := out.get(k))]
        high = [v for k in ("maximum", "exclusiveMaximum") if _is_number(v := out.get(k))]
        least = max((float(str(v)) for v in low), default=None)
        most = min((float(str(v)) for v in high), default=None)
        if least is None:
            out["minimum"] = min(-MAX_NUMBER, int(most or 0) - MAX_NUMBER)
        if most is None:
            out["maximum"] = max(MAX_NUMBER, int(least or 0) + MAX_NUMBER)
        room = None if least is None or most is None else most - least
        if decimals and "multipleOf" not in out and (room is None or room >= 100 * DECIMALS):
            out["multipleOf"] = DECIMALS

    @staticmethod
    def _bound_array(out: dict[str, object]) -> None:
        least = out.get("minItems", 0)
        if "maxItems" not in out and out.get("items") is not False:
            out["maxItems"] = max(MAX_ITEMS, least if isinstance(least, int) else 0)

    def _bound_object(self, out: dict[str, object]) -> None:
        properties = out.get("properties")
        names = dict(properties) if isinstance(properties, Mapping) else {}
        required = out.get("required")
        for name in required if isinstance(required, list) else ():
            if name not in names and "patternProperties" not in out:
                names[self._name("properties", str(name))] = self._anything()
        more = out.get("additionalProperties", True)
        if names:
            out["properties"] = names
            out["additionalProperties"] = False
            return
        if "patternProperties" not in out and more is not False:
            value = more if isinstance(more, Mapping) else self._anything()
            out["patternProperties"] = {_NAME: value}
        out["additionalProperties"] = False
        if "patternProperties" in out:
            out.setdefault("maxProperties", MAX_NAMES)


def _anchored(pattern: str) -> str:
    """`pattern` for the whole text: one that may match anywhere leaves the rest open."""
    if pattern.startswith("^") and pattern.endswith("$") and "|" not in pattern:
        return pattern
    return f"^(?:{pattern})$"


def _merged(out: dict[str, object]) -> dict[str, object]:
    """`out` with the branches of an allOf of plain objects put together, else as it is."""
    parts = out.get("allOf")
    if not isinstance(parts, list) or not all(isinstance(p, Mapping) for p in parts):
        return out
    rest = {k: v for k, v in out.items() if k != "allOf"}
    properties: dict[str, object] = {}
    required: list[object] = []
    for part in (*parts, rest):
        if part.keys() - _ANNOTATIONS - {"type", "properties", "required", "$defs"}:
            return out
        if part.get("type", "object") != "object":
            return out
        inner = part.get("properties", {})
        if not isinstance(inner, Mapping) or properties.keys() & inner.keys():
            return out
        properties.update(inner)
        names = part.get("required", [])
        required += [n for n in names if n not in required] if isinstance(names, list) else []
    return {**rest, "type": "object", "properties": properties, "required": required}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
