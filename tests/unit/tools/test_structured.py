"""Forms before the send, verdicts after it, failures in one sentence. No engine."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from app.tools.regex_wire import NotSpellable, Vocabulary, translate
from app.tools.schema_wire import narrowed
from app.tools.structured import MAX_FORM_CHARS, check, explain, judge, to_wire
from engine.types import Constraint, ConstraintKind, FinishReason
from ui.tool_strings import EXAMPLE_FORMS

BYTES = Vocabulary(byte_level=True, angle_stops=True)
PLAIN = Vocabulary()


def regex(text: str) -> Constraint:
    return Constraint(ConstraintKind.REGEX, text)


def schema(value: object) -> Constraint:
    text = value if isinstance(value, str) else json.dumps(value)
    return Constraint(ConstraintKind.JSON_SCHEMA, text)


def test_every_example_can_be_sent() -> None:
    for _name, kind, form, message in EXAMPLE_FORMS:
        check(Constraint(ConstraintKind(kind), form))
        made = translate(form, BYTES) if kind == "regex" else narrowed(json.loads(form), BYTES)
        assert made
        assert message


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (regex(""), "empty"),
        (regex("(a"), "not a regex"),
        (regex("a(?=b)"), "look-around"),
        (regex(r"(a)\1"), "back-references"),
        (regex(r"\bword"), "no \\b"),
        (regex("a++"), "possessive"),
        (regex("a" * (MAX_FORM_CHARS + 1)), "longer"),
        (schema("{"), "not valid JSON"),
        (schema([1]), "object, true or false"),
        (schema({"type": "nonsense"}), "not a JSON schema"),
        (schema({"not": {}}), "“not”"),
        (schema({"type": "array", "items": {"uniqueItems": True}}), "“uniqueItems”"),
        (schema({"$ref": "http://127.0.0.1/x"}), "not followed"),
        (schema("false"), "allows nothing"),
        (schema('{"items":' * 200 + "{}" + "}" * 200), "nested too deeply"),
    ],
    ids=lambda v: str(getattr(v, "text", v))[:24],
)
def test_what_is_no_form_is_said_before_the_send(form: Constraint, said: str) -> None:
    with pytest.raises(NotSpellable, match=re.escape(said)):
        to_wire(form, None)


@pytest.mark.parametrize(
    ("pattern", "wire"),
    [
        ("a b", "a[ \u0120]b"),
        (r"a\nb", "a[\\n\u010a]b"),
        ("[a-z ]", "[a-z \u0120]"),
        (r"\w\d", "[A-Za-z0-9_][0-9]"),
        ("[ -~]", "[ -;=-~\u0120]"),
        ('"[^"]*"', '"[^"<\u0100-\u011f\u0121]*"'),
        ("[]a]", r"[]a]"),
        (r"\[a b\]", "\\[a[ \u0120]b\\]"),
        ("(?:yes|no){2,3}?", "(?:yes|no){2,3}?"),
    ],
)
def test_regexes_for_byte_level_tokenizers(pattern: str, wire: str) -> None:
    assert translate(pattern, BYTES) == wire
    re.compile(wire)


def test_other_tokenizers_get_the_regex_as_it_is() -> None:
    for pattern in ("a b", "é+", r"[a-z ä]\w", "x{2,3}", r"\.\d"):
        assert translate(pattern, PLAIN) == pattern


@pytest.mark.parametrize(
    "form", [regex("caf(é)"), regex("[äö]"), schema({"const": "é"}), schema({"enum": ["a", "ü"]})]
)
def test_letters_the_table_cannot_spell_never_reach_the_engine(form: Constraint) -> None:
    """One of these made the library abort its process."""
    is_regex = form.kind is ConstraintKind.REGEX
    with pytest.raises(NotSpellable, match="vocabulary"):
        _ = translate(form.text, BYTES) if is_regex else narrowed(json.loads(form.text), BYTES)


def test_names_with_spaces_are_refused_for_byte_level_tables() -> None:
    named = {"type": "object", "properties": {"full name": {"type": "integer"}}}
    with pytest.raises(NotSpellable, match="underscore"):
        narrowed(named, BYTES)
    assert "full name" in json.dumps(narrowed(named, PLAIN))


SCHEMAS: list[object] = [
    {"type": "string"},
    {"type": "string", "minLength": 300},
    {"type": "integer", "minimum": 10**17},
    {"type": "number", "maximum": -5.5},
    {"type": "number", "minimum": 0.00001, "maximum": 0.00002},
    {"type": "array", "items": {"type": "string"}, "minItems": 40},
    {"type": "object", "properties": {"a": {}}, "required": ["a", "b"]},
    {"type": "object"},
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"enum": ["a b", 1, None]},
    {"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]},
    {"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"},
    {},
    True,
]


@pytest.mark.parametrize("original", SCHEMAS, ids=lambda s: json.dumps(s)[:30])
@pytest.mark.parametrize("vocabulary", [BYTES, PLAIN], ids=["bytes", "plain"])
def test_narrowed_schemas_are_schemas(original: object, vocabulary: Vocabulary) -> None:
    made = narrowed(original, vocabulary)
    jsonschema.Draft202012Validator.check_schema(made)
    assert made["x-guidance"]


def test_bounds_only_narrow() -> None:
    """A value of the narrowed schema is one of the original."""
    for original, value in (
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "x"}),
        ({"type": "object"}, {"name": 1.5}),
        ({"type": "integer", "minimum": 10**17}, 10**17 + 5),
        ({"type": "array", "minItems": 2}, [1, "a"]),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, {"a": 1, "b": None}),
    ):
        made = narrowed(original, BYTES)
        del made["x-guidance"]
        jsonschema.validate(value, made)
        jsonschema.validate(value, original)


def test_verdicts() -> None:
    form = schema({"type": "object", "required": ["a"]})
    good = judge(form, '{"a":9007199254740993}', FinishReason.END)
    assert good.ok
    assert "9007199254740993" in good.pretty
    assert judge(form, '{"b":1}', FinishReason.END).ok is False
    assert judge(form, '{"a":', FinishReason.END).ok is False
    assert judge(form, '{"a":', FinishReason.LIMIT).ok is None
    assert judge(form, "", FinishReason.STOPPED).ok is None
    assert judge(regex("yes|no"), "yes", FinishReason.END).ok
    assert judge(regex("yes|no"), "yess", FinishReason.END).ok is False
    assert judge(schema("true"), "3", FinishReason.END).ok
    dated = schema({"type": "string", "format": "date"})
    assert judge(dated, '"2026-02-31"', FinishReason.END).ok is False


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        (
            'INTERNAL: Failed to create LLGuidance constraint: Unimplemented keys: ["not"]\n=== S',
            'Unimplemented keys: ["not"]',
        ),
        (
            'INTERNAL: Failed to commit token: Parser Error: token "Ġb" doesn\'t satisfy the '
            "grammar; forced bytes: got ' '; applying 'Ä'\n<state>\n...",
            "cannot spell “ ”",
        ),
        ("panic: assertion failed: self.parser.inference_caps.ff_tokens\nstack\n", "think"),
        ("something new", "could not keep"),
        ("", "could not keep"),
    ],
)
def test_failures_are_one_sentence(detail: str, said: str) -> None:
    sentence = explain(detail)
    assert said in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
