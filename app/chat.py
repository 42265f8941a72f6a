"""One chat: its conversation, its state machine and its numbers.

Main thread only; no Qt. A send is one kept task. The conversation is the only truth; the
engine gets it as messages with every send. Listeners are told with a `ChatEvent` what kind
of thing changed and read the properties.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time

from app import chat_turns as turns
from app.answer_form import form_for_send, with_verdict
from app.chat_context import ChatContext, ChatEvent
from app.chat_ending import ChatEnding
from app.chat_gauge import live_gauge, waiting_gauge
from app.chat_state import ChatState
from app.conversation import (
    Attachment,
    Conversation,
    Node,
    Role,
    RunRecord,
    ToolStep,
    TurnStatus,
)
from app.history_rows import first_title
from app.tools.checking import verdict
from app.tools.structured import Verdict
from app.tools.unreadable import unreadable_step
from engine.errors import EngineError, GenerationError
from engine.types import (
    Constraint,
    FinishReason,
    LoadOptions,
    ModelInfo,
    Outcome,
    TextBatch,
)

log = logging.getLogger(__name__)

SAVE_EVERY_S = 2.0
MAX_TOOL_ROUNDS = 8

_run_ids = itertools.count(1)


class Chat(ChatEnding):
    """See the module text. Methods that start a send return at once; `wait` joins it."""

    def __init__(self, conversation: Conversation, context: ChatContext) -> None:
        super().__init__(conversation, context)
        self._task: asyncio.Task[None] | None = None
        self._tools_running: asyncio.Task[ToolStep] | None = None
        self._run_id = 0
        self._saved_at = 0.0
        self._speculative = False
        self._begun: RunRecord | None = None
        self._begun_at = 0.0
        self._batch: TextBatch | None = None
        self._verdict: Verdict | None = None
        self._forms: dict[str, Constraint] = {}

    # Sending

    def send(
        self,
        text: str,
        attachments: tuple[Attachment, ...] = (),
        constraint: Constraint | None = None,
    ) -> bool:
        """Adds the message at the end of the active path and asks for an answer. False when
        there is nothing to send or a send is on its way."""
        if self.busy or not (text.strip() or attachments):
            return False
        path = self.conversation.path()
        parent = path[-1].id if path else None
        form = constraint or self.context.form_for(self.key)
        return self._ask(parent, text, attachments, form)

    def edit(self, node_id: str, text: str) -> bool:
        """Asks an earlier question in other words: a new sibling beside the old branch."""
        node = self.conversation.nodes[node_id]
        if self.busy or node.role is not Role.USER or not text.strip():
            return False
        return self._ask(node.parent, text, node.attachments, self._forms.get(node_id))

    def regenerate(self, node_id: str) -> bool:
        """A further version of an answer; the earlier ones stay."""
        node = self.conversation.nodes[node_id]
        question = node.parent if node.role is Role.ASSISTANT else node.id
        if self.busy or question is None:
            return False
        answer = turns.add_answer(self.conversation, question)
        self._begin(answer, [], constraint=self._forms.get(question))
        return True

    def continue_(self, node_id: str) -> bool:
        """Lets the model go on with an answer that was cut; the text grows in place."""
        node = self.conversation.nodes[node_id]
        if self.busy or node.status not in turns.CAN_CONTINUE or not node.text:
            return False
        self._begin(node, [], continuing=True)
        return True

    def stop(self) -> None:
        """Stops the running send. The state is `stopping` at once; idempotent."""
        if not self.busy or self.state is ChatState.STOPPING:
            return
        self._go(ChatState.STOPPING)
        self.context.engine.cancel(self._run_id)
        if self.conversation.draft:
            self.expect()
        if self._tools_running is not None:
            self._tools_running.cancel()

    def expect(self) -> None:
        """The next message is being written."""
        self.context.engine.expect(self.key)

    async def wait(self) -> None:
        """Returns when no send is on its way."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    # Inside

    def _ask(
        self,
        parent: str | None,
        text: str,
        attachments: tuple[Attachment, ...],
        constraint: Constraint | None,
    ) -> bool:
        user = turns.add_user(self.conversation, parent, text, attachments)
        if not self.conversation.title and not self.conversation.custom_title:
            self.conversation.title = first_title(self.conversation)
            self._tell(ChatEvent.SETTINGS)
        if constraint is not None:
            self._forms[user.id] = constraint
        answer = turns.add_answer(self.conversation, user.id)
        self._begin(answer, [user], constraint=constraint)
        return True

    def _begin(
        self,
        answer: Node,
        new: list[Node],
        *,
        constraint: Constraint | None = None,
        continuing: bool = False,
    ) -> None:
        self._answer = answer
        self._verdict = None
        self._run_id = next(_run_ids)
        self._begun, self._begun_at, self._batch = None, time.monotonic(), None
        self.error = None
        self.rejected = None
        answer.status = TurnStatus.STREAMING
        answer.error = ""
        self.gauge = waiting_gauge(self.gauge)
        self._go(ChatState.QUEUED)
        loop = asyncio.get_running_loop()
        work = self._run(answer, new, constraint, continuing)
        self._task = loop.create_task(work)
        # After the first step of the send, which reaches the engine: making the two turns takes
        # as long as the engine takes to the first word.
        loop.call_soon(self._tell, ChatEvent.TURNS)

    async def _run(
        self, answer: Node, new: list[Node], constraint: Constraint | None, continuing: bool
    ) -> None:
        try:
            # Written by its own thread meanwhile: waiting for the disk is the longest part of the
            # way to the first word where the disk is busy (10 to 200 ms).
            self.context.history.save_soon(self.conversation, [*new, answer])
            self._saved_at = time.monotonic()
            outcome = await self._rounds(answer, constraint, continuing)
            if constraint is not None:
                self._verdict = await verdict(constraint, answer.text, outcome.reason)
            self._finish(answer, outcome)
        except EngineError as problem:
            self._fail(answer, problem)
        except asyncio.CancelledError:
            answer.status = TurnStatus.INTERRUPTED
            self._record_failure(answer)
            self.context.history.save_soon(self.conversation, [answer])
            raise
        except Exception as problem:
            log.exception("a send failed inside the program")
            self._fail(answer, GenerationError("send_failed", repr(problem)))
        finally:
            self._tools_running = None

    async def _rounds(
        self, answer: Node, constraint: Constraint | None, continuing: bool
    ) -> Outcome:
        """Sends, and sends again after each round of tool calls, a bounded number of times."""
        for number in range(MAX_TOOL_ROUNDS):
            options = self.context.options()
            if options is None:
                raise GenerationError("not_loaded")
            if self.is_stopping():
                break
            info = self._loaded_info(options) or await self.context.inspect(options.model_path)
            wants_tools = self.settings.tools and info is not None and info.supports_tools
            form = form_for_send(constraint, info, number)
            request = turns.build_request(
                self.conversation,
                answer,
                run_id=self._run_id,
                speculative=self.speculative_for(info, options.backend),
                thinking=form is None
                and self.settings.thinking
                and info is not None
                and info.supports_thinking,
                attachments_dir=self.context.attachments_dir,
                tools=self.context.tool_specs(self) if wants_tools else (),
                constraint=form,
                continuing=continuing,
            )
            if self.is_stopping():
                break
            self._speculative = request.speculative
            answer.run = self._begun = turns.begun_run(options, request.speculative)
            outcome = await self.context.engine.generate(
                request, options, self._on_text, self._on_phase
            )
            unreadable = unreadable_step(outcome) if request.tools else None
            calls = outcome.reason is FinishReason.TOOL_CALLS
            if not (calls or unreadable) or self.context.tool_runner is None:
                return outcome
            if number == MAX_TOOL_ROUNDS - 1:
                return outcome
            if unreadable is not None:
                self._add_step(answer, unreadable)
            elif not await self._run_tools(answer, outcome):
                break
            if self.is_stopping():
                break
            self._run_id = next(_run_ids)
            self._go(ChatState.QUEUED)
        return Outcome(run_id=self._run_id, reason=FinishReason.STOPPED)

    def _loaded_info(self, options: LoadOptions) -> ModelInfo | None:
        """Facts of the file if it is the one that is loaded: no need to look at the disk."""
        loaded = self.context.engine.state.loaded
        same = loaded is not None and loaded.info.path == options.model_path
        return self.context.known(options.model_path) if same else None

    def _add_step(self, answer: Node, step: ToolStep) -> None:
        if self.state is ChatState.PREFILL:
            self._go(ChatState.DECODING)
        answer.tool_steps = (*answer.tool_steps, step)
        self.context.history.save_soon(self.conversation, [answer])
        self._tell(ChatEvent.TURNS)

    async def _run_tools(self, answer: Node, outcome: Outcome) -> bool:
        """Runs the calls one by one; False when stopped meanwhile."""
        runner = self.context.tool_runner
        if runner is None or self.is_stopping():
            return False
        if self.state is ChatState.PREFILL:
            self._go(ChatState.DECODING)
        for call in outcome.tool_calls:
            self._tools_running = asyncio.ensure_future(runner(self, call))
            await asyncio.wait({self._tools_running})
            if self._tools_running.cancelled():
                return False
            self._add_step(answer, self._tools_running.result())
        return not self.is_stopping()

    def _on_phase(self, phase: str) -> None:
        self.loads_drafter = phase == "drafter"
        if self.state is not ChatState.STOPPING:
            self._go(ChatState.PREFILL if self.loads_drafter else ChatState(phase))

    def _on_text(self, batch: TextBatch) -> None:
        answer = self._answer
        if answer is None:
            return
        if self.state is ChatState.PREFILL:
            self._go(ChatState.DECODING)
        answer.text += batch.text
        answer.thought += batch.thought
        self.last_sign = time.monotonic()
        self._batch = batch
        self.gauge = live_gauge(self.gauge, batch, speculative=self._speculative)
        self._tell(ChatEvent.GAUGE)
        self._tell(ChatEvent.TEXT)
        if self.last_sign - self._saved_at > SAVE_EVERY_S:
            self._saved_at = self.last_sign
            self.context.history.save_soon(self.conversation, [answer])

    def _record_failure(self, answer: Node) -> None:
        """A failed answer keeps how it was made, with what is known."""
        told = None if answer.run is self._begun else answer.run
        if self._begun is not None and (told is None or told.reason is FinishReason.ERROR):
            elapsed = time.monotonic() - self._begun_at
            answer.run = turns.failed_run(self._begun, told, elapsed, self._batch)

    def _end(self, answer: Node, state: ChatState) -> None:
        if answer.status is TurnStatus.FAILED:
            self._record_failure(answer)
        if self._verdict is not None and answer.run is not None:
            answer.run = with_verdict(answer.run, self._verdict)
        super()._end(answer, state)
