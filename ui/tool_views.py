"""What the Tools tab shows: plain frozen values made by its controller. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolView:
    """One tool of the list. `files` are the names picked for it; None: it takes no files."""

    name: str
    description: str
    schema: str
    enabled: bool = True
    ask: bool = True
    files: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGroupView:
    """The tools of one source. `phase` "" for the built-in ones, else stopped, starting,
    ready or failed, with one sentence in `reason`."""

    source: str
    title: str
    tools: tuple[ToolView, ...] = ()
    phase: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntryView:
    """One line of the log. `kind`: you, call, result, model, model_no_call, note, error,
    stopped, waiting. An entry with the `key` of an older one replaces it in place.
    `state` of a result: done, refused, failed, unknown."""

    key: str
    kind: str
    text: str = ""
    name: str = ""
    seconds: float | None = None
    state: str = "done"
    details: str = ""
    numbers: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentView:
    """A call that waits for the person. `id` comes back with the answer."""

    id: str
    name: str
    source: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskView:
    """What can be asked now. `state`: idle, busy, stopping. `problem`: "", no_model,
    no_support, no_tools."""

    state: str = "idle"
    problem: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormResultView:
    """A structured answer. `valid` None: not complete, or still being written."""

    text: str = ""
    sentence: str = ""
    valid: bool | None = None
    busy: bool = False
    note: str = ""
    numbers: str = ""
    failed: bool = False
    details: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """One tool server in its dialog."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    enabled: bool = True
    phase: str = "stopped"
    reason: str = ""
    tools: int = 0
