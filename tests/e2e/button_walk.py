"""Presses every button, command and menu entry of the real window and judges what follows.

After each press: no failure went unsaid, what was said is a plain sentence, nothing hangs, and the
window can be used. `Walk.findings` are lines; an empty list is good.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QDialog,
    QFileDialog,
    QLabel,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QTextEdit,
    QToolButton,
    QWidget,
)
from shiboken6 import isValid

from tests.fakes.faults_behind import Fault
from tests.ui import looking

SORRY = re.compile(
    r"could not|cannot|failed|not (saved|loaded|sent|read|written|kept|made|deleted|opened)|"
    r"no (answer|program|room)|went wrong|unreadable|stopped|ended with|damaged|does not",
    re.IGNORECASE,
)
QUIET_S = 2.0
PATIENCE_S = 8.0
"""A busy machine may say it late."""
SAVING = "HistoryDatabase.transaction"
"""Said once, not again with every change while it lasts."""
LOUD = bool(os.environ.get("TANDEM_TEST_LOUD"))
SHARED = re.compile(r"(Settings|Choose a model…|Switch model…|Tool servers…|Choose file…|Close) #|"
                    r"Use \w+ #|Schema of|Ask before")  # fmt: skip
"""On several tabs and pages; pressed once."""
ALIKE = re.compile(r"E4B|Gemma 3|Qwen|DeepSeek|convert_units|get_battery|get_device_info")
"""As others are; not pressed."""


def key_of(widget: QWidget) -> str:
    name = looking.name_of(widget) or widget.toolTip() or widget.objectName()
    return f"{type(widget).__name__} {name}"


def controls(top: QWidget) -> Iterator[tuple[str, QWidget]]:
    """What can be pressed, each with a name that finds it again."""
    seen: dict[str, int] = {}
    for widget in looking.shown(top):
        if not isinstance(widget, QAbstractButton | QComboBox) or not widget.isEnabled():
            continue
        key = key_of(widget)
        seen[key] = seen.get(key, 0) + 1
        yield f"{key} #{seen[key]}", widget


def with_context_menus(top: QWidget) -> Iterator[tuple[str, QWidget]]:
    names = {"ModelCard", "MessageBody"}
    for number, widget in enumerate(looking.shown(top)):
        if type(widget).__name__ in names or isinstance(widget, QAbstractItemView):
            yield f"menu of {type(widget).__name__} {number}", widget


def texts() -> Counter[str]:
    """Every piece of text now on the screen."""
    out: Counter[str] = Counter()
    for top in QApplication.topLevelWidgets():
        if not top.isVisible():
            continue
        for widget in top.findChildren(QWidget):
            if isinstance(widget, QLabel | QAbstractButton) and widget.isVisible():
                out[widget.text()] += 1
            elif isinstance(widget, QPlainTextEdit | QTextEdit) and widget.isVisible():
                out[widget.toPlainText()] += 1
    return out


def menu_of(control: QWidget | None) -> QMenu | None:
    """The menu that hangs on a button, filled."""
    menu = control.menu() if isinstance(control, QPushButton | QToolButton) else None
    if menu is not None:
        menu.aboutToShow.emit()
    return menu


def click(control: QWidget) -> None:
    if control.isVisible() and control.isEnabled():
        QTest.mouseClick(control, Qt.MouseButton.LeftButton)


def ask_for_menu(widget: QWidget) -> None:
    """What a right click does, at the first entry of a list."""
    target, at = widget, QPoint(min(30, widget.width() // 2), min(14, widget.height() // 2))
    if isinstance(widget, QAbstractItemView):
        target = widget.viewport()
        for row in range(widget.model().rowCount()):
            place = widget.visualRect(widget.model().index(row, 0))
            if place.isValid() and place.height() > 24:
                at = place.center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, target.mapToGlobal(at))
    QApplication.sendEvent(target, event)


Find = Callable[[], Awaitable[QWidget | None]]


class Walk:
    """Presses one control after another and writes down what is wrong."""

    def __init__(self, program: Any, fault: Fault) -> None:
        self.program = program
        self.window = program.window
        self.services = program.services
        self.fault = fault
        self.findings: list[str] = []
        self.pressed = 0
        self.known: set[str] = set()
        self.said: list[str] = []
        self.folder = Path(os.environ["TANDEM_HOME"]).parent
        post = self.services.notices.post

        def hear(notice: Any) -> None:
            self.said.append(notice.text)
            self._judge(notice)
            post(notice)

        self.services.notices.post = hear
        self.now = ""

    def _judge(self, notice: Any) -> None:
        text = notice.text
        if not text.strip() or "\n" in text or "Traceback" in text or "Error(" in text:
            self.findings.append(f"{self.now}: no plain sentence: {text!r}")
        if notice.key == "uncaught" and self.fault.expected:
            self.findings.append(f"{self.now}: a foreseen failure was not explained: "
                                 f"{notice.detail} {self.fault.raised[-3:]}")  # fmt: skip

    # -- waiting ---------------------------------------------------------------------

    def _busy(self) -> bool:
        waiting = [t for t in asyncio.all_tasks() if t is not self._me and not t.done()]
        active = any(str(s.state) in ("queued", "checking", "running")
                     for s in self.program.library.library.fetch.status.values())  # fmt: skip
        asking = [w for w in QApplication.topLevelWidgets()
                  if isinstance(w, QDialog) and w.isVisible()]  # fmt: skip
        return len(waiting) > self._tasks + len(asking) or (active and not asking)

    async def quiet(self) -> None:
        """Until nothing is on its way any more, or a dialog asks something."""
        end = time.monotonic() + QUIET_S
        calm = 0
        while calm < 3 and time.monotonic() < end:
            await asyncio.sleep(0.008)
            calm = 0 if self._busy() else calm + 1

    def questions(self) -> list[QDialog]:
        tops = [w for w in QApplication.topLevelWidgets() if w.isVisible()]
        return [w for w in tops if type(w).__name__ == "AskDialog" or isinstance(w, QFileDialog)]

    async def start(self) -> None:
        self._me = asyncio.current_task()
        await asyncio.sleep(0.3)
        self._tasks = len([t for t in asyncio.all_tasks() if t is not self._me])

    # -- pressing --------------------------------------------------------------------

    async def press(self, what: str, act: Callable[[], object]) -> None:
        """One press with everything it leads to, and the judgement of it."""
        self.now, self.pressed = what, self.pressed + 1
        if LOUD:
            print("press", what, flush=True)
        for notice in self.services.notices.open:
            self.services.notices.dismiss(notice.key)
        before, shown, failed_turns = len(self.fault.raised), texts(), self.failed_turns()
        del self.said[:]
        self.fault.armed = True
        try:
            act()
            await self.quiet()
            asked = False
            for _ in range(4):
                questions = self.questions()
                if not questions:
                    break
                asked |= any(SORRY.search(t) for t in texts() - shown)
                self.answer(questions[-1])
                await self.quiet()
            with contextlib.suppress(RuntimeError):
                await self.services.settings.flush()

            def told() -> bool:
                fresh = any(SORRY.search(t) for t in texts() - shown)
                return bool(self.said or asked or fresh or self.failed_turns() - failed_turns)

            failed = set(self.fault.raised[before:])
            failed -= {SAVING} if self.fault.expected else set()
            end = time.monotonic() + PATIENCE_S
            while failed and not told() and time.monotonic() < end:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            if failed and not told():
                self.findings.append(f"{what}: nothing was said of {sorted(failed)}")
        except Exception as problem:
            self.findings.append(f"{what}: raised {problem!r}")
        finally:
            self.fault.armed = False
        await self.usable(what)

    def failed_turns(self) -> set[str]:
        nodes = [n for c in self.services.chats.chats for n in c.conversation.nodes.values()]
        return {n.id for n in nodes if n.error}

    def answer(self, dialog: QDialog) -> None:
        if isinstance(dialog, QFileDialog):
            dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)
            if dialog.acceptMode() is QFileDialog.AcceptMode.AcceptSave:
                dialog.selectFile(str(self.folder / f"out-{self.pressed}{self._ending(dialog)}"))
            elif dialog.fileMode() is not QFileDialog.FileMode.Directory:
                dialog.selectFile(str(self.folder / "chosen.json"))
            dialog.accept()
            return
        buttons = [b for b in dialog.findChildren(QAbstractButton) if b.isVisible()]
        main = [b for b in buttons if b.property("kind") == "primary"] or buttons[-1:]
        if main:
            main[0].click()
        else:
            dialog.reject()

    @staticmethod
    def _ending(dialog: QFileDialog) -> str:
        return Path(dialog.selectedFiles()[0]).suffix if dialog.selectedFiles() else ""

    async def usable(self, what: str) -> None:
        """Nothing runs on, nothing lies over the window, and a person can type."""
        for chat in self.services.chats.chats:
            if chat.busy:
                chat.stop()
                await chat.wait()
        if not self.window.isVisible() or not self.window.isEnabled():
            self.findings.append(f"{what}: the window is gone")
        current = self.services.chats.current()
        page = self.services.chats.page(current.key) if current is not None else None
        if page is None or not page.composer.edit.isEnabled() or page.composer.edit.isReadOnly():
            self.findings.append(f"{what}: nobody can type a message")

    # -- places ----------------------------------------------------------------------

    async def place(self, name: str, open_it: Callable[[], Awaitable[QWidget | None]]) -> None:
        """Presses each control of a place, opening it anew when a press left it."""
        top = await open_it()
        if top is None:
            self.findings.append(f"{name}: does not open")
            return
        for kind, one in ((controls, self._one), (with_context_menus, self._menu_at)):
            top = await self._there(top, open_it)
            done: list[str] = []
            for key in self._new_keys(kind(top)) if top is not None else []:
                number = len(done)
                done.append(key)
                last: list[QWidget] = []

                async def find(
                    key: str = key, kind: Any = kind, number: int = number, last: Any = last
                ) -> QWidget | None:
                    """Also after its name changed: the same widget, or the one in its place."""
                    nonlocal top
                    top = await self._there(top, open_it)
                    if top is None:
                        return None
                    if last and isValid(last[0]) and last[0].isVisible():
                        return last[0] if last[0].isEnabled() else None
                    now = list(kind(top))
                    found = dict(now).get(key)
                    if found is None and last and number < len(now):
                        found = now[number][1]
                    last[:] = [found] if found is not None else []
                    return found

                await one(f"{name}: {key}", find)
        await self.close_all()

    def _new_keys(self, found: Iterator[tuple[str, QWidget]]) -> list[str]:
        keys = [k for k, _ in found if not ALIKE.search(k)]
        keys = [k for k in keys if not SHARED.search(k) or k not in self.known]
        self.known.update(keys)
        return keys

    async def _there(
        self, top: QWidget | None, open_it: Callable[[], Awaitable[QWidget | None]]
    ) -> QWidget | None:
        fine = top is not None and isValid(top) and top.isVisible() and not self._over(top)
        if fine and top is not self.window:
            return top
        if not fine:
            await self.close_all()
        return await open_it()

    def _over(self, top: QWidget) -> bool:
        dialogs = [w for w in QApplication.topLevelWidgets()
                   if isinstance(w, QDialog) and w.isVisible() and w is not top]  # fmt: skip
        return bool(dialogs)

    async def close_all(self) -> None:
        for _ in range(4):
            open_ = [w for w in QApplication.topLevelWidgets()
                     if isinstance(w, QDialog) and w.isVisible()]  # fmt: skip
            if not open_:
                return
            for dialog in open_:
                if isValid(dialog):
                    dialog.reject()
            await asyncio.sleep(0.02)

    async def _one(self, what: str, find: Find) -> None:
        control = await find()
        if isinstance(control, QComboBox):
            if control.count() > 1:
                following = (control.currentIndex() + 1) % control.count()

                def choose() -> None:
                    control.setCurrentIndex(following)
                    control.activated.emit(following)

                await self.press(what, choose)
            return
        menu = menu_of(control)
        if menu is not None:
            for number in range(len(menu.actions())):
                menu = menu_of(await find())
                if menu is not None and number < len(menu.actions()):
                    await self._trigger(what, menu.actions()[number])
        elif control is not None:
            await self._with_popup(what, find, click)

    async def _menu_at(self, what: str, find: Find) -> None:
        await self._with_popup(what, find, ask_for_menu)

    async def _with_popup(self, what: str, find: Find, act: Callable[[QWidget], object]) -> None:
        """Presses, and if a menu opens triggers its entries, opening it anew for each."""
        control = await find()
        if control is None:
            return
        await self.press(what, lambda: act(control))
        menu = QApplication.activePopupWidget()
        for number in range(len(menu.actions()) if isinstance(menu, QMenu) else 0):
            if number and (again := await find()) is not None:
                act(again)
                await asyncio.sleep(0.01)
            menu = QApplication.activePopupWidget()
            entries = menu.actions() if isinstance(menu, QMenu) else []
            if number < len(entries):
                menu.hide()
                await self._trigger(what, entries[number])
        if (left := QApplication.activePopupWidget()) is not None:
            left.hide()

    async def _trigger(self, what: str, action: QAction) -> None:
        if action.isSeparator() or not action.isEnabled() or not action.isVisible():
            return
        text = action.text().replace("&", "")
        if action.menu() is not None:
            for inner in action.menu().actions():
                await self._trigger(f"{what} › {text}", inner)
            return
        await self.press(f"{what} › {text}", action.trigger)
        await self.close_all()


def chosen_file(folder: Path) -> None:
    (folder / "chosen.json").write_text("{}", encoding="utf-8")
