"""Which tools exist, which are on, and which ask before they run.

Owned by the thread that created it (main in the window). Tools come from sources: the
program itself (`BUILTIN`) or one MCP server each. Names on the wire are unique: a second tool
of the same name gets its source in front.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from engine.types import ToolSpec

BUILTIN = "Tandem"
"""Name of the source of the tools that come with the program."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64


class ToolFailure(Exception):
    """A tool could not do it; the text is one sentence for the person and the model."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `start` must return at once; the future (of `concurrent.futures`) carries a
    JSON value, or `ToolFailure`. `name` is unique among all tools; `own_name` is the source's.
    `ask` and `enabled` hold the person's choice, or the tool's default before one was made.
    """

    name: str
    description: str
    schema: Mapping[str, object]
    start: Callable[[dict[str, object]], Future[object]]
    source: str = BUILTIN
    own_name: str = ""
    ask: bool = True
    enabled: bool = True
    timeout_s: float = 30.0
    useful: Callable[[], bool] = lambda: True
    """Whether it could do anything now; the model is not told of one that cannot."""
    origin: str = ""
    """What provides it, as far as consent goes: a server's command line."""

    @property
    def key(self) -> str:
        """Names the tool in stored choices."""
        return f"{self.source}/{self.own_name or self.name}"

    @property
    def fingerprint(self) -> str:
        """Changes with everything a consent rests on: who offers it, what it says it does,
        what it takes. "" for a tool of the program itself, which changes with the program."""
        if self.source == BUILTIN:
            return ""
        own = self.own_name or self.name
        parts = [self.source, own, self.origin, self.description, self.schema]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def spec(self) -> ToolSpec:
        """What the model is told: without the parts that only a checker needs, for every
        word of it takes room in the context."""
        text = json.dumps(_brief(self.schema), ensure_ascii=False)
        return ToolSpec(name=self.name, description=self.description, parameters_json=text)


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """What the person decided for one tool. Not to be asked holds only for the tool with this
    fingerprint: one that changed since asks again."""

    enabled: bool
    ask: bool
    fingerprint: str = ""


@dataclass(slots=True)
class Registry:
    """All tools in the order of their sources. `changed` runs after each change."""

    choices: dict[str, ToolChoice] = field(default_factory=dict)
    changed: Callable[[], None] = lambda: None
    choice_made: Callable[[str, ToolChoice], None] = lambda _key, _choice: None
    _sources: dict[str, tuple[Tool, ...]] = field(default_factory=dict)

    def set_source(self, source: str, tools: Sequence[Tool]) -> None:
        """Adds or replaces the tools of `source`; an empty list keeps the source, toolless."""
        self._sources[source] = tuple(replace(t, source=source) for t in tools)
        self._sources = self._with_unique_names(self._sources)
        self.changed()

    def remove_source(self, source: str) -> None:
        if self._sources.pop(source, None) is not None:
            self._sources = self._with_unique_names(self._sources)
            self.changed()

    def tools(self) -> tuple[Tool, ...]:
        """Every tool, with the person's choices applied."""
        return tuple(self._chosen(t) for tools in self._sources.values() for t in tools)

    def enabled(self) -> tuple[Tool, ...]:
        return tuple(t for t in self.tools() if t.enabled)

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told: the tools that are on and could do something."""
        return tuple(t.spec() for t in self.enabled() if t.useful())

    def find(self, name: str) -> Tool | None:
        return next((t for t in self.tools() if t.name == name), None)

    def choose(self, name: str, *, enabled: bool | None = None, ask: bool | None = None) -> None:
        """Records a choice for the tool called `name`; unknown names are ignored."""
        tool = self.find(name)
        if tool is None:
            return
        self._decide(tool, enabled=enabled, ask=ask)

    def allow(self, seen: Tool) -> None:
        """Never asks again for exactly the tool that was shown with the question."""
        tool = self.find(seen.name)
        if tool is not None and (tool.key, tool.fingerprint) == (seen.key, seen.fingerprint):
            self._decide(tool, ask=False)

    def _decide(self, tool: Tool, *, enabled: bool | None = None, ask: bool | None = None) -> None:
        choice = ToolChoice(
            enabled=tool.enabled if enabled is None else enabled,
            ask=tool.ask if ask is None else ask,
            fingerprint=tool.fingerprint,
        )
        self.choices[tool.key] = choice
        self.choice_made(tool.key, choice)
        self.changed()

    def _chosen(self, tool: Tool) -> Tool:
        choice = self.choices.get(tool.key)
        if choice is None:
            return tool
        ask = choice.ask or choice.fingerprint != tool.fingerprint
        return replace(tool, enabled=choice.enabled, ask=ask)

    @staticmethod
    def _with_unique_names(sources: dict[str, tuple[Tool, ...]]) -> dict[str, tuple[Tool, ...]]:
        taken: set[str] = set()
        out: dict[str, tuple[Tool, ...]] = {}
        for source, tools in sources.items():
            named = []
            for tool in tools:
                own = tool.own_name or tool.name
                name = _unique(wire_name(own), source, taken)
                taken.add(name)
                named.append(replace(tool, name=name, own_name=own))
            out[source] = tuple(named)
        return out


_FOR_CHECKERS = frozenset({"additionalProperties", "title", "$schema", "$id"})


def _brief(schema: object, names: bool = False) -> object:
    """`schema` without `_FOR_CHECKERS` and empty lists; `names`: the keys are the author's."""
    if isinstance(schema, list):
        return [_brief(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if names:
        return {k: _brief(v) for k, v in schema.items()}
    return {
        k: v if k in ("enum", "const", "default", "required") else _brief(v, k in _MAPS)
        for k, v in schema.items()
        if k not in _FOR_CHECKERS and v != []
    }


_MAPS = frozenset({"properties", "$defs", "definitions", "patternProperties"})


def wire_name(name: str) -> str:
    """`name` in the letters that function names may have, at most 64 of them."""
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "tool"


def _unique(name: str, source: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    stem = wire_name(f"{source}_{name}")[: _LONGEST_NAME - 4]
    number, candidate = 2, stem
    while candidate in taken:
        candidate, number = f"{stem}_{number}", number + 1
    return candidate
