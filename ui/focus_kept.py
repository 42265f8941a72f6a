"""The keyboard's place while parts of a window are made anew. Main thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QWidget


@contextmanager
def focus_kept(root: QWidget) -> Iterator[None]:
    """Around work that replaces widgets in `root`: if the focus was in it, the new widget of the
    same name gets it, else the one that stands in its place. Without this Qt drops it."""
    at = root.window().focusWidget()  # also while another window is in front
    if at is None or not root.isAncestorOf(at):
        yield
        return
    name, before = _name(at), _able(root)
    place = before.index(at) if at in before else 0
    yield
    if root.window().focusWidget() is at and root.isAncestorOf(at):
        return
    able = _able(root)
    same = [w for w in able if name and _name(w) == name]
    for widget in (*same, *able[min(place, len(able) - 1) :][:1]):
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        return


def _name(widget: QWidget) -> str:
    text = widget.text() if isinstance(widget, QAbstractButton) else ""
    return widget.accessibleName() or text


def _able(root: QWidget) -> list[QWidget]:
    """What Tab could come to in `root`, in the order in which it was made."""
    tab = Qt.FocusPolicy.TabFocus.value
    return [
        w
        for w in root.findChildren(QWidget)
        if w.focusPolicy().value & tab and w.isEnabled() and w.isVisibleTo(root)
    ]
