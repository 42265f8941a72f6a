"""How a send ends: an answer, a failure, or a message that goes back into the box.

Between `ChatBase` (reading and settings) and `Chat` (sending). Main thread only; no Qt.
"""

from __future__ import annotations

import logging
import time

import msgspec

from app import chat_turns as turns
from app import wording
from app.chat_base import ChatBase
from app.chat_context import ChatEvent, Rejected
from app.chat_gauge import broken_gauge, gauge_of, stored_gauge
from app.chat_state import ChatState
from app.conversation import STATUS_OF_REASON, Node, TurnStatus
from engine.errors import EngineCrashed, EngineError
from engine.types import ErrorInfo, Outcome
from ui import format as fmt

log = logging.getLogger(__name__)


class ChatEnding(ChatBase):
    """Each method ends the running send, once."""

    def _finish(self, answer: Node, outcome: Outcome) -> None:
        loaded = self.context.engine.state.loaded
        if outcome.error is not None and outcome.error.code == "message_too_long":
            self._reject(answer, outcome)
            return
        self.unseen = outcome.unseen
        unseen = turns.unseen_names(self.conversation, outcome.unseen)
        answer.run = msgspec.structs.replace(turns.run_record(outcome, loaded), unseen=unseen)
        answer.status = STATUS_OF_REASON[outcome.reason]
        code = turns.problem_code(outcome, answer)
        if code:
            self.error = outcome.error or ErrorInfo(code)
            self._tell_problem(answer, self.error)
            if code == "empty_answer":
                answer.status = TurnStatus.FAILED
        self.gauge = gauge_of(answer)
        failed = answer.status is TurnStatus.FAILED
        self._end(answer, ChatState.FAILED if failed else ChatState.IDLE)

    def _fail(self, answer: Node, problem: EngineError) -> None:
        self.error = problem.info()
        answer.status = TurnStatus.FAILED
        self._tell_problem(answer, self.error)
        self.gauge = broken_gauge(self.gauge)
        if not isinstance(problem, EngineCrashed):
            log.info("send failed: %s", problem.code)
        self._end(answer, ChatState.FAILED)

    def _tell_problem(self, answer: Node, error: ErrorInfo) -> None:
        """Puts the sentence into the turn, with the names of model and backend."""
        options = self.context.options()
        info = self.context.known(options.model_path) if options is not None else None
        if error.code == "bad_media":
            named = {"file": self._attachment_name(answer, error.params.get("path", ""))}
            error = ErrorInfo(error.code, error.detail, error.params | named)
        answer.error = wording.explain(error, options, info).sentence
        self._details[answer.id] = error.detail

    def _attachment_name(self, answer: Node, path: str) -> str:
        """The person's name of the stored file at `path`, or of the only one it can be."""
        question = self.conversation.nodes.get(answer.parent or "")
        files = question.attachments if question is not None else ()
        found = [a.name for a in files if path.endswith(a.file)] if path else []
        names = found or [a.name for a in files]
        return fmt.plain(names[0], 120) if found or len(names) == 1 else ""

    def _reject(self, answer: Node, outcome: Outcome) -> None:
        """Takes the turn back: the message goes into the box again, with the numbers.

        An answer that was to go on keeps what it has: its context is full.
        """
        if answer.text:
            self.error = outcome.error or ErrorInfo("message_too_long")
            answer.status = TurnStatus.CONTEXT_FULL
            self._tell_problem(answer, self.error)
            self.gauge = stored_gauge(self.conversation.path())
            self._end(answer, ChatState.FAILED)
            return
        user = self.conversation.nodes.get(answer.parent or "")
        self.error = outcome.error
        gone = [answer]
        if user is not None and len(self.conversation.versions(answer.id)) == 1:
            gone = self.conversation.remove(user.id)
            self.rejected = Rejected(user.text, user.attachments, outcome.needs, outcome.left)
        else:
            self.conversation.remove(answer.id)
            self.rejected = Rejected("", (), outcome.needs, outcome.left)
        self.context.history.drop_nodes(self.conversation, [n.id for n in gone])
        self.gauge = stored_gauge(self.conversation.path())
        self._answer = None
        self._go(ChatState.FAILED)
        self._tell(ChatEvent.TURNS)
        self._tell(ChatEvent.GAUGE)

    def _end(self, answer: Node, state: ChatState) -> None:
        self.conversation.updated = time.time()
        self.context.history.save_soon(self.conversation, [answer])
        self._answer = None
        if state is ChatState.IDLE and self.state in (ChatState.QUEUED, ChatState.LOADING):
            self._go(ChatState.STOPPING)
        self._go(state)
        self._tell(ChatEvent.TURNS)
        self._tell(ChatEvent.GAUGE)
