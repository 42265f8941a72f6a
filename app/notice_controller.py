"""Shows the program's notices in the window and runs what their buttons ask for."""

from __future__ import annotations

from app.notices import Level, Notice, Notices
from ui.main_window import MainWindow
from ui.views import NoticeAction, NoticeView

_LEVELS = {Level.INFO: "info", Level.WARNING: "warn", Level.ERROR: "bad"}


class NoticeController:
    """Main thread. Action ids are positions in the notice's own tuple."""

    def __init__(self, window: MainWindow, notices: Notices) -> None:
        self._window = window
        self._notices = notices
        self._shown: dict[str, Notice] = {}
        notices.subscribe(self._refresh)
        window.notice_action.connect(self._on_action)
        window.notice_dismissed.connect(notices.dismiss)
        self._refresh()

    def _refresh(self) -> None:
        wanted = {n.key: n for n in self._notices.open}
        for key in [k for k in self._shown if k not in wanted]:
            del self._shown[key]
            self._window.clear_notice(key)
        for key, notice in wanted.items():
            if self._shown.get(key) is not notice:
                self._shown[key] = notice
                self._window.show_notice(notice_view(notice))

    def _on_action(self, key: str, action_id: str) -> None:
        notice = self._shown.get(key)
        if notice is None or not action_id.isdigit():
            return
        action = notice.actions[int(action_id)]
        if not action.keep:
            self._notices.dismiss(key)
        action.run()


def notice_view(notice: Notice) -> NoticeView:
    return NoticeView(
        id=notice.key,
        headline=notice.title,
        text=notice.text,
        level=_LEVELS[notice.level],
        details=notice.detail,
        actions=tuple(
            NoticeAction(str(i), a.label, a.primary) for i, a in enumerate(notice.actions)
        ),
        timeout_s=notice.seconds or 0.0,
    )
