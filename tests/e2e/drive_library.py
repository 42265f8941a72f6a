"""The model library in the real window: `python -m tests.e2e.drive_library NEEDS_NEWER`.

A hub on loopback stands in for Hugging Face. NEEDS_NEWER is a model file that asks for a
newer engine. A failed `assert` ends the process with code 1.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton

TOKEN = "hf_TheOneTokenOfThisTest"


async def script(program):  # type: ignore[no-untyped-def]
    from app.engine_state import Phase
    from resources import DEMO_MODEL
    from tests.e2e.scenarios import Person
    from ui import model_strings as words
    from ui.load_dialog import LoadDialog
    from ui.settings_dialog import SettingsDialog

    me = Person(program)
    window, services, models = me.window, me.services, program.library
    library, own = models.library, models.library.own_folder
    key, path = "o/r/demo.litertlm", str(own / "demo.litertlm")

    def loaded() -> str:
        model = services.state.loaded
        return model.options.model_path if model is not None else ""

    def said(notice: str) -> str:
        return next((n.text for n in services.notices.open if n.key == notice), "")

    def card(name: str):  # type: ignore[no-untyped-def]
        return models.tab.card(name)

    def actions(name: str) -> list[str]:
        found = card(name)
        return [a.id for a in found.view().actions] if found is not None else []

    async def click(name: str, action: str) -> None:
        await me.until(lambda: action in actions(name))
        card(name).action_button(action).click()

    def button(parent, name: str):  # type: ignore[no-untyped-def]
        found = parent.findChildren(QPushButton)
        return next((b for b in found if b.accessibleName() == name), None)

    async def load_dialog() -> None:
        await me.until(lambda: me.dialog(LoadDialog))
        inside = me.dialog(LoadDialog).findChildren(QPushButton)
        next(b for b in inside if b.text() == words.LOAD).click()

    await me.ready()
    window.select_tab("models")
    demo = loaded()
    await me.until(lambda: "unload" in actions(demo))

    # add from the hub, with the keyboard
    models.tab.add_button.click()
    await me.until(lambda: models.dialogs.adding)
    QTest.keyClicks(models.dialogs.adding.field, os.environ["HF_ENDPOINT"] + "/o/r")
    await me.press(words.ADD_LIST)
    named = f"{words.DOWNLOAD} demo.litertlm"
    await me.until(lambda: button(models.dialogs.adding, named))
    button(models.dialogs.adding, named).click()
    await me.until(lambda: path in library.records.origins)
    models.dialogs.adding.reject()
    await me.until(lambda: said(f"download:{key}"))

    # load it from its card, through the load dialog
    await click(path, "load")
    await load_dialog()
    await me.until(lambda: loaded() == path)
    await me.until(lambda: "unload" in actions(path))
    await me.until(lambda: library.records.used.get(path))

    # delete while it is loaded: refused, offers to unload; then undo
    models._on_triggered(path, "delete")
    await me.press(words.UNLOAD_AND_DELETE)
    await me.press(words.DELETE_VERB)
    await me.until(lambda: not Path(path).exists())
    await me.until(lambda: card(path) is None)
    assert services.state.phase is Phase.NONE
    await me.until(lambda: said(f"deleted:{path}"))
    await me.press(words.UNDO)
    await me.until(lambda: Path(path).exists())
    await me.until(lambda: "load" in actions(path))

    # a gated file: the token is asked for, tested, and the download goes on
    models.dialogs._found = await library.fetch.list_repository("o/gated")
    models.dialogs._fetch("gated.litertlm")
    gated = "o/gated/gated.litertlm"
    await click(gated, "token")
    await me.until(lambda: models.dialogs.asking_token)
    dialog = models.dialogs.asking_token
    for text, answer in (("hf_wrong", "does not accept"), (TOKEN, "It works")):
        assert dialog.field.echoMode() is QLineEdit.EchoMode.Password
        dialog.field.setText(text)
        await me.press(words.TOKEN_SAVE)
        wanted = answer if answer != "It works" else words.TOKEN_KEPT["session"]
        await me.until(lambda wanted=wanted: wanted in dialog.note())
    dialog.reject()
    await me.until(lambda: str(own / "gated.litertlm") in library.records.origins)

    # files that are no models are told, whichever way they come
    bad = own.parent / "bad.litertlm"
    bad.write_text("<html>log in</html>")
    window.model_dropped.emit(str(bad))
    await me.until(lambda: said("model_refused"))
    services.notices.dismiss("model_refused")
    bad.write_bytes(DEMO_MODEL.read_bytes()[: 1 << 20])
    program.open_from_outside(str(bad))
    await me.until(lambda: said("model_refused"))
    assert "1,048,576 of" in said("model_refused")

    # one that asks for a newer engine can be tried anyway, by a second start
    newer = sys.argv[1]
    program.open_from_outside(newer)
    await me.press(words.TRY_ANYWAY)
    await load_dialog()
    await me.until(lambda: loaded() == newer)
    await me.until(lambda: newer in library.records.opened)

    # caches are counted and cleared, but not the one in use
    models.storage.open()
    await me.until(lambda: models.storage.dialog)
    await me.until(lambda: len(models.storage.dialog.view().rows) >= 2)
    models.storage.dialog.clear_all_button.click()
    await me.until(lambda: len(models.storage.dialog.view().rows) == 1)
    assert not models.storage.dialog.view().rows[0].clearable
    models.storage.dialog.accept()

    # dialogs that close while their work goes on take nothing with them
    models.tab.add_button.click()
    await me.until(lambda: models.dialogs.adding)
    models.dialogs.adding.field.setText(os.environ["HF_ENDPOINT"] + "/o/r")
    await me.press(words.ADD_LIST)
    models.dialogs.adding.reject()
    models.dialogs.details(path)
    await me.until(lambda: models.dialogs.showing_details)
    models.dialogs.showing_details._make.click()
    models.dialogs.showing_details.reject()
    models.storage.open()
    await me.until(lambda: models.storage.dialog)
    models.storage.dialog.clear_all_button.click()
    models.storage.dialog.reject()
    window.action("settings").trigger()
    await me.until(lambda: me.dialog(SettingsDialog))
    me.dialog(SettingsDialog).reject()
    await asyncio.sleep(0.5)
    assert not said("uncaught")
    assert (await me.ask("Still there?")).text

    # an unfinished download does not keep the program from quitting
    models.dialogs._found = await library.fetch.list_repository("o/slow")
    models.dialogs._fetch("slow.litertlm")
    await me.until(lambda: any(s.done > 0 for s in library.fetch.status.values()))


def main() -> int:
    from app import gui
    from app.paths import resolve
    from resources import DEMO_MODEL
    from tests.fakes import http_server as web
    from tests.fakes.http_server import Hosted, ModelServer, model_bytes

    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    server = ModelServer().start()
    server.tokens.add(TOKEN)
    os.environ["HF_ENDPOINT"] = server.url
    data = DEMO_MODEL.read_bytes()
    server.repo("o/r", {"demo.litertlm": Hosted(data)})
    server.repo("o/gated", {"gated.litertlm": Hosted(data, gate="token")})
    server.repo("o/slow", {"slow.litertlm": Hosted(model_bytes(9_000_000), moods=[web.slow()])})
    try:
        code = gui.main(None, script)
    finally:
        server.stop()
    partials = sorted(p.name for p in resolve().models.glob("*.partial*"))
    assert partials == ["slow.litertlm.partial", "slow.litertlm.partial.json"], partials
    return code


if __name__ == "__main__":
    sys.exit(main())
