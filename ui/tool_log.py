"""The log of one or more questions, and the card that asks for consent.

Entries are plain selectable text; one with the key of an older one replaces it in place, so
a streaming answer grows. Follows the end only while the reader is at the end.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from ui import format as fmt
from ui import tool_strings as words
from ui.controls import Card, announce, button, label, restyle
from ui.theme import theme
from ui.tool_page import PageArea, TallPage
from ui.tool_views import ConsentView, LogEntryView

MAX_ENTRIES = 400
MAX_SHOWN_CHARS = 4_000
MAX_CONSENT_CHARS, MAX_CONSENT_WORD = 600, 60
"""Longer arguments, or longer words in them, come in a box of their own."""

_MONO = frozenset({"call", "result"})
_LONG = frozenset({"call", "result", "error"})


class LogEntry(QWidget):
    """One line: what it is, its text, and the seconds it took."""

    def __init__(self) -> None:
        super().__init__()
        self.head = label("", "strong13")
        self.text = label("", "", wrap=True)
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.seconds = label("", "small")
        self.numbers = label("", "small", wrap=True)
        for part in (self.text, self.numbers):
            # A long word must not widen the page beyond its view; the tooltip has it all.
            part.setMinimumWidth(40)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.text, 1)
        line.addWidget(self.seconds, 0, Qt.AlignmentFlag.AlignTop)
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(2)
        body.addWidget(self.head)
        body.addLayout(line)
        body.addWidget(self.numbers)

    def set_view(self, view: LogEntryView) -> None:
        head, text = _head_and_text(view)
        self.head.setText(head)
        self.head.setVisible(bool(head))
        self.text.setText(_shown(fmt.words(text)))
        self.text.setToolTip(fmt.tip((view.details or text)[:2000]) if view.kind in _LONG else "")
        mono = view.kind in _MONO
        # An inline style sheet wins over the application's size for every label.
        family = f"font-family: '{theme().mono_family}';" if mono else ""
        size = theme().px(13 if mono else 14)
        self.text.setStyleSheet(f"{family} font-size: {size}px;")
        restyle(self.text, kind=_kind(view))
        self.seconds.setText(_seconds(view.seconds))
        self.numbers.setText(view.numbers)
        self.numbers.setVisible(bool(view.numbers))
        self.setAccessibleName(f"{head} {text[:500]}".strip())
        margin = theme().px(12) if view.kind == "you" else 0
        layout = self.layout()
        if layout is not None:
            layout.setContentsMargins(0, margin, 0, 0)


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f} s" if value >= 0.005 else "< 0.01 s"


def _kind(view: LogEntryView) -> str:
    if view.kind == "error" or (view.kind == "result" and view.state != "done"):
        return "bad"
    return {"note": "warn", "result": "muted", "stopped": "muted", "waiting": "muted"}.get(
        view.kind, ""
    )


def _head_and_text(view: LogEntryView) -> tuple[str, str]:
    if view.kind == "call":
        return "", words.CALL.format(name=view.name, arguments=view.text)
    if view.kind == "result":
        state = words.STATES.get(view.state, "")
        return "", words.RESULT.format(result=f"{state}: {view.text}" if state else view.text)
    if view.kind == "error":
        return "", words.ERROR.format(sentence=view.text)
    heads = {"you": words.YOU, "model": words.MODEL, "model_no_call": words.MODEL_NO_CALL}
    return heads.get(view.kind, ""), view.text


def _shown(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 1] + "…"


class ConsentCard(Card):
    """Asks for one call. `answered(id, "once" | "always" | "refuse")` fires once."""

    answered = Signal(str, str)

    def __init__(self, view: ConsentView) -> None:
        super().__init__(tone="warn", gap=8)
        self.view = view
        form = words.CONSENT_FROM if view.source else words.CONSENT
        title = form.format(name=view.name, source=fmt.plain(view.source, 60))
        self.setAccessibleName(title)
        self.body.addWidget(label(title, "strong", wrap=True))
        self.body.addWidget(_arguments(view.arguments))
        row = QHBoxLayout()
        row.setSpacing(8)
        self.buttons = {}
        for answer, text in (
            ("once", words.ALLOW_ONCE),
            ("always", words.ALWAYS),
            ("refuse", words.REFUSE),
        ):
            # Neither is the default: a Return meant for the input box must not allow a call.
            out = button(text, "small", lambda a=answer: self._choose(a))  # type: ignore[misc]
            row.addWidget(out)
            self.buttons[answer] = out
        row.addStretch(1)
        self.body.addLayout(row)

    def _choose(self, answer: str) -> None:
        self.setEnabled(False)
        self.answered.emit(self.view.id, answer)


def _arguments(text: str) -> QWidget:
    """All of what is agreed to: on the card, or in a box to scroll when it is long."""
    text = fmt.visible(text)
    style = f"font-family: '{theme().mono_family}'; font-size: {theme().px(13)}px;"
    longest = max(map(len, text.split()), default=0)
    if len(text) > MAX_CONSENT_CHARS or longest > MAX_CONSENT_WORD:
        box = QPlainTextEdit(text)
        box.setReadOnly(True)
        box.setProperty("kind", "field")
        box.setAccessibleName(words.ARGUMENTS)
        box.setFixedHeight(theme().px(120))
        box.setStyleSheet(style)
        return box
    shown = label(text, "", wrap=True)
    shown.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse
        | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    shown.setStyleSheet(style)
    return shown


class ToolLog(PageArea):
    """All entries, oldest first, with the open consent at the end."""

    consent_answered = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(words.LOG_NAME)
        self.entries: dict[str, LogEntry] = {}
        self.consent: ConsentCard | None = None
        self._page = TallPage()
        self._body = self._page.body
        self._body.setContentsMargins(0, 0, 12, 8)
        self._body.setSpacing(6)
        self.empty: QLabel = label(words.EMPTY_LOG, "muted", wrap=True)
        self._body.addWidget(self.empty)
        self._body.addStretch(1)
        self.setWidget(self._page)
        self._follow = True
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(self._on_scrolled)
        bar.rangeChanged.connect(self._on_range)

    def put(self, view: LogEntryView) -> None:
        """Adds an entry or replaces the one with the same key."""
        entry = self.entries.get(view.key)
        if entry is None:
            entry = LogEntry()
            self.entries[view.key] = entry
            at = self._body.count() - 1 - (1 if self.consent is not None else 0)
            self._body.insertWidget(at, entry)
            self.empty.hide()
            if len(self.entries) > MAX_ENTRIES:
                self.remove(next(iter(self.entries)))
        entry.set_view(view)

    def remove(self, key: str) -> None:
        entry = self.entries.pop(key, None)
        if entry is not None:
            self._body.removeWidget(entry)
            entry.hide()
            entry.deleteLater()

    def clear(self) -> None:
        for key in list(self.entries):
            self.remove(key)
        self.empty.show()

    def texts(self) -> list[str]:
        """What is shown, line by line (for tests and for copying)."""
        out = []
        for entry in self.entries.values():
            head = f"{entry.head.text()} " if entry.head.text() else ""
            out.append(head + entry.text.text())
        return out

    def set_consent(self, view: ConsentView | None) -> None:
        if self.consent is not None:
            self._body.removeWidget(self.consent)
            self.consent.hide()
            self.consent.deleteLater()
            self.consent = None
        if view is not None:
            self.consent = ConsentCard(view)
            self.consent.answered.connect(self.consent_answered)
            self._body.insertWidget(self._body.count() - 1, self.consent)
            self._follow = True
            announce(self, words.ANNOUNCE_CONSENT.format(name=view.name), assertive=True)

    def _on_scrolled(self, value: int) -> None:
        self._follow = value >= self.verticalScrollBar().maximum() - 4

    def _on_range(self, _low: int, high: int) -> None:
        if self._follow:
            self.verticalScrollBar().setValue(high)
