"""What widgets show: plain frozen values made by controllers from the program's state.

No Qt here. Enumerations of the program arrive as their string values. Text fields of
turns are raw Markdown. Ids are opaque strings that come back in signals.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.types import Backend, SpecMode
from ui import format as fmt
from ui import strings


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderView:
    """The line on top of every tab. One shared value; the chat header adds its extras.

    `phase`: "none", "loading", "ready". `loading_s` counts while loading; `memory` is the
    resident size of the engine process in bytes then, None when unknown. `thinking` and
    `modalities` belong to the chat and are shown only by headers made with `extras=True`.
    """

    phase: str = "none"
    model: str = ""
    backend: Backend | None = None
    context_tokens: int | None = None
    speculative: bool | None = None
    loading_s: float = 0.0
    memory: int | None = None
    thinking: bool | None = None
    modalities: str = ""

    def parts(self, extras: bool = False) -> tuple[str, ...]:
        """The parts in order, without separators; a single sentence before a load."""
        if self.phase == "none" or not self.model:
            return (strings.NO_MODEL,)
        backend = strings.BACKENDS[self.backend] if self.backend else fmt.DASH
        name = fmt.plain(self.model)
        if self.phase == "loading":
            line = strings.LOADING.format(model=name, backend=backend, seconds=self.loading_s)
            return (line, fmt.size(self.memory)) if self.memory else (line,)
        out = [name, backend]
        if self.context_tokens:
            out.append(f"context {self.context_tokens} tokens")
        if self.speculative is not None:
            out.append("speculative on" if self.speculative else "speculative off")
        if extras and self.thinking is not None:
            out.append("thinking on" if self.thinking else "thinking off")
        if extras and self.modalities:
            out.append(self.modalities)
        return tuple(out)

    def text(self, extras: bool = False) -> str:
        return fmt.DOT.join(self.parts(extras))


@dataclass(frozen=True, slots=True, kw_only=True)
class GaugeView:
    """Context use and speed. `live` marks a cumulative value that still changes (`≈`)."""

    used: int | None = None
    total: int | None = None
    elapsed_s: float | None = None
    decode_tps: float | None = None
    ttft_s: float | None = None
    live: bool = False

    def text(self) -> str:
        return fmt.gauge_line(
            used=self.used,
            total=self.total,
            elapsed_s=self.elapsed_s,
            decode_tps=self.decode_tps,
            ttft_s=self.ttft_s,
            live=self.live,
        )

    @property
    def nearly_full(self) -> bool:
        return fmt.is_nearly_full(self.used, self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterView:
    """Numbers under an answer. `stop_reason` is a phrase of `strings.STOP_REASONS`.

    `details` are (label, value) pairs of the run record, shown on demand.
    """

    decode_tps: float | None = None
    prefill_tps: float | None = None
    ttft_s: float | None = None
    tokens: int | None = None
    tokens_per_step: float | None = None
    stop_reason: str = ""
    speculative: bool | None = None
    backend: str = ""
    form: str = ""
    """Whether the answer has the form it was asked for, as a sentence; "" for free text."""
    form_ok: bool | None = None
    details: tuple[tuple[str, str], ...] = ()

    def parts(self) -> tuple[str, ...]:
        return fmt.footer_parts(
            decode_tps=self.decode_tps,
            prefill_tps=self.prefill_tps,
            ttft_s=self.ttft_s,
            tokens=self.tokens,
            tokens_per_step=self.tokens_per_step if self.speculative else None,
        )

    def text(self) -> str:
        spec = () if self.speculative is None else (strings.spec_words(self.speculative),)
        tail = tuple(p for p in (self.backend, self.stop_reason, self.form) if p)
        return fmt.DOT.join(self.parts() + spec + tail)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentView:
    """An image or sound of a turn. `path` is a local file we stored ourselves (thumbnail)."""

    id: str
    kind: str
    name: str
    bytes: int = 0
    path: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStepView:
    """One tool call. `state`: running, done, refused, failed, unknown."""

    name: str
    arguments: str
    result: str = ""
    state: str = "done"
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """One turn of the active path. `role`: user or assistant. `status` is the value of
    the program's turn status (done, streaming, stopped, limit, context_full, failed,
    interrupted). `waiting` is the state of the chat while no text has come yet."""

    node_id: str
    role: str
    text: str = ""
    thought: str = ""
    attachments: tuple[AttachmentView, ...] = ()
    tool_steps: tuple[ToolStepView, ...] = ()
    footer: FooterView | None = None
    version_index: int = 0
    version_count: int = 1
    status: str = "done"
    error: str = ""
    error_details: str = ""
    can_continue: bool = False
    dropped: bool = False
    """True: this turn is no longer sent to the model (oldest turns dropped)."""
    waiting: str = ""


@dataclass(frozen=True, slots=True)
class NoticeAction:
    """A button of a notice; `id` comes back in the signal."""

    id: str
    label: str
    primary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeView:
    """One message to the person. `level`: info, warn, bad. `timeout_s` 0 stays."""

    id: str
    headline: str
    text: str = ""
    level: str = "info"
    details: str = ""
    actions: tuple[NoticeAction, ...] = ()
    dismissible: bool = True
    timeout_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TabView:
    """The tab of one open conversation; `speculative` None shows no pill (no MTP model)."""

    key: str
    title: str
    speculative: bool | None = None
    busy: bool = False

    def text(self) -> str:
        """Title and pill as words, for accessible names: `Dinner · spec off`."""
        title = fmt.plain(self.title, 80) or "New chat"
        if self.speculative is None:
            return title
        return f"{title} · {strings.spec_words(self.speculative)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecChoice:
    """The speculative picker. `available` False hides it (no drafter in the file).

    `texts` tells per mode what was measured here (or that nothing was)."""

    available: bool = False
    mode: SpecMode = SpecMode.OFF
    texts: dict[SpecMode, str] = field(default_factory=dict)

    def text_of(self, mode: SpecMode) -> str:
        return self.texts.get(mode, strings.NOT_MEASURED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposerView:
    """Everything about the input box but the text. `attach` names what may be attached
    ("image", "audio"); empty: the button is disabled with `attach_reason`."""

    state: str = "idle"
    can_send: bool = True
    spec: SpecChoice = SpecChoice()
    attach: tuple[str, ...] = ()
    attach_reason: str = ""
    tokens: int | None = None
    """Tokens of the text in the box, None when not counted."""

    @property
    def busy(self) -> bool:
        return self.state in ("queued", "loading", "prefill", "decoding", "stopping")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendChoice:
    """A backend card. A `reason` other than "" disables it and is shown."""

    backend: Backend
    text: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCardView:
    """A model in a list. `badges` are words (MTP, thinking, vision, audio, tools, text);
    `problem` says why it cannot be loaded ("" when it can)."""

    id: str
    name: str
    path: str = ""
    badges: tuple[str, ...] = ()
    summary: str = ""
    problem: str = ""
    group: str = ""
    loaded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDialogView:
    """What the load dialog offers for one model. `summary` is the line under the title.

    `spec_texts` tells what was measured on each backend; without it `spec.texts` hold."""

    model: str
    path: str
    summary: str = ""
    backends: tuple[BackendChoice, ...] = ()
    backend: Backend = Backend.CPU
    spec: SpecChoice = SpecChoice()
    spec_texts: dict[Backend, dict[SpecMode, str]] = field(default_factory=dict)
    context_tokens: int = 4096
    min_context: int = 256
    max_context: int | None = None
    threads: int = 0
    max_threads: int = 64
    cache: str = "disk"
    caches: tuple[str, ...] = ("disk", "memory", "no")
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadChoice:
    """What the person chose. `threads` 0 leaves the count to the engine."""

    path: str
    backend: Backend
    spec: SpecMode
    context_tokens: int
    threads: int
    cache: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PickerView:
    """The model picker: cards are grouped by their `group`, in the order given."""

    cards: tuple[ModelCardView, ...] = ()
    selected: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutView:
    """Versions shown in the about box as (label, value) pairs, and licence texts."""

    version: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    licences: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PrintPart:
    """Something to be printed. `kind`: markdown, plain (a person's words as they were typed)
    or title."""

    text: str
    kind: str = "markdown"
