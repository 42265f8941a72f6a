"""What a chat offers when something keeps it from answering: too long, failing, stalled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from app import processes
from app.chat import Chat
from app.chat_context import ChatContext
from app.chat_state import ChatState
from app.conversation import Role, TurnStatus
from app.notices import Action, Level, Notice, Notices
from engine.types import Unseen
from ui import format as fmt
from ui import strings, strings_core, strings_history
from ui.conversation_page import ConversationPage

if TYPE_CHECKING:
    from app.chat_controller import ChatController

STALLED_S = 10.0
STALLED_PREFILL_S = 20.0
"""Before the first word only an engine process that does nothing is called stalled: reading
a long prompt takes as long as it takes."""
WORKING_SHARE = 0.1
STARTS_FAILING = 2
_ENGINE_FAILURES = frozenset({"send_failed", "no_final", "unresponsive"})


class ChatOffers:
    """Main thread. `restart`, `worked` and `larger_context` are set by the engine's controller."""

    def __init__(self, owner: ChatController, context: ChatContext, notices: Notices) -> None:
        self._owner = owner
        self._context = context
        self._notices = notices
        self._failures = 0
        self._told: set[tuple[str, str, tuple[Unseen, ...]]] = set()
        self._watching: dict[str, asyncio.TimerHandle] = {}
        self._cpu: tuple[float, float | None] | None = None
        self.restart: Callable[[], None] = lambda: None
        self.worked: Callable[[], None] = lambda: None
        """Called after every answer that came to its own end."""
        self.larger_context: Callable[[], None] = lambda: None

    def message_too_long(self, chat: Chat, page: ConversationPage) -> None:
        """Puts the message back into the box and offers what could make it fit."""
        rejected = chat.rejected
        if rejected is None:
            return
        if rejected.text and not page.draft().strip():
            page.set_draft(rejected.text)
        self._owner.return_attachments(chat.key, rejected.attachments)
        key, text = chat.key, rejected.text
        actions = [Action(strings_core.LARGER_CONTEXT, lambda: self.larger_context())]
        questions = _questions(chat)
        if text and questions:
            actions.insert(
                0, Action(strings_core.NEW_CHAT_WITH_IT, lambda: self._in_new(key, text))
            )
        if text and questions > 1:
            drop = Action(strings_core.DROP_OLDEST, lambda: self._drop(key, text), primary=True)
            actions.append(drop)
        self._notices.post(
            Notice(
                "too_long",
                strings_core.TOO_LONG.format(
                    needs="—" if rejected.needs is None else rejected.needs,
                    left="—" if rejected.left is None else rejected.left,
                ),
                title=strings_core.TOO_LONG_TITLE,
                level=Level.WARNING,
                actions=tuple(actions),
            )
        )

    def watch(self, chat: Chat) -> None:
        """Follows a chat's state: a row of failures, or an answer that does not move on."""
        if chat.state is ChatState.IDLE:
            self._failures = 0
            self._notices.dismiss("failing")
            self._tell_unseen(chat)
            if chat.last_status() in (TurnStatus.DONE, TurnStatus.LIMIT):
                self.worked()
        elif chat.state is ChatState.FAILED:
            code = chat.error.code if chat.error else ""
            self._failures = self._failures + 1 if code in _ENGINE_FAILURES else 0
            if self._failures >= STARTS_FAILING:
                self._post_failing()
        if chat.state in (ChatState.PREFILL, ChatState.DECODING):
            self._stop_watching(chat)
            self._cpu = None
            self._watch_progress(chat)
        elif self._stop_watching(chat):
            self._notices.dismiss("stalled")

    def closed(self, chat: Chat) -> None:
        """A chat that was closed while it wrote is not followed any longer."""
        if self._stop_watching(chat):
            self._notices.dismiss("stalled")

    def _tell_unseen(self, chat: Chat) -> None:
        """Says once per chat and model what the model was not shown."""
        last = chat.conversation.path()[-1:]
        run = last[0].run if last else None
        if not chat.unseen or run is None:
            return
        told = (chat.key, run.model_path, chat.unseen)
        if told in self._told:
            return
        self._told.add(told)
        gone = all(u.gone for u in chat.unseen)
        kinds = {u.kind for u in chat.unseen if not u.gone}
        text = strings_history.unseen(
            fmt.plain(run.model), [fmt.plain(n, 60) for n in run.unseen], kinds, gone=gone
        )
        self._notices.post(Notice("unseen", text, level=Level.WARNING, seconds=20))

    def _stop_watching(self, chat: Chat) -> bool:
        timer = self._watching.pop(chat.key, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def _post_failing(self) -> None:
        restart = Action(strings_core.RESTART_ENGINE, lambda: self.restart(), primary=True)
        self._notices.post(
            Notice(
                "failing",
                strings_core.FAILING,
                title=strings_core.FAILING_TITLE,
                level=Level.ERROR,
                actions=(restart,),
            )
        )

    def _watch_progress(self, chat: Chat) -> None:
        silent = time.monotonic() - chat.last_sign
        reading = chat.state is ChatState.PREFILL
        limit = STALLED_PREFILL_S if reading else STALLED_S
        works = reading and self._engine_works()
        if silent >= limit and not works:
            stop = Action(strings.STOP, chat.stop)
            restart = Action(strings_core.RESTART_ENGINE, lambda: self.restart(), primary=True)
            self._notices.post(
                Notice(
                    "stalled",
                    strings_core.STALLED.format(seconds=int(silent)),
                    title=strings_core.STALLED_TITLE,
                    level=Level.WARNING,
                    actions=(stop, restart),
                )
            )
        else:
            self._notices.dismiss("stalled")
        wait = limit - silent if silent < limit else 1.0
        loop = asyncio.get_running_loop()
        self._watching[chat.key] = loop.call_later(wait + 0.05, self._watch_progress, chat)

    def _engine_works(self) -> bool:
        """Whether the engine process used the processor since the last look."""
        loaded = self._context.engine.state.loaded
        used = processes.cpu_seconds(loaded.pid) if loaded is not None else None
        before, self._cpu = self._cpu, (time.monotonic(), used)
        if before is None or used is None or before[1] is None:
            return True
        return used - before[1] > WORKING_SHARE * (self._cpu[0] - before[0])

    def _drop(self, key: str, text: str) -> None:
        """Stops sending the older half of the turns, then sends the message again."""
        chat = self._owner.chat(key)
        if chat is not None:
            chat.drop_oldest(max(1, _questions(chat) // 2))
            self._owner.send(key, text)

    def _in_new(self, key: str, text: str) -> None:
        """Moves the message with its files; the new chat has the settings of the old one,
        which stays as it is."""
        old, page = self._owner.chat(key), self._owner.page(key)
        if old is None or page is None:
            return
        files = self._owner.take_attachments(key)
        if files is None:
            return
        chat = self._owner.new_chat(msgspec.structs.replace(old.settings, start_at=""))
        self._owner.return_attachments(chat.key, files)
        if page.draft() == text:
            page.clear_draft()
            self._owner.drafts.save(old)
        self._owner.send(chat.key, text)


def _questions(chat: Chat) -> int:
    return sum(node.role is Role.USER for node in chat.conversation.sent_path())
