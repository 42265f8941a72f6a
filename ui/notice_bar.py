"""Messages to the person, under the header: what happened, why, and the next step as buttons.

One notice is shown at a time, the most urgent and latest first; the others wait. Nothing is
lost: a notice stays until it is dismissed, acted on, withdrawn, or its time is over.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui import strings
from ui.controls import announce, button, icon_button, label, restyle
from ui.layouts import FlowLayout
from ui.theme import theme
from ui.views import NoticeView

_URGENCY = {"bad": 2, "warn": 1, "info": 0}


class _Words(QScrollArea):
    """As tall as its words, or `limit` px and scrolling where room is scarce (0: no limit)."""

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self.limit = 0
        self._content = content
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setWidget(content)

    def set_limit(self, limit: int) -> None:
        self.limit = limit
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if limit else policy.ScrollBarAlwaysOff
        )
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if limit else Qt.FocusPolicy.NoFocus)
        self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Gives the words the width there is and the height they need in it."""
        width = self.viewport().width()
        layout = self._content.layout()
        height = layout.heightForWidth(width) if layout is not None else 0
        self._content.resize(width, max(height, self.viewport().height()))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        layout = self._content.layout()
        height = layout.heightForWidth(width) if layout is not None else 0
        return min(height, self.limit) if self.limit else height

    def sizeHint(self) -> QSize:
        hint = self._content.sizeHint()
        return QSize(hint.width(), min(hint.height(), self.limit) if self.limit else hint.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(80, theme().px(18))


class NoticeBar(QFrame):
    """`show_notice` adds or replaces by id; `clear` withdraws. Signals carry (notice, action)."""

    action_triggered = Signal(str, str)
    dismissed = Signal(str)

    def __init__(self, margin: int = 20) -> None:
        super().__init__()
        self.setObjectName("notice")
        self._notices: dict[str, NoticeView] = {}
        self._shown: NoticeView | None = None
        self._headline = label("", "headline")
        self._text = label("", "", wrap=True)
        self._details = QPlainTextEdit()
        self._details.setProperty("kind", "field")
        self._details.setReadOnly(True)
        self._details.setAccessibleName(strings.DETAILS)
        self._details.setMaximumHeight(theme().px(130))
        self._details.hide()
        self._buttons = QWidget()
        self._flow = FlowLayout(self._buttons, gap=8)
        self._close = icon_button("close", strings.DISMISS, self._on_dismissed)
        inside = QWidget()
        words = QVBoxLayout(inside)
        words.setContentsMargins(0, 0, 0, 0)
        words.setSpacing(2)
        words.addStretch(1)
        words.addWidget(self._headline)
        words.addWidget(self._text)
        words.addStretch(1)
        self._inner = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._inner.setSpacing(10)
        self._words = _Words(inside)
        self._inner.addWidget(self._words, 1)
        self._inner.addWidget(self._buttons)
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addLayout(self._inner, 1)
        row.addWidget(self._close, 0, Qt.AlignmentFlag.AlignVCenter)
        self._margin = margin
        outer = QVBoxLayout(self)
        outer.setContentsMargins(margin, 9, margin - 6, 9)
        outer.addLayout(row)
        outer.addWidget(self._details)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_dismissed)
        self.hide()

    def set_compact(self, on: bool) -> None:
        """Where room is scarce the words take two lines and scroll."""
        self._words.set_limit(theme().px(34) if on else 0)
        edge = 4 if on else 9
        layout = self.layout()
        if layout is not None:
            layout.setContentsMargins(self._margin, edge, self._margin - 6, edge)

    def show_notice(self, notice: NoticeView) -> None:
        self._notices.pop(notice.id, None)
        self._notices[notice.id] = notice
        self._refresh()

    def clear(self, notice_id: str) -> None:
        if self._notices.pop(notice_id, None) is not None:
            self._refresh()

    def current(self) -> NoticeView | None:
        return self._shown

    def _refresh(self) -> None:
        order = sorted(
            enumerate(self._notices.values()), key=lambda p: (_URGENCY.get(p[1].level, 0), p[0])
        )
        notice = order[-1][1] if order else None
        if notice == self._shown:
            return
        self._shown = notice
        self._timer.stop()
        self._details.hide()
        if notice is None:
            self.hide()
            return
        restyle(self, level=notice.level)
        restyle(self._headline, level=notice.level)
        self._headline.setText(fmt.plain(notice.headline))
        self._headline.setVisible(bool(notice.headline))
        self._text.setText(fmt.words(notice.text))
        self._words.setAccessibleName(self._headline.text() or self._text.text())
        self._text.setVisible(bool(notice.text))
        self._details.setPlainText(fmt.clean_text(notice.details))
        self._fill_buttons(notice)
        self._close.setVisible(notice.dismissible)
        self.show()
        if notice.timeout_s > 0:
            self._timer.start(int(notice.timeout_s * 1000))
        announce(self, f"{notice.headline}. {notice.text}", assertive=notice.level == "bad")

    def _fill_buttons(self, notice: NoticeView) -> None:
        while (item := self._flow.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        if notice.details:
            self._flow.addWidget(button(strings.DETAILS, "small", self._on_details))
        for action in notice.actions:
            out = button(action.label, "primary" if action.primary else "small")
            if action.primary:
                out.setProperty("small", "true")
            out.clicked.connect(
                lambda _=False, i=action.id: self.action_triggered.emit(notice.id, i)
            )
            self._flow.addWidget(out)
        self._buttons.setVisible(self._flow.count() > 0)
        self._words.updateGeometry()
        self._words.fit()
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Buttons stand beside the words, or under them when there is little room."""
        ways = QBoxLayout.Direction
        narrow = self.width() - self._flow.sizeHint().width() < theme().px(360)
        self._inner.setDirection(ways.TopToBottom if narrow else ways.LeftToRight)
        side = Qt.AlignmentFlag.AlignLeft if narrow else Qt.AlignmentFlag.AlignVCenter
        self._inner.setAlignment(self._buttons, side)

    def _on_details(self) -> None:
        self._details.setVisible(not self._details.isVisible())

    def _on_dismissed(self) -> None:
        if self._shown is not None:
            gone = self._shown.id
            self.clear(gone)
            self.dismissed.emit(gone)
