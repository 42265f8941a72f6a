"""Rows and sections of the settings dialog: a name, a line of text, a control."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from ui import format as fmt
from ui import strings_history as words
from ui.controls import button, label


class SettingRow(QWidget):
    """One setting. `matches` is for the search: name, text and extra `keywords`."""

    def __init__(
        self, name: str, control: QWidget | None, text: str = "", keywords: str = ""
    ) -> None:
        super().__init__()
        self._words = f"{name} {text} {keywords}".casefold()
        title = label(name, "", wrap=True)
        texts = self._texts = QVBoxLayout()  # kept: the soak crashed twice freeing such a layout
        texts.setSpacing(2)
        texts.addWidget(title)
        if text:
            texts.addWidget(label(fmt.breakable(text), "small", wrap=True))
        self._control = control
        row = self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        row.setContentsMargins(0, 6, 0, 6)
        row.setSpacing(16)
        row.addLayout(texts, 1)
        if control is not None:
            title.setBuddy(control)
            control.setAccessibleName(control.accessibleName() or name)
            control.setAccessibleDescription(text)
            row.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The control stands under its words where beside them they would be squeezed."""
        super().resizeEvent(event)
        if self._control is not None:
            ways = QBoxLayout.Direction
            narrow = self._control.sizeHint().width() > self.width() * 0.55
            self._row.setDirection(ways.TopToBottom if narrow else ways.LeftToRight)
            side = Qt.AlignmentFlag.AlignLeft if narrow else Qt.AlignmentFlag.AlignVCenter
            self._row.setAlignment(self._control, side)
            self._row.setSpacing(6 if narrow else 16)

    def minimumSizeHint(self) -> QSize:
        """Narrower than the row stands now: it can stack."""
        least = self._control.minimumSizeHint().width() if self._control is not None else 0
        return QSize(max(120, least), super().minimumSizeHint().height())

    def matches(self, query: str) -> bool:
        return all(word in self._words for word in query.casefold().split())


class Section(QWidget):
    """A titled group of rows."""

    def __init__(self, key: str, title: str) -> None:
        super().__init__()
        self.key = key
        self.title = title
        self.rows: list[SettingRow] = []
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(0, 0, 0, 12)
        self.body.setSpacing(4)
        self.body.addWidget(label(title, "title"))

    def add(self, row: SettingRow) -> None:
        self.rows.append(row)
        self.body.addWidget(row)

    def filter(self, query: str) -> bool:
        """Shows the rows that match; True when there are any. The title counts for all."""
        by_title = bool(query.strip()) and all(
            word in self.title.casefold() for word in query.casefold().split()
        )
        hits = 0
        for row in self.rows:
            shown = by_title or row.matches(query)
            row.setVisible(shown)
            hits += shown
        return hits > 0


class PlaceRow(SettingRow):
    """A folder or file of the program: size, open, sometimes clear."""

    def __init__(self, key: str, path: str, text: str, clearable: bool) -> None:
        control = QWidget()
        row = QHBoxLayout(control)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.size_label = label(words.COUNTING, "muted")
        self.size_label.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        row.addWidget(self.size_label)
        self.clear = button(words.CLEAR, "small")
        self.clear.setAccessibleName(f"{words.CLEAR}: {words.PLACES[key]}")
        self.clear.setVisible(clearable)
        row.addWidget(self.clear)
        self.open = button(words.OPEN_FOLDER, "small")
        self.open.setAccessibleName(f"{words.OPEN_FOLDER}: {words.PLACES[key]}")
        row.addWidget(self.open)
        shown = fmt.plain(path)
        super().__init__(words.PLACES[key], control, f"{text}\n{shown}" if shown else text, key)

    def set_size(self, size: int | None) -> None:
        self.size_label.setText(fmt.size(size))
