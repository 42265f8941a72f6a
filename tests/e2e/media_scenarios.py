"""What a person does with images and sounds, with a model that takes them (see
`tests.fakes.senses`) and one that does not. Run by `tests.e2e.drive_media`."""

from __future__ import annotations

import asyncio
import os
import zipfile
from pathlib import Path
from unittest.mock import patch

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

import resources
from app import attachments_controller
from app.conversation import Node, TurnStatus
from app.engine_state import Phase
from tests.e2e.history_scenarios import finish, greedy, notice_text, store
from tests.e2e.scenarios import Person, Scenario, _drop
from tests.fakes.pictures import png
from tests.fakes.senses import AUDIO_TOKENS_PER_S, IMAGE_TOKENS
from tests.fakes.sounds import wav
from ui.attachment_strip import AttachmentStrip
from ui.turn_parts import Thumbnail


def home() -> Path:
    return Path(os.environ["TANDEM_HOME"])


def strip(me: Person) -> AttachmentStrip:
    found = me.page.findChild(AttachmentStrip)
    assert isinstance(found, AttachmentStrip)
    return found


def names(me: Person) -> list[str]:
    return [i.name for i in strip(me).items()]


def drop(widget: QWidget, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(p)) for p in paths])
    _drop(widget, data)


def paste(me: Person) -> None:
    image = QImage(64, 64, QImage.Format.Format_RGB32)
    image.fill(QColor("#3355cc"))
    QGuiApplication.clipboard().setImage(image)
    me.page.composer.edit.setFocus()
    QTest.keyClick(me.page.composer.edit, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)


async def use(me: Person, path: str) -> None:
    """Loads another model as the picker does, without its question."""
    models = me.services.models
    info = await me.services.facts.inspect(path)
    assert await models.load(models.fitting(models.options_for(path), info))
    await me.until(lambda: me.services.state.phase is Phase.READY)


def prompt(answer: Node) -> int:
    assert answer.status in (TurnStatus.DONE, TurnStatus.LIMIT), (answer.status, answer.error)
    assert answer.run is not None
    return answer.run.prefill_tokens or 0


def pictures() -> tuple[Path, Path, Path]:
    cat, tone, bad = (home() / name for name in ("cät 1.png", "tone.wav", "bad.png"))
    cat.write_bytes(png(90, 60, (220, 20, 20)))
    tone.write_bytes(wav(440, 1))
    bad.write_bytes(b"\x89PNG")
    return cat, tone, bad


async def attach_all(me: Person) -> None:
    """By the button, by paste and by drop on the conversation; the bad file is named."""
    cat, tone, bad = pictures()

    async def chosen(*_: object, **__: object) -> list[str]:
        return [str(cat)]

    with patch.object(attachments_controller, "ask_file", chosen):
        QTest.mouseClick(me.page.composer.attach, Qt.MouseButton.LeftButton)
        await me.until(lambda: names(me) == [cat.name])
    paste(me)
    await me.until(lambda: len(names(me)) == 2)
    note = home() / "note.txt"
    note.write_text("words")
    drop(me.page.transcript, bad, tone, note)
    me.type("x")  # sent while the files are read: it must not go without them
    QTest.keyClick(me.page.composer.edit, Qt.Key.Key_Return)
    assert not me.chat.busy
    assert me.page.draft() == "x"
    me.page.clear_draft()
    await me.until(lambda: len(names(me)) == 3)
    await me.until(lambda: "bad.png is damaged" in notice_text(me))
    assert "note.txt is neither" in notice_text(me)
    assert names(me) == [cat.name, "Pasted image.png", tone.name]


async def seeing(me: Person) -> None:
    """Attach, send, regenerate, edit, continue, export, delete and import."""
    await me.ready()
    await use(me, os.environ["TANDEM_TEST_SENSES_MODEL"])
    assert "vision + audio" in me.window.header("chat").text_shown()
    greedy(me, limit=12)
    words = prompt(await me.ask("What is this?"))
    me.window.action("new_chat").trigger()
    greedy(me, limit=12)
    await attach_all(me)
    answer = await me.ask("What is this?")
    extra = 2 * IMAGE_TOKENS + AUDIO_TOKENS_PER_S
    assert abs(prompt(answer) - words - extra) <= 1
    assert not names(me)
    question = me.chat.conversation.path()[0]
    kinds = [a.kind for a in question.attachments]
    assert kinds == ["image", "image", "audio"]
    thumbs = me.page.transcript.findChildren(Thumbnail)
    assert [t.icon().isNull() for t in thumbs] == [False] * 3
    assert [t.text() for t in thumbs] == ["", "", "tone.wav"]

    me.page.regenerate_requested.emit(answer.id)
    again = await finish(me)
    assert again.id != answer.id
    assert again.status is not TurnStatus.FAILED, again.error
    assert again.run is not None
    assert again.run.context_used is not None
    assert again.run.context_used > extra
    me.page.edit_submitted.emit(question.id, "And what is this?")
    branch = await finish(me)
    asked = me.chat.conversation.path()[0]
    assert asked.id != question.id
    assert asked.attachments == question.attachments
    assert branch.run is not None
    assert branch.run.context_used is not None
    assert branch.run.context_used > extra
    if branch.status is TurnStatus.LIMIT:
        before = branch.text
        me.page.continue_requested.emit(branch.id)
        await me.until(lambda: not me.chat.busy)
        assert branch.text.startswith(before)
        assert branch.status is not TurnStatus.FAILED, branch.error
    me.page.version_selected.emit(asked.id, -1)
    assert me.chat.conversation.path()[0].id == question.id

    chat, control = me.chat, store(me)
    archive = home() / "out.zip"
    assert await control.transfer.write([chat.conversation], archive)
    with zipfile.ZipFile(archive) as packed:
        inside = {n for n in packed.namelist() if n.startswith("attachments/")}
    assert inside == {f"attachments/{a.file}" for a in question.attachments}
    await control.actions.delete(chat.key)
    await me.services.history.flush()
    for item in question.attachments:
        control.attachments.store.path(item).unlink()
    assert await control.transfer.read(archive) == 1
    back = await control.get(chat.key)
    assert back is not None
    me.services.chats.open(back)
    assert all(control.attachments.store.read(a) for a in question.attachments)
    greedy(me, limit=12)
    assert prompt(await me.ask("And now?")) > extra


