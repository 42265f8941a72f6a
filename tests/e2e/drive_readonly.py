"""The real window and engine on folders that cannot be written.

`python -m tests.e2e.drive_readonly running` makes them read-only under the running program;
`parts` and `everything` start on what that left behind, made read-only. A failed `assert` ends the
process with code 1.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.conversation import TurnStatus
from app.gui import Program
from app.notices import Notices
from app.paths import Paths
from tests.e2e.scenarios import Person

FINE = (TurnStatus.DONE, TurnStatus.LIMIT, TurnStatus.CONTEXT_FULL)
QUESTION = "What is a boat?"


def set_modes(paths: Paths, folder: int, file: int) -> None:
    for top in (paths.config, paths.data, paths.cache, paths.logs):
        for at in (top, *top.rglob("*")):
            if not at.is_symlink() and not at.is_socket():
                at.chmod(folder if at.is_dir() else file)


@contextmanager
def read_only(paths: Paths) -> Iterator[None]:
    set_modes(paths, 0o500, 0o400)
    try:
        yield
    finally:
        for top in (paths.config, paths.data, paths.cache, paths.logs):
            top.chmod(0o700)
        set_modes(paths, 0o700, 0o600)


class Heard:
    """How often each notice was posted, and its words."""

    def __init__(self, notices: Notices) -> None:
        self.times: Counter[str] = Counter()
        self.texts: dict[str, str] = {}
        post = notices.post

        def hear(notice: Any) -> None:
            self.times[notice.key] += 1
            self.texts[notice.key] = notice.text
            assert "\n" not in notice.text, notice
            assert "Traceback" not in notice.detail, notice
            post(notice)

        notices.post = hear  # type: ignore[method-assign]


async def changes(me: Person) -> None:
    """Three changes of the settings, each long enough ago to be written."""
    for theme in ("dark", "light", "dark"):
        me.services.settings.change(theme=theme)
        await me.services.settings.flush()


async def running(me: Person, heard: Heard) -> None:
    """Everything becomes read-only while the program runs: said once, and it goes on."""
    await me.ready()
    assert (await me.ask(QUESTION)).status in FINE
    await me.services.settings.flush()
    await me.services.history.flush()
    library, paths = me.program.library, me.services.paths
    elsewhere = Path(os.environ["TANDEM_HOME"]).parent / "other.litertlm"
    shutil.copyfile(str(me.services.state.info.path), elsewhere)
    await library.library.add_opened(str(elsewhere))
    with read_only(paths):
        await changes(me)
        assert heard.times["settings_not_saved"] == 1, heard.times
        me.services.models.restart()
        await me.until(lambda: me.services.state.loaded is None)
        await me.ready()
        assert heard.times["loaded_note"] == 1, heard.times
        answer = await me.ask("And a ship?")
        assert answer.status in FINE, answer
        await library.removal.copy_in(str(elsewhere))
        assert "could not be copied" in heard.texts["models:copied"]
        await library.library.forget(str(elsewhere))
        await library.library.add_opened(str(elsewhere))
        await asyncio.sleep(0.05)
        assert heard.times["models:records"] == 1, heard.times
        await me.program.history.transfer.write([me.chat.conversation], paths.data / "export.md")
        assert "not" in heard.texts["transfer"]
        assert heard.times["uncaught"] == 0, heard.texts
    await changes(me)
    assert heard.times["settings_not_saved"] == 1
    answer = await me.ask("And a raft?")
    assert answer.status in FINE, answer
    await me.services.history.flush()
    assert not me.services.history.unsaved


async def parts(me: Person, heard: Heard) -> None:
    """Started with caches, logs, models and the history's file read-only: what is there is
    shown, the rest is said once."""
    await me.ready()
    assert not me.services.paths.temporary
    await me.until(lambda: me.program.history.ready)
    titles = [item.title for item in me.program.history.sidebar.model.items().values()]
    assert any(QUESTION.rstrip("?") in t for t in titles), titles
    assert (await me.ask("Is it quiet here?")).status in FINE
    await me.services.history.flush()
    again = await me.services.history.load(me.chat.key)
    assert again is not None
    assert again.path()[-1].text == me.last().text, "kept in memory"
    assert heard.times == {"history_read_only": 1, "loaded_note": 1}, heard.texts


async def everything(me: Person, heard: Heard) -> None:
    """Started where nothing can be written: another place for this run, and it is named."""
    await me.ready()
    place = me.services.paths
    assert place.temporary
    assert (await me.ask("Is it quiet here?")).status in FINE
    await changes(me)
    assert heard.times == {"temporary_home": 1, "welcome": 1}, heard.texts
    assert str(place.data.parent) in heard.texts["temporary_home"]


def lock_up(paths: Paths, name: str) -> None:
    """Read-only as on another person's disk: not even its modes can be changed."""
    if name == "everything":
        set_modes(paths, 0o500, 0o400)
    elif name == "parts":
        for top in (paths.cache, paths.logs, paths.models):
            for at in (*top.rglob("*"), top):
                at.chmod(0o500 if at.is_dir() else 0o400)
        paths.history_file.chmod(0o400)

    chmod = Path.chmod

    def refused(self: Path, mode: int) -> None:
        if self.is_relative_to(paths.config.parent):
            raise PermissionError(30, "Read-only file system", str(self))
        chmod(self, mode)

    if name != "running":
        Path.chmod = refused  # type: ignore[method-assign, assignment]


SCENARIOS = {f.__name__: f for f in (running, parts, everything)}


def main(name: str) -> int:
    from app import gui, paths

    lock_up(paths.resolve(), name)
    made: list[Heard] = []
    real = gui.Notices

    def listening() -> Any:
        notices = real()
        made.append(Heard(notices))
        return notices

    gui.Notices = listening  # type: ignore[misc, assignment]

    async def script(program: Program) -> None:
        await SCENARIOS[name](Person(program), made[0])

    return gui.main(None, script)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
