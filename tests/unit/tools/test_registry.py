"""Names, choices and specs of tools."""

from __future__ import annotations

import json
from concurrent.futures import Future

from app.tools.registry import BUILTIN, Registry, Tool, ToolChoice, wire_name


def _tool(name: str, **fields: object) -> Tool:
    return Tool(name, "", {"type": "object"}, lambda _a: Future(), **fields)  # type: ignore[arg-type]


def test_names_are_unique_and_wire_safe() -> None:
    registry = Registry()
    registry.set_source(BUILTIN, [_tool("read")])
    registry.set_source("my srv!", [_tool("read"), _tool("a b/c"), _tool("read")])
    assert [t.name for t in registry.tools()] == ["read", "my_srv__read", "a_b_c", "my_srv__read_2"]
    assert [t.own_name for t in registry.tools()] == ["read", "read", "a b/c", "read"]
    assert len(wire_name("x" * 200)) == 64
    registry.remove_source(BUILTIN)
    assert registry.find("read") is not None


def test_choices_belong_to_the_tool_of_its_source() -> None:
    kept: dict[str, ToolChoice] = {}
    registry = Registry(choice_made=lambda key, choice: kept.update({key: choice}))
    changes: list[int] = []
    registry.changed = lambda: changes.append(1)
    registry.set_source(BUILTIN, [_tool("t", ask=False)])
    registry.choose("t", enabled=False)
    assert kept == {f"{BUILTIN}/t": ToolChoice(enabled=False, ask=False)}
    assert registry.specs() == ()
    registry.choose("t", ask=True)
    assert kept[f"{BUILTIN}/t"] == ToolChoice(enabled=False, ask=True)
    registry.choose("nobody", enabled=True)
    assert len(changes) == 3
    again = Registry(choices=dict(kept))
    again.set_source("other", [_tool("t")])
    assert again.tools()[0].enabled, "a choice does not move to another source's tool"


def test_spec_is_brief_but_keeps_the_authors_names() -> None:
    schema = {
        "type": "object",
        "title": "T",
        "additionalProperties": False,
        "required": [],
        "properties": {"title": {"type": "string", "title": "Title"}, "e": {"enum": [[]]}},
    }
    tool = Tool("t", "d", schema, lambda _a: Future())
    assert json.loads(tool.spec().parameters_json) == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "e": {"enum": [[]]}},
    }