async def blind(me: Person) -> None:
    """A switch to a text-only model keeps the conversation and says what it is not shown."""
    await me.ready()
    await use(me, os.environ["TANDEM_TEST_SENSES_MODEL"])
    greedy(me, limit=8)
    await attach_all(me)
    answer = await me.ask("What is this?")
    prompt(answer)
    question = me.chat.conversation.path()[0]
    await use(me, str(resources.DEMO_MODEL))
    assert "text only" in me.window.header("chat").text_shown()
    assert not me.page.composer.attach.isEnabled()
    assert "reads text only" in me.page.composer.attach.toolTip()
    cat = home() / "cät 1.png"
    stored = len(list(me.services.paths.attachments.iterdir()))
    cat.write_bytes(png(50, 50, (1, 2, 3)))
    for attempt in (
        lambda: drop(me.page.transcript, cat),
        lambda: paste(me),
        lambda: me.window.action("attach").trigger(),
    ):
        me.services.notices.dismiss("attachment")
        attempt()
        await me.until(lambda: "reads text only; it cannot take images" in notice_text(me))
    assert not names(me)
    assert len(list(me.services.paths.attachments.iterdir())) == stored

    me.services.notices.dismiss("attachment")
    me.page.regenerate_requested.emit(answer.id)
    await me.until(lambda: me.notice() == "attachment")
    assert "cannot take images and audio" in notice_text(me)
    me.services.notices.dismiss("attachment")
    me.page.edit_submitted.emit(question.id, "In other words?")
    await me.until(lambda: me.notice() == "attachment")
    assert len(me.chat.conversation.nodes) == 2
    assert me.page.draft() == "In other words?"
    me.page.clear_draft()

    after = await me.ask("And now?")
    assert prompt(after) < 100
    assert after.run is not None
    assert after.run.unseen == (cat.name, "Pasted image.png", "tone.wav")
    await me.until(lambda: me.notice() == "unseen")
    assert "takes no images and audio: 3 attachments" in notice_text(me)
    assert me.chat.conversation.path()[0].attachments == question.attachments
    await use(me, os.environ["TANDEM_TEST_SENSES_MODEL"])
    seen = await me.ask("And now?")
    assert seen.run is not None
    assert seen.run.unseen == ()
    assert seen.run.context_used is not None
    assert seen.run.context_used > 2 * IMAGE_TOKENS + AUDIO_TOKENS_PER_S

    store(me).attachments.store.path(question.attachments[0]).unlink()
    gone = await me.ask("And now?")
    assert gone.run is not None
    assert gone.run.unseen == (cat.name,)
    await me.until(lambda: me.notice() == "unseen")
    assert "is no longer there" in notice_text(me)
    me.page.regenerate_requested.emit(answer.id)
    failed = await finish_failed(me)
    assert failed.error.startswith(f"{cat.name} could not be used"), failed.error


async def finish_failed(me: Person) -> Node:
    await me.until(lambda: not me.chat.busy and me.last().status is TurnStatus.FAILED)
    await asyncio.sleep(0.05)
    return me.last()


async def too_many(me: Person) -> None:
    """Pictures that do not fit come back into the strip with their message."""
    await me.ready()
    await use(me, os.environ["TANDEM_TEST_SENSES_MODEL"])
    long = home() / "long.wav"
    long.write_bytes(wav(440, 45))
    drop(me.page.composer.edit, long)
    await me.until(lambda: names(me) == ["long.wav"])
    me.type("What is said?")
    QTest.keyClick(me.page.composer.edit, Qt.Key.Key_Return)
    await me.until(lambda: me.notice() == "too_long")
    assert names(me) == ["long.wav"]
    assert me.page.draft() == "What is said?"
    assert not me.chat.conversation.nodes
    strip(me).removed.emit(strip(me).items()[0].id)
    me.page.clear_draft()
    prompt(await me.ask("Hello"))


SCENARIOS: dict[str, Scenario] = {f.__name__: f for f in (seeing, blind, too_many)}
