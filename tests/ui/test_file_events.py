"""macOS hands files over as events, also before there is a window."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from app import file_events
from app.file_events import FileOpenEvents


def test_early_and_late_files_arrive_in_order(qapp: QApplication) -> None:
    events = FileOpenEvents(qapp)
    if not file_events.WATCHES:  # only macOS has them, so only there every event is looked at
        qapp.installEventFilter(events)
    got: list[str] = []
    QCoreApplication.sendEvent(qapp, QFileOpenEvent(QUrl.fromLocalFile("/models/ß one.litertlm")))
    assert got == []
    events.deliver_to(got.append)
    QCoreApplication.sendEvent(qapp, QFileOpenEvent(QUrl.fromLocalFile("/models/two.litertlm")))
    assert got == ["/models/ß one.litertlm", "/models/two.litertlm"]
    qapp.removeEventFilter(events)
